package trust

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
)

// approved is a team in which bob approved everything.
func approved(t testing.TB) *world {
	w := team(t)
	w.decide([]string{"bob"}, Approve, w.allKeys()...)
	return w
}

// TestAttackStates holds attacks after which an item must not be approved, and the
// codes that say so. Rows 1 and 2 of a change are judged against its base.
func TestAttackStates(t *testing.T) {
	read := toolKey("read")
	for _, test := range []struct {
		name string
		do   func(t *testing.T, w *world)
		want []string // codes
	}{
		{"attack-04: an approval of another repository", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, read)
			st.Repository = digestOf("another repository")
			w.force([]string{"bob"}, st)
		}, []string{"statement-foreign"}},
		{"attack-04: an approval for another lockfile of the repository", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, read)
			st.Lockfile = "sub/agentgateway.lock"
			w.tool("read").Decision = w.force([]string{"bob"}, st)
		}, []string{"statement-foreign"}},
		{"attack-04: an approval of another item", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, toolKey("write"))
			w.tool("read").Decision = w.force([]string{"bob"}, st)
			w.tool("write").Absent = true
		}, []string{"decision-foreign"}},
		{"attack-04: an approval of an earlier serial", func(t *testing.T, w *world) {
			first := w.decide([]string{"bob"}, Approve, read)
			w.decide([]string{"bob"}, Disable, read)
			w.tool("read").Decision = first
		}, []string{"decision-forked"}},
		{"attack-04: an approval of another text", func(t *testing.T, w *world) {
			w.decide([]string{"bob"}, Approve, read)
			w.relock("read", "read 2")
		}, []string{"approval-outdated"}},
		{"attack-04: an approval under a trust version that is not in force", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, read)
			st.Trust = digestOf("another")
			w.force([]string{"bob"}, st)
		}, []string{"approval-missing", "statement-foreign"}},
		{"attack-06: one person with two keys, threshold 2", func(t *testing.T, w *world) {
			w.change([]string{"alice"}, Set("threshold.approve", "2"), Add(Signer{Principal: "bob2@example.com", Person: "Bob", Keys: []string{testKey(t, "bob2").Key()}}))
			w.force([]string{"bob", "bob2"}, mustDraft(t, w, Approve, read))
		}, []string{"approval-missing", "threshold-unmet"}},
		{"attack-07: a proposer approves with a second key", func(t *testing.T, w *world) {
			w.change([]string{"alice"}, Add(Signer{Principal: "bob2@example.com", Person: "Bob", Keys: []string{testKey(t, "bob2").Key()}}))
			w.proposers[digestOf("read 1")] = []string{"Bob"}
			w.force([]string{"bob2"}, mustDraft(t, w, Approve, read))
		}, []string{"approval-missing", "self-approval"}},
		{"attack-07: a proposer approves via a robot", func(t *testing.T, w *world) {
			w.change([]string{"alice"}, Add(w.signer("robot", "the robot", Deployer)))
			w.force([]string{"robot"}, mustDraft(t, w, Approve, read))
		}, []string{"approval-missing", "decision-invalid"}},
		{"attack-07: a stranger approves", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, read)
			st.By = "bob@example.com"
			w.force([]string{"mallory"}, st)
		}, []string{"approval-missing", "decision-invalid"}},
		{"attack-08: backdated with a key that was removed", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, read)
			st.At = w.now.Add(-1000 * time.Hour).Unix()
			w.change([]string{"alice"}, Remove("bob@example.com"))
			w.force([]string{"bob"}, st)
		}, []string{"approval-missing", "signer-unknown"}},
		{"attack-08: dated ahead", func(t *testing.T, w *world) {
			st := mustDraft(t, w, Approve, read)
			st.At = w.now.Add(11 * time.Minute).Unix()
			w.force([]string{"bob"}, st)
		}, []string{"approval-missing", "decision-future"}},
		{"a signer whose patterns allow the server but not its target", func(t *testing.T, w *world) {
			w.change([]string{"alice"}, Add(Signer{Principal: "dave@example.com", Person: "Dave", Keys: []string{testKey(t, "dave").Key()}, Servers: []string{"files"}}))
			w.lock.Server("files").Target = "production"
			w.force([]string{"dave"}, mustDraft(t, w, Approve, read))
		}, []string{"approval-missing", "approval-outdated", "decision-invalid"}},
		{"attack-21: two approved changes become a third text", func(t *testing.T, w *world) {
			w.decide([]string{"bob"}, Approve, read)
			a, b := w.clone(), w.clone()
			a.relock("read", "read 2")
			a.decide([]string{"bob"}, Approve, read)
			b.relock("read", "read 3")
			b.decide([]string{"carol"}, Approve, read)
			*w = *merge(a, b)
			w.relock("read", "read 2 and 3")
		}, []string{"decision-forked"}},
		{"removed and added again to revive an approval", func(t *testing.T, w *world) {
			w.decide([]string{"bob"}, Approve, read)
			w.decide([]string{"bob"}, Disable, read)
			w.tool("read").Decision = canonical.Digest{}
		}, []string{"decision-forked"}},
		{"a decision is deleted", func(t *testing.T, w *world) {
			w.decide([]string{"bob"}, Approve, read)
			delete(w.decisions, w.decide([]string{"bob"}, Disable, read))
		}, []string{"decision-lost"}},
		{"a serial is skipped", func(t *testing.T, w *world) {
			w.decide([]string{"bob"}, Disable, read)
			st := mustDraft(t, w, Enable, read)
			st.Items[0].Serial = 7
			w.force([]string{"bob"}, st)
		}, []string{"item-conflict"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := team(t)
			w.decide([]string{"carol"}, Approve, w.allKeys()[0], w.allKeys()[1], toolKey("write"))
			test.do(t, w)
			s := w.state()
			if it := s.Item(read); it.Status == Approved || it.Passes(false) {
				t.Errorf("it is %s: %s", it.Status, it.Why)
			}
			if diff := cmp.Diff(test.want, codes(s.Findings)); diff != "" {
				t.Errorf("codes: %s\n%+v", diff, s.Findings)
			}
		})
	}
}

