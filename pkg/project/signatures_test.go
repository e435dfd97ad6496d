package project

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// counter counts the signatures it is asked to verify.
type counter struct {
	calls  atomic.Int64
	refuse bool
}

func (c *counter) Verify(message, blob []byte, ns sshsig.Namespace) (string, error) {
	c.calls.Add(1)
	if c.refuse {
		return "", fmt.Errorf("refused")
	}
	return trust.SSH{}.Verify(message, blob, ns)
}

// signedChange is a repository on a branch that adds a decision to those of main. It
// returns how many signatures it holds.
func signedChange(t *testing.T) (*approved.Repository, int64) {
	t.Helper()
	ctx := t.Context()
	r, err := approved.New(ctx, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(tools ...string) {
		t.Helper()
		raws := make([][]byte, len(tools))
		for i, name := range tools {
			raws[i] = fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"}}`, name)
		}
		list, _ := surface.NewList(surface.KindTool, raws)
		must(r.Put(ctx, "notes", &source.Source{Transport: source.HTTP, URL: "https://notes.example.com/mcp"},
			surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}))
	}
	put("one", "two")
	must(r.DecideEach(ctx, 1))
	_, err = r.Commit(ctx, "Lock and approve")
	must(err)
	_, err = r.Git(ctx, "checkout", "-q", "-b", "change")
	must(err)
	put("one", "three", "two")
	must(r.Decide(ctx, trust.Approve))
	_, err = r.Commit(ctx, "Add a tool")
	must(err)
	decisions, err := filepath.Glob(filepath.Join(r.Dir, ".agentgateway", "decisions", "*", "*.json"))
	must(err)
	return r, int64(r.Chain.Len() + len(decisions))
}

func openTest(t *testing.T, r *approved.Repository, v trust.Verifier) *Project {
	t.Helper()
	root := r.Root().String()
	p, err := Open(t.Context(), Env{
		Lookup: func(string) (string, bool) { return "", false }, Now: time.Now, Program: "agentgateway", Version: "0.1.0",
	}, Options{Dir: r.Dir, TrustRoot: &root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.verifier = trust.Once(v)
	return p
}

// A gate reads two trees with the same signatures, and a review reads one: each
// signature is verified once, and by no other way.
func TestSignaturesAreVerifiedOnce(t *testing.T) {
	r, signatures := signedChange(t)
	for name, run := range map[string]func(*Project) error{
		"gate": func(p *Project) error {
			rep, err := p.Gate(t.Context(), GateOptions{CompareOptions: CompareOptions{BaseOptions: BaseOptions{Base: "main"}, FailOn: finding.Critical}, Offline: true})
			if err == nil && rep.ExitCode != 0 {
				err = fmt.Errorf("exit code %d: %v", rep.ExitCode, rep.Findings)
			}
			return err
		},
		"review": func(p *Project) error { _, err := p.Review(t.Context(), nil); return err },
		"bundle": func(p *Project) error { _, err := p.Bundle(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			count := &counter{}
			if err := run(openTest(t, r, count)); err != nil {
				t.Fatal(err)
			}
			if got := count.calls.Load(); got != signatures {
				t.Errorf("%d signatures were verified, and there are %d", got, signatures)
			}
			if err := run(openTest(t, r, &counter{refuse: true})); err == nil {
				t.Error("a signature that nothing verified was accepted")
			}
		})
	}
}
