package trust

import (
	"errors"
	"slices"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"

	"github.com/google/go-cmp/cmp"
)

func TestNext(t *testing.T) {
	bob := Signer{Principal: "bob@example.com", Keys: []string{testKey(t, "bob").Key()}}
	for _, test := range []struct {
		name    string
		changes []Change
		want    Rule
		check   func(s *Signed) bool
	}{
		{"add", []Change{Add(bob)}, "", func(s *Signed) bool {
			return len(s.Signers) == 2 && s.Signers[1].Person == "bob@example.com" && slices.Equal(s.Signers[1].Roles, []Role{Approver})
		}},
		{"add a key to a principal", []Change{Add(Signer{Principal: "alice@example.com", Keys: []string{testKey(t, "alice2").Key()}})}, "", func(s *Signed) bool {
			return len(s.Signers) == 1 && len(s.Signers[0].Keys) == 2 && len(s.Signers[0].Roles) == 2
		}},
		{"add a key that is listed", []Change{Add(Signer{Principal: "bob@example.com", Keys: []string{testKey(t, "alice").Key()}})}, RuleDuplicate, nil},
		{"add to a principal as another person", []Change{Add(Signer{Principal: "alice@example.com", Person: "Bob"})}, RulePerson, nil},
		{"remove", []Change{Add(bob), Remove("bob@example.com")}, "", func(s *Signed) bool { return len(s.Signers) == 1 }},
		{"remove a key by its fingerprint", []Change{Add(bob), Remove(fingerprint(bob.Keys[0]))}, "", func(s *Signed) bool { return len(s.Signers) == 1 }},
		{"remove a key", []Change{Add(Signer{Principal: "alice@example.com", Keys: []string{bob.Keys[0]}}), Remove(bob.Keys[0])}, "", func(s *Signed) bool {
			return len(s.Signers) == 1 && len(s.Signers[0].Keys) == 1
		}},
		{"remove who is not there", []Change{Remove("carol@example.com")}, RuleUnlisted, nil},
		{"remove the last", []Change{Remove("alice@example.com")}, RuleValue, nil},
		{"a threshold nobody meets", []Change{Set("threshold.approve", "2")}, RuleThreshold, nil},
		{"a threshold for two", []Change{Add(bob), Set("threshold.approve", "2")}, "", func(s *Signed) bool { return s.Thresholds.Approve == 2 }},
		{"an age in days", []Change{Set("maxAge", "90d")}, "", func(s *Signed) bool { return s.Rules.MaxAge == 90*86400 }},
		{"an age in hours", []Change{Set("maxAge", "12h")}, "", func(s *Signed) bool { return s.Rules.MaxAge == 12*3600 }},
		{"no age", []Change{Set("maxAge", "0")}, "", func(s *Signed) bool { return s.Rules.MaxAge == 0 }},
		{"a negative age", []Change{Set("maxAge", "-1h")}, RuleValue, nil},
		{"a negative age in days", []Change{Set("maxAge", "-1d")}, RuleValue, nil},
		{"part of a second", []Change{Set("maxAge", "10ms")}, RuleValue, nil},
		{"a flag", []Change{Set("requireSignedCommits", "true")}, "", func(s *Signed) bool { return s.Rules.RequireSignedCommits }},
		{"a flag that is none", []Change{Set("enforced", "yes")}, RuleValue, nil},
		{"a number that is none", []Change{Set("threshold.admin", "two")}, RuleValue, nil},
		{"a setting that is none", []Change{Set("threshold.approved", "1")}, RuleMember, nil},
		{"stands", []Change{Stand([]canonical.Digest{digestOf("a"), digestOf("b"), digestOf("a")}, []canonical.Digest{digestOf("b")})}, "", func(s *Signed) bool {
			return slices.Equal(s.Stands, []canonical.Digest{digestOf("a")})
		}},
		{"a checkpoint", []Change{SetCheckpoint(Checkpoint{digestOf("c").String()[:40], digestOf("l"), "a bad merge"})}, "", func(s *Signed) bool { return s.Checkpoint.Reason == "a bad merge" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			c := w.chain()
			before := c.Digest()
			v, err := c.Next(test.changes...)
			if got := ruleOf(err); got != test.want || (err == nil) != (test.want == "") {
				t.Fatalf("the error is %v", err)
			}
			if c.Current().Signed.Digest() != before {
				t.Error("the newest version was changed")
			}
			if err != nil {
				return
			}
			if !test.check(&v.Signed) {
				t.Errorf("the version is %+v", v.Signed)
			}
			w.addVersion(v, "alice")
			if next := w.chain(); next.Len() != 2 || next.Digest() != v.Signed.Digest() {
				t.Errorf("it is not in force")
			}
		})
	}
}