func TestAttackRenamed(t *testing.T) {
	w := team(t)
	id := w.decide([]string{"bob"}, Reject, toolKey("read"))
	w.lock.Server("files").Name = "documents"
	for i := range w.lock.Server("documents").Lists[surface.KindTool] {
		w.lock.Server("documents").Lists[surface.KindTool][i].Decision = canonical.Digest{}
	}
	s := w.state()
	if diff := cmp.Diff([]string{"approval-missing", "item-dropped"}, codes(s.Findings)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]canonical.Digest{id}, s.Item(surface.Key{Server: "documents", Kind: surface.KindTool, Name: "read"}).RejectedBefore); diff != "" {
		t.Errorf("that its text was rejected before is not told: %s", diff)
	}
}

// TestAttackBase holds attacks that only a comparison with the base can find.
func TestAttackBase(t *testing.T) {
	read := toolKey("read")
	for _, test := range []struct {
		name string
		do   func(t *testing.T, w *world) Recount
		want []string // codes of the comparison and of the state
	}{
		{"a good change", func(t *testing.T, w *world) Recount {
			w.relock("read", "read 2", "Carol")
			w.decide([]string{"bob"}, Approve, read)
			return Recount{
				Proposers: &Proposers{Of: func(t Text, _ []string) []string { return w.proposers[t.Digest] }},
				Grade: func(surface.Key, canonical.Digest, []canonical.Digest) (finding.Grade, bool) {
					return finding.Warning, true
				},
			}
		}, nil},
		{"attack-20: the same files by another way of merging", func(t *testing.T, w *world) Recount {
			w.relock("read", "read 2", "Carol")
			w.decide([]string{"bob"}, Approve, read)
			*w = *w.clone()
			return Recount{}
		}, nil},
		{"attack-01: the change lists its author and approves itself", func(t *testing.T, w *world) Recount {
			w.change([]string{"alice"}, Add(w.signer("mallory", "Mallory", Approver)))
			w.relock("read", "read 2", "Carol")
			w.decide([]string{"mallory"}, Approve, read)
			return Recount{}
		}, []string{"approval-outdated", "decision-outdated", "statement-foreign"}},
		{"attack-01: decided under the base's trust version by somebody it lacks", func(t *testing.T, w *world) Recount {
			w.relock("read", "read 2", "Carol")
			st := mustDraft(t, w, Approve, read)
			w.change([]string{"alice"}, Add(w.signer("mallory", "Mallory", Approver)))
			st.By = "bob@example.com"
			w.force([]string{"mallory"}, st)
			return Recount{}
		}, []string{"approval-outdated", "decision-invalid"}},
		{"attack-02: an older lockfile and its decisions", func(t *testing.T, w *world) Recount {
			for _, it := range w.state().Items {
				delete(w.decisions, it.Decision)
			}
			for it := range w.lock.Items() {
				*it.Decision = canonical.Digest{}
			}
			return Recount{}
		}, []string{"approval-missing", "decision-lost", "serial-lowered"}},
		{"attack-02: an older lockfile alone", func(t *testing.T, w *world) Recount {
			w.tool("read").Decision = canonical.Digest{}
			return Recount{}
		}, []string{"decision-forked", "serial-lowered"}},
		{"attack-02: the newest trust version is deleted", func(t *testing.T, w *world) Recount {
			w.versions = w.versions[:len(w.versions)-1]
			return Recount{}
		}, []string{"trust-lost"}},
		{"the newest trust version is replaced", func(t *testing.T, w *world) Recount {
			w.versions = w.versions[:len(w.versions)-1]
			w.change([]string{"alice"}, Add(w.signer("mallory", "Mallory", Approver)))
			return Recount{}
		}, []string{"trust-forked"}},
		{"an item is dropped", func(t *testing.T, w *world) Recount {
			tools := w.lock.Server("files").Lists
			tools[surface.KindTool] = tools[surface.KindTool][1:]
			return Recount{}
		}, []string{"item-dropped"}},
		{"attack-07: a decision does not name its proposer", func(t *testing.T, w *world) Recount {
			w.relock("read", "read 2")
			w.decide([]string{"bob"}, Approve, read)
			return Recount{Proposers: &Proposers{Of: func(Text, []string) []string { return []string{"Bob", "noreply@github.com"} }}}
		}, []string{"proposer-missing"}},
		{"a decision understates the grade", func(t *testing.T, w *world) Recount {
			w.relock("read", "read 2")
			w.decide([]string{"bob"}, Approve, read)
			return Recount{Grade: func(surface.Key, canonical.Digest, []canonical.Digest) (finding.Grade, bool) {
				return finding.Critical, true
			}}
		}, []string{"grade-understated"}},
		{"a signature is taken out", func(t *testing.T, w *world) Recount {
			id := w.tool("read").Decision
			d := *w.ledger().Decision(id)
			d.Signatures = nil
			w.decisions[id] = d.Format()
			return Recount{}
		}, []string{"decision-invalid", "decision-lost"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := approved(t)
			head := base.clone()
			again := test.do(t, head)
			state := Evaluate(Input{Chain: base.chain(), Tree: head.chain(), Ledger: head.ledger(), Lockfile: head.lock, Path: head.path, Now: head.now})
			if diff := cmp.Diff(test.want, codes(append(state.Findings, compare(base, head, again)...))); diff != "" {
				t.Errorf("codes: %s\n%+v", diff, state.Findings)
			}
		})
	}
}

