package project

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// TestResolveJoinsSignatures merges two branches on which a decision has different
// signatures: the merged one has those of both, and a file of one side alone stays.
func TestResolveJoinsSignatures(t *testing.T) {
	r, _ := signedChange(t)
	ctx := t.Context()
	git := func(args ...string) {
		t.Helper()
		if out, err := r.Git(ctx, args...); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	paths, err := filepath.Glob(filepath.Join(r.Dir, ".agentgateway", "decisions", "*", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	one := paths[0]
	text, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := trust.ParseDecision(text)
	if err != nil {
		t.Fatal(err)
	}
	second := signature(t, sshsig.NamespaceDecision, whole.Statement.Canonical())
	both := &trust.Decision{Statement: whole.Statement, Signatures: sorted(whole.Signatures[0], second)}
	without := &trust.Decision{Statement: whole.Statement, Signatures: [][]byte{second}}
	for name, c := range map[string]struct{ ours, theirs []byte }{
		"one and the other": {without.Format(), whole.Format()},
		"the other and one": {whole.Format(), without.Format()},
		"both, and one":     {both.Format(), whole.Format()},
	} {
		joined, err := joinDecisions(c.ours, c.theirs)
		if err != nil || !slices.Equal(joined, both.Format()) {
			t.Errorf("%s: %v\n%s", name, err, joined)
		}
	}
	other := *whole
	other.Statement.Reason = "another"
	if _, err := joinDecisions(whole.Format(), other.Format()); err == nil {
		t.Error("two statements were joined")
	}
	if _, err := joinDecisions(whole.Format(), []byte("{}")); err == nil {
		t.Error("what is no decision was joined")
	}

	// In a merge that is under way: one signature is ours, the other theirs.
	git("checkout", "-q", "-b", "ours")
	if err := os.WriteFile(one, without.Format(), 0o644); err != nil {
		t.Fatal(err)
	}
	git("commit", "-q", "-a", "-m", "without")
	git("checkout", "-q", "-b", "theirs", "change")
	git("commit", "-q", "--allow-empty", "-m", "with")
	git("checkout", "-q", "ours")
	if err := os.WriteFile(filepath.Join(r.Dir, ".git", "MERGE_HEAD"), []byte(head(t, r, "theirs")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := openTest(t, r, trust.SSH{})
	if _, err := p.Resolve(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(one)
	if err != nil || string(got) != string(both.Format()) {
		t.Errorf("the merged decision is\n%s, %v", got, err)
	}
}

// signature signs a message with a key of its own.
func signature(t *testing.T, ns sshsig.Namespace, message []byte) []byte {
	t.Helper()
	s, err := sshsig.Sign(t.Context(), approved.NewKey("bob"), ns, message)
	if err != nil {
		t.Fatal(err)
	}
	return s.Blob()
}

func sorted(blobs ...[]byte) [][]byte {
	slices.SortFunc(blobs, bytes.Compare)
	return blobs
}

func head(t *testing.T, r *approved.Repository, name string) string {
	t.Helper()
	out, err := r.Git(t.Context(), "rev-parse", name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// TestJoinVersions joins what two persons signed of one trust version.
func TestJoinVersions(t *testing.T) {
	r, _ := signedChange(t)
	text, err := os.ReadFile(filepath.Join(r.Dir, trust.VersionPath(1)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := trust.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	second := signature(t, sshsig.NamespaceTrust, v.Signed.Canonical())
	other := &trust.Version{Signed: v.Signed, Signatures: [][]byte{second}}
	both := &trust.Version{Signed: v.Signed, Signatures: sorted(v.Signatures[0], second)}
	for _, pair := range [][2][]byte{{other.Format(), text}, {text, other.Format()}} {
		if joined, err := joinVersions(pair[0], pair[1]); err != nil || string(joined) != string(both.Format()) {
			t.Errorf("%v\n%s", err, joined)
		}
	}
	later := *v
	later.Signed.Version = 7
	if _, err := joinVersions(text, later.Format()); err == nil {
		t.Error("two versions were joined")
	}
}