func TestSignVersion(t *testing.T) {
	w := newWorld(t)
	w.change([]string{"alice"}, Add(w.signer("bob", "Bob", Admin, Approver)), Set("threshold.admin", "2"))
	if w.chain().Len() != 1 {
		t.Fatal("a version without the signature of its new admin is in force")
	}
	if _, err := w.chain().Next(); chainErrorRule(err) != RuleAfter {
		t.Errorf("a version after a waiting one: %v", err)
	}
	waiting := w.chain().Waiting().Version
	if _, err := w.chain().Sign(t.Context(), waiting, testKey(t, "alice")); !errors.Is(err, ErrSigned) {
		t.Errorf("signed twice: %v", err)
	}
	if _, err := w.chain().Sign(t.Context(), waiting, testKey(t, "carol")); chainErrorRule(err) != RuleUnlisted {
		t.Errorf("signed by a stranger: %v", err)
	}
	v, err := w.chain().Sign(t.Context(), waiting, testKey(t, "bob"))
	if err != nil {
		t.Fatal(err)
	}
	w.versions[1].Data = v.Format()
	if w.chain().Len() != 2 || w.chain().Waiting() != nil {
		t.Error("a version with all signatures waits")
	}
	if _, err := w.chain().Sign(t.Context(), v, testKey(t, "alice")); chainErrorRule(err) != RuleForked {
		t.Errorf("a version in force is signed: %v", err)
	}
	c := w.chain()
	if s := c.SignerByPrincipal("bob@example.com"); s == nil || s != c.Signer(testKey(t, "bob").Key()) || c.SignerByPrincipal("b") != nil {
		t.Error("a signer is not found")
	}
}

func chainErrorRule(err error) Rule {
	if ce, ok := errors.AsType[*ChainError](err); ok {
		return ce.Rule
	}
	return ""
}

func TestMerge(t *testing.T) {
	w := newWorld(t)
	w.change([]string{"alice"}, Add(w.signer("bob", "Bob", Admin, Approver)), Add(w.signer("carol", "Carol", Approver)), Set("threshold.approve", "2"))
	c := w.chain()
	next, err := c.Next(Set("threshold.admin", "2"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Sign(t.Context(), next, testKey(t, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Sign(t.Context(), next, testKey(t, "bob"))
	if err != nil {
		t.Fatal(err)
	}
	both, err := MergeVersions(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	swapped, err := MergeVersions(b, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(both, swapped); diff != "" || len(both.Signatures) != 2 {
		t.Error(diff)
	}
	w.versions = append(w.versions, File{3, both.Format()})
	if w.chain().Len() != 3 {
		t.Error("the merged version waits")
	}
	other, err := c.Next(Set("enforced", "true"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := MergeVersions(a, other, nil); chainErrorRule(err) != RuleForked {
		t.Errorf("two versions of one number: %v", err)
	}

	id := w.decide([]string{"bob"}, Approve, toolKey("read"))
	mine := w.ledger().Decision(id)
	theirs := &Decision{Statement: mine.Statement}
	if theirs.Signatures, err = addSignature(t.Context(), testKey(t, "carol"), sshsig.NamespaceDecision, mine.Statement.Canonical(), nil); err != nil {
		t.Fatal(err)
	}
	merged, err := MergeDecisions(mine, theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.decisions[id] = merged.Format()
	w.wantStatus(toolKey("read"), Approved)
	if got := len(w.ledger().Keys(id)); got != 2 {
		t.Errorf("%d keys signed", got)
	}
	theirs.Statement.Reason = "another"
	if _, err := MergeDecisions(mine, theirs, nil); ruleOf(err) != RuleForm {
		t.Errorf("two statements: %v", err)
	}
}

func TestPaths(t *testing.T) {
	if n, ok := ParseVersionPath(".agentgateway/trust/12.json"); !ok || n != 12 {
		t.Error("a version's path is not read")
	}
	for _, path := range []string{"", ".agentgateway/trust/0.json", ".agentgateway/trust/01.json", ".agentgateway/trust/1", ".agentgateway/trust/-1.json", ".agentgateway/trust/1.json.json", "trust/1.json"} {
		if n, ok := ParseVersionPath(path); ok {
			t.Errorf("%q is version %d", path, n)
		}
	}
	id := digestOf("x")
	if got, ok := ParseDecisionPath(DecisionPath(id)); !ok || got != id {
		t.Error("a decision's path is not read")
	}
}