func TestAttackBaseWithoutList(t *testing.T) {
	w := approved(t)
	head := Side{Chain: w.chain(), Ledger: w.ledger(), State: w.state()}
	base := Side{Ledger: &Ledger{}, State: Evaluate(Input{Lockfile: newWorld(t).lock, Path: w.path, Now: w.now})}
	if diff := cmp.Diff([]string{"trust-unpinned"}, codes(CompareBase(base, head, Recount{}))); diff != "" {
		t.Errorf("a version 1 that the base lacks: %s", diff)
	}
	root := w.chain().Digest()
	w.root = &root
	head.Chain = w.chain()
	if diff := cmp.Diff([]string(nil), codes(CompareBase(base, head, Recount{}))); diff != "" {
		t.Errorf("one that the root names: %s", diff)
	}
	if diff := cmp.Diff([]string{"decision-lost", "trust-missing"}, codes(CompareBase(head, Side{}, Recount{}))); diff != "" {
		t.Errorf("the trust folder is deleted: %s", diff)
	}
}

// chainRule returns the rule by which a chain is refused.
func chainRule(t *testing.T, files []File, root *canonical.Digest) Rule {
	t.Helper()
	_, err := LoadChain(files, root, nil)
	if err == nil {
		return ""
	}
	ce, ok := errors.AsType[*ChainError](err)
	if !ok {
		t.Fatalf("not a ChainError: %v", err)
	}
	if ce.Advice == "" || ce.Detail == "" || ce.Code() == "" {
		t.Errorf("%+v says too little", ce)
	}
	return ce.Rule
}

func TestAttackChain(t *testing.T) {
	w := newWorld(t)
	w.change([]string{"alice"}, Add(w.signer("bob", "Bob", Admin, Approver)))
	w.change([]string{"alice"}, Set("threshold.admin", "2"))
	good := w.versions
	if rule := chainRule(t, good, nil); rule != "" {
		t.Fatalf("a good chain: %s", rule)
	}
	// Version 3 needs one of version 2 and two of its own: so far it waits.
	if c := w.chain(); c.Len() != 2 || c.Waiting() == nil || !cmp.Equal(c.Waiting().Missing, []Quorum{{3, 2, []string{"Alice"}, []string{"Bob"}}}) {
		t.Errorf("version 3 with one signature: %+v", c.Waiting())
	}
	resign := func(v Version, names ...string) []byte {
		v.Signatures = nil
		for _, name := range names {
			var err error
			if v.Signatures, err = addSignature(t.Context(), testKey(t, name), sshsig.NamespaceTrust, v.Signed.Canonical(), v.Signatures); err != nil {
				t.Fatal(err)
			}
		}
		return v.Format()
	}
	version := func(n int, edit func(*Signed)) Version {
		v, err := ParseVersion(good[n-1].Data)
		if err != nil {
			t.Fatal(err)
		}
		edit(&v.Signed)
		return *v
	}
	third := File{3, resign(version(3, func(*Signed) {}), "alice", "bob")}
	full := []File{good[0], good[1], third}
	if rule := chainRule(t, full, nil); rule != "" {
		t.Fatalf("a full chain: %s", rule)
	}
	chain, _ := LoadChain(full, nil, nil)
	root := func(n int) *canonical.Digest { _, d := chain.Version(n); return &d }
	fourth := version(3, func(s *Signed) { s.Version, s.Previous = 4, *root(3) })
	onlyNew := version(2, func(s *Signed) {
		s.Signers = []Signer{{Principal: "mallory@example.com", Person: "Mallory", Keys: []string{testKey(t, "mallory").Key()}, Roles: []Role{Admin, Approver}, Servers: []string{}}}
	})
	other := digestOf("another root")
	flipped := bytes.Replace(good[1].Data, []byte(`"approve": 1`), []byte(`"approve": 2`), 1)
	for _, test := range []struct {
		name  string
		files []File
		root  *canonical.Digest
		want  Rule
	}{
		{"attack-02: an older list under the newest root", full[:2], root(3), RuleRoot},
		{"attack-02: another root", full, &other, RuleRoot},
		{"the folder is deleted", nil, root(1), RuleNoList},
		{"attack-03: version 2 is missing", []File{full[0], full[2]}, nil, RuleSkipped},
		{"attack-03: version 1 is missing", full[1:], root(2), RuleSkipped},
		{"attack-03: signed by old keys alone, and a version after it", []File{full[0], full[1], good[2], {4, resign(fourth, "alice", "bob")}}, nil, RuleAfter},
		{"attack-03: signed by new keys alone, and a version after it", []File{full[0], {2, resign(onlyNew, "mallory")}, full[2]}, nil, RuleForked},
		{"attack-03: a number twice", []File{full[0], full[1], {2, full[1].Data}}, nil, RuleForked},
		{"a version under another number", []File{full[0], {2, full[0].Data}}, nil, RuleNumber},
		{"a second history", []File{full[0], {2, resign(version(2, func(s *Signed) { s.Previous = other }), "alice")}}, nil, RuleForked},
		{"another repository", []File{full[0], {2, resign(version(2, func(s *Signed) { s.Repository = other }), "alice")}}, nil, RuleRepository},
		{"a member changed after signing", []File{full[0], {2, flipped}}, nil, RuleSignature},
		{"no signature", []File{{1, resign(version(1, func(*Signed) {}))}}, nil, RuleUnsigned},
		{"signed by a stranger", []File{{1, resign(version(1, func(*Signed) {}), "mallory")}}, nil, RuleUnlisted},
		{"signed by a stranger too", []File{{1, resign(version(1, func(*Signed) {}), "alice", "mallory")}}, nil, RuleUnlisted},
		{"attack-27: too many versions", make([]File, MaxVersions+1), nil, RuleLength},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := chainRule(t, test.files, test.root); got != test.want {
				t.Errorf("the rule is %q, not %q", got, test.want)
			}
		})
	}
	t.Run("attack-03: signed by new keys alone", func(t *testing.T) {
		c, err := LoadChain([]File{full[0], {2, resign(onlyNew, "mallory")}}, nil, nil)
		if err != nil || c.Len() != 1 || c.Waiting() == nil {
			t.Errorf("it does not wait: %v", err)
		}
	})
	t.Run("a removed admin signs a second history", func(t *testing.T) {
		// Bob is gone in version 4; with his key he makes another version 3.
		gone := version(3, func(s *Signed) {
			s.Version, s.Previous, s.Thresholds.Admin = 4, *root(3), 1
			s.Signers = s.Signers[:1]
		})
		real := append(slices.Clone(full), File{4, resign(gone, "alice", "bob")})
		c, err := LoadChain(real, nil, nil)
		if err != nil || c.Len() != 4 {
			t.Fatal(err)
		}
		pin := c.Digest()
		second := version(3, func(s *Signed) { s.Thresholds.Admin = 1; s.Signers[0].Servers = []string{"none"} })
		if rule := chainRule(t, []File{full[0], full[1], {3, resign(second, "bob")}}, &pin); rule != RuleRoot {
			t.Errorf("the rule is %q", rule)
		}
	})
}

// TestAttackRecords holds files that are no decisions.
func TestAttackRecords(t *testing.T) {
	w := team(t)
	id := w.decide([]string{"bob"}, Approve, toolKey("read"))
	good := w.decisions[id]
	st := w.ledger().Decision(id).Statement
	sign := func(ns sshsig.Namespace, name string) []byte {
		blob, err := testKey(t, name).Sign(t.Context(), ns, st.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		return blob
	}
	blob := sign(sshsig.NamespaceDecision, "bob")
	with := func(blobs ...[]byte) []byte {
		d := Decision{Statement: st, Signatures: blobs}
		return d.Format()
	}
	replace := func(old, text string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("%q is not in the file", old)
		}
		return bytes.Replace(good, []byte(old), []byte(text), 1)
	}
	splice := func(at int, text string) []byte { return slices.Insert(slices.Clone(blob), at, []byte(text)...) }
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	twice := make([][]byte, 2)
	for i := range twice {
		s, err := sshsig.Sign(t.Context(), ecdsaKey{signer}, sshsig.NamespaceDecision, st.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		twice[i] = s.Blob()
	}
	slices.SortFunc(twice, bytes.Compare)
	namespace := len("SSHSIG") + 4 + 4 + len(keyWire(t, "bob"))
	for _, test := range []struct {
		name string
		data []byte
		want Rule
	}{
		{"attack-05: a commit signature", with(sign(sshsig.NamespaceGit, "bob")), RuleSignature},
		{"attack-05: a trust signature", with(sign(sshsig.NamespaceTrust, "bob")), RuleSignature},
		{"attack-06: two signatures by one key", with(twice...), RuleSignature},
		{"attack-06: one signature twice", with(blob, blob), RuleOrder},
		{"attack-13: trailing bytes", with(splice(len(blob), "x")), RuleSignature},
		{"attack-13: another version", with(append([]byte("SSHSIG\x00\x00\x00\x02"), blob[10:]...)), RuleSignature},
		{"attack-13: an empty namespace", with(slices.Concat(blob[:namespace], []byte{0, 0, 0, 0}, blob[namespace+4+len(sshsig.NamespaceDecision):])), RuleSignature},
		{"attack-13: a huge length", with(slices.Concat(blob[:10], []byte{255, 255, 255, 255}, blob[14:])), RuleSignature},
		{"attack-13: reserved set", with(slices.Concat(blob[:namespace+4+len(sshsig.NamespaceDecision)], []byte{0, 0, 0, 1, 'x'}, blob[namespace+4+len(sshsig.NamespaceDecision)+4:])), RuleSignature},
		{"attack-22: a member twice", replace(`"by":`, `"by": "bob@example.com", "by":`), Rule(canonical.RuleDuplicateKey)},
		{"attack-22: a float", replace(`"serial": 1`, `"serial": 1.0`), Rule(canonical.RuleNumber)},
		{"attack-22: an exponent", replace(`"serial": 1`, `"serial": 1e0`), Rule(canonical.RuleNumber)},
		{"attack-22: an unknown member", replace(`"by":`, `"extra": 1, "by":`), RuleMember},
		{"attack-22: another case", replace(`"by":`, `"By":`), RuleMember},
		{"attack-22: a path upwards", replace(`"agentgateway.lock"`, `"../agentgateway.lock"`), RuleValue},
		{"attack-22: a path that is not clean", replace(`"agentgateway.lock"`, `"./agentgateway.lock"`), RuleValue},
		{"attack-22: something after it", append(slices.Clone(good), "{}"...), Rule(canonical.RuleSyntax)},
		{"attack-22: a lone surrogate", replace(`"for a test"`, `"\ud800"`), Rule(canonical.RuleUnicode)},
		{"attack-27: 10 MB", replace(`"for a test"`, `"`+strings.Repeat("x", 10<<20)+`"`), RuleSize},
		{"attack-27: deep", replace(`"for a test"`, strings.Repeat("[", 1000)), Rule(canonical.RuleShape)},
		{"attack-30: another statement under the name", replace(`"for a test"`, `"for a tesT"`), RuleValue},
		{"a null", replace(`"previous": []`, `"previous": null`), Rule(canonical.RuleShape)},
		{"a missing member", replace(`"reason": "for a test",`, ``), RuleMissing},
		{"another type", replace(`agentgateway-decision/v1`, `agentgateway-decision/v2`), RuleType},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := NewLedger([]DecisionFile{{DecisionPath(id), test.data}}, nil, nil)
			if err != nil || len(l.Invalid()) != 1 || l.Len() != 0 {
				t.Fatalf("it is a decision: %v", err)
			}
			if got := ruleOf(l.Invalid()[0].Err); got != test.want {
				t.Errorf("the rule is %q, not %q: %v", got, test.want, l.Invalid()[0].Err)
			}
		})
	}
	t.Run("attack-22: a file elsewhere", func(t *testing.T) {
		for _, path := range []string{".agentgateway/decisions/../x.json", ".agentgateway/decisions/00/" + id.String() + ".json", strings.ToUpper(DecisionPath(id)), "x"} {
			if l, err := NewLedger([]DecisionFile{{path, good}}, nil, nil); err != nil || l.Len() != 0 {
				t.Errorf("%s is read", path)
			}
		}
	})
	t.Run("attack-27: 100,000 records", func(t *testing.T) {
		if _, err := NewLedger(make([]DecisionFile, 100_000), nil, nil); ruleOf(err) != RuleSize {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("attack-05: an approval as a commit signature", func(t *testing.T) {
		s, err := sshsig.ParseBlob(blob)
		if err != nil {
			t.Fatal(err)
		}
		if sshsig.Verify(st.Canonical(), s, sshsig.NamespaceGit) == nil {
			t.Error("it verifies")
		}
	})
}

type ecdsaKey struct{ ssh.Signer }

func (k ecdsaKey) Sign(_ context.Context, data []byte) (*ssh.Signature, error) {
	return k.Signer.Sign(rand.Reader, data)
}

func keyWire(t *testing.T, name string) []byte {
	wire, err := base64.StdEncoding.DecodeString(strings.Fields(testKey(t, name).Key())[1])
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

// TestAttackVersions holds lists that are no trust versions.
func TestAttackVersions(t *testing.T) {
	alice, bob := testKey(t, "alice").Key(), testKey(t, "bob").Key()
	for _, test := range []struct {
		name string
		edit func(s *Signed)
		want Rule
	}{
		{"good", func(*Signed) {}, ""},
		{"attack-06: one key under two principals", func(s *Signed) { s.Signers[1].Keys = []string{alice} }, RuleDuplicate},
		{"attack-06: persons that look alike", func(s *Signed) { s.Signers[1].Person = "Аlice" }, RulePerson},
		{"attack-06: persons that differ by case", func(s *Signed) { s.Signers[1].Person = "alice" }, RulePerson},
		{"attack-06: a person with a hidden character", func(s *Signed) { s.Signers[1].Person = "Al\u200bice" }, RulePerson},
		{"attack-10: a wildcard principal", func(s *Signed) { s.Signers[0].Principal = "*" }, RulePrincipal},
		{"attack-10: a list of principals", func(s *Signed) { s.Signers[0].Principal = "alice,bob" }, RulePrincipal},
		{"attack-10: an upper-case principal", func(s *Signed) { s.Signers[0].Principal = "Alice" }, RulePrincipal},
		{"attack-11: a certificate", func(s *Signed) { s.Signers[0].Keys = []string{"ssh-ed25519-cert-v01@openssh.com AAAA"} }, RuleKey},
		{"a key with a comment", func(s *Signed) { s.Signers[0].Keys = []string{alice + " laptop"} }, RuleKey},
		{"attack-24: threshold 0", func(s *Signed) { s.Thresholds.Approve = 0 }, RuleThreshold},
		{"attack-24: a negative threshold", func(s *Signed) { s.Thresholds.Critical = -1 }, RuleThreshold},
		{"attack-24: more than there are approvers", func(s *Signed) { s.Thresholds.Approve = 3 }, RuleThreshold},
		{"attack-24: more than there are admins", func(s *Signed) { s.Thresholds.Admin = 2 }, RuleThreshold},
		{"attack-24: more keys than persons", func(s *Signed) { s.Signers[1].Person = "Alice" }, RuleThreshold},
		{"attack-24: nobody", func(s *Signed) { s.Signers = nil }, RuleValue},
		{"attack-24: no approvers", func(s *Signed) { s.Signers[0].Roles, s.Signers[1].Roles = []Role{Admin}, []Role{Admin} }, RuleThreshold},
		{"attack-24: a role with a typo", func(s *Signed) { s.Signers[0].Roles = []Role{Admin, "aprover"} }, RuleRole},
		{"attack-24: no role", func(s *Signed) { s.Signers[0].Roles = nil }, RuleRole},
		{"attack-27: too many keys", func(s *Signed) {
			s.Signers[0].Keys = nil
			for i := range MaxKeys + 1 {
				s.Signers[0].Keys = append(s.Signers[0].Keys, fmt.Sprintf("ssh-ed25519 %05d", i))
			}
		}, RuleSize},
		{"an empty pattern", func(s *Signed) { s.Signers[1].Servers = []string{""} }, RuleValue},
		{"a double wildcard", func(s *Signed) { s.Signers[1].Servers = []string{"a**"} }, RulePattern},
		{"unsorted signers", func(s *Signed) { s.Signers[0].Principal = "zoe@example.com" }, RuleOrder},
		{"a role twice", func(s *Signed) { s.Signers[0].Roles = []Role{Admin, Admin} }, RuleOrder},
		{"unsorted keys", func(s *Signed) {
			s.Signers[1].Keys = []string{max(bob, testKey(t, "x").Key()), min(bob, testKey(t, "x").Key())}
		}, RuleOrder},
		{"version 1 with a previous one", func(s *Signed) { s.Previous = digestOf("x") }, RuleValue},
		{"version 2 without", func(s *Signed) { s.Version = 2 }, RuleValue},
		{"a negative age", func(s *Signed) { s.Rules.MaxAge = -1 }, RuleValue},
		{"a checkpoint at a branch", func(s *Signed) { s.Checkpoint = &Checkpoint{"main", digestOf("x"), "why"} }, RuleValue},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Version{Signed: sampleSigned(t), Signatures: [][]byte{{1}}}
			test.edit(&v.Signed)
			_, err := ParseVersion(v.Format())
			if got := ruleOf(err); got != test.want {
				t.Errorf("the rule is %q, not %q: %v", got, test.want, err)
			}
		})
	}
	t.Run("attack-22: a member twice", func(t *testing.T) {
		v := Version{Signed: sampleSigned(t), Signatures: [][]byte{{1}}}
		text := strings.Replace(string(v.Format()), `"version": 1`, `"version": 1, "version": 1`, 1)
		if _, err := ParseVersion([]byte(text)); ruleOf(err) != Rule(canonical.RuleDuplicateKey) {
			t.Error(err)
		}
	})
	t.Run("attack-27: over 1 MiB", func(t *testing.T) {
		if _, err := ParseVersion(bytes.Repeat([]byte(" "), MaxVersionSize+1)); ruleOf(err) != RuleSize {
			t.Error(err)
		}
	})
}

// TestAttackLockfileTrust holds that a lockfile which names a version that is gone
// says so without any base.
func TestAttackLockfileTrust(t *testing.T) {
	w := approved(t)
	w.lock.Trust = w.chain().Digest()
	if diff := cmp.Diff([]string(nil), codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
	w.versions = w.versions[:1]
	if got := codes(w.state().Findings); !slices.Contains(got, "trust-lost") {
		t.Errorf("codes: %v", got)
	}
}

func TestPattern(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"files", "files", true}, {"files", "files2", false}, {"files*", "files2", true}, {"*", "", true}, {"*", "x", true},
		{"*s", "files", true}, {"f*e*s", "files", true}, {"f*x*s", "files", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*b", "ab", false}, {"a*b*b", "abb", true}, {"[f]iles", "files", false}, {"file?", "files", false},
	} {
		if got := matchPattern(test.pattern, test.name); got != test.want {
			t.Errorf("%q matches %q: %v", test.pattern, test.name, got)
		}
	}
}

// TestDecisionInvalid holds that who may not decide about an item ends nothing: a
// decision of theirs takes no serial and forks nothing, whether the lockfile names
// it or not.
func TestDecisionInvalid(t *testing.T) {
	read := toolKey("read")
	for _, named := range []bool{false, true} {
		w := team(t)
		w.change([]string{"alice"}, Add(w.signer("robot", "the robot", Deployer)))
		approval := w.decide([]string{"bob"}, Approve, read)
		w.force([]string{"robot"}, mustDraft(t, w, Disable, read))
		if !named {
			w.tool("read").Decision = approval
		}
		s := w.state()
		if it := s.Item(read); it.Status != Approved || !slices.Contains(codes(s.Findings), "decision-invalid") {
			t.Errorf("named %v: it is %s (%s), with the findings %v", named, it.Status, it.Why, codes(s.Findings))
		}
		if st := mustDraft(t, w, Disable, read); st.Items[0].Serial != 2 || !slices.Equal(st.Items[0].Previous, []canonical.Digest{approval}) {
			t.Errorf("named %v: the next has the serial %d after %v", named, st.Items[0].Serial, st.Items[0].Previous)
		}
	}
}

// TestNewItems holds that the rule makes new definitions need the threshold of
// critical changes, and those that were in force before not.
func TestNewItems(t *testing.T) {
	w := team(t, Set("threshold.critical", "2"), Set("newItems", "critical"))
	read := toolKey("read")
	w.decide([]string{"bob"}, Approve, read)
	if it := w.state().Item(read); it.Status != New || len(it.Pending) != 1 || it.Pending[0].Tally.Need != 2 {
		t.Errorf("a new tool that one approved is %s", it.Status)
	}
	if grade := w.state().GradeOfNew(read.Kind); grade != finding.Critical {
		t.Errorf("a new tool is %s", grade)
	}
	w.decide([]string{"bob", "carol"}, Approve, read)
	w.decide([]string{"bob"}, Disable, read)
	w.decide([]string{"bob"}, Enable, read)
	w.decide([]string{"bob"}, Approve, read)
	if it := w.state().Item(read); it.Status != Approved {
		t.Errorf("what was in force and is approved again as a harmless change is %s", it.Status)
	}
}
