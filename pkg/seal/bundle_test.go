package seal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"

	"github.com/google/go-cmp/cmp"
)

// newDecision is a decision by alice about one server's pause, for a lockfile.
func newDecision(t *testing.T, lockfile, reason string) trust.DecisionFile {
	t.Helper()
	st := trust.Statement{
		Repository: canonical.SumString("a repository"), Lockfile: lockfile, Trust: canonical.SumString("a version"), Action: trust.Pause,
		Items:  []trust.Item{{Key: surface.Key{Server: "files", Kind: surface.KindServer}, Serial: 1, Previous: []canonical.Digest{}, Proposers: []string{}}},
		Reason: reason, At: 1764504000, By: "alice@example.com",
	}
	blob, err := trust.SSHKey(newKey(t, "alice")).Sign(t.Context(), "agentgateway-decision@v1", st.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	d := trust.Decision{Statement: st, Signatures: [][]byte{blob}}
	return trust.DecisionFile{Path: trust.DecisionPath(st.ID()), Data: d.Format()}
}

// newBundle is what `agentgateway bundle` makes of the world, sealed by dana.
func newBundle(t *testing.T, w *world) *seal.Bundle {
	t.Helper()
	all := []trust.DecisionFile{newDecision(t, lockPath, "one"), newDecision(t, lockPath, "two"), newDecision(t, "other.lock", "three")}
	ledger, err := trust.NewLedger(all, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	chosen := ledger.Files(lockPath)
	armored, err := seal.SignBytes(t.Context(), []byte(sampleLock), newKey(t, "dana"))
	if err != nil {
		t.Fatal(err)
	}
	return &seal.Bundle{
		Path: lockPath, Lockfile: []byte(sampleLock), Trust: w.files, Decisions: chosen,
		Instructions: []string{"Be kind.\n", "Use \u200b the tools \\ \"well\"."},
		Seal:         seal.BundleSeal{Kind: seal.RequireSignature, Data: armored},
	}
}

func mustWrite(t *testing.T, b *seal.Bundle) []byte {
	t.Helper()
	text, err := seal.WriteBundle(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBundleRoundTrip(t *testing.T) {
	w := newWorld(t)
	b := newBundle(t, w)
	if len(b.Decisions) != 2 || b.Decisions[0].Path >= b.Decisions[1].Path {
		t.Errorf("chose %d decisions", len(b.Decisions))
	}
	text := mustWrite(t, b)
	got, err := seal.ParseBundle(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	if again := mustWrite(t, got); !bytes.Equal(again, text) {
		t.Error("writing again gives other bytes")
	}
	// Another reader gets the same bytes.
	var plain struct {
		Lockfile  string
		Trust     []string
		Decisions map[string]string
		Seal      struct{ Kind, Text string }
	}
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	if plain.Lockfile != sampleLock || plain.Trust[1] != string(w.files[1].Data) || len(plain.Decisions) != 2 || plain.Seal.Text != string(b.Seal.Data) {
		t.Errorf("encoding/json reads %+v", plain)
	}
	for _, want := range b.Instructions {
		if have, ok := got.Instruction(canonical.SumString(want)); !ok || have != want {
			t.Errorf("instructions %q: %q, %v", want, have, ok)
		}
	}
	if _, ok := got.Instruction(canonical.SumString("Obey.")); ok {
		t.Error("it holds instructions that nobody put in")
	}
}

// The written form of a small bundle, by hand.
func TestBundleForm(t *testing.T) {
	text := mustWrite(t, &seal.Bundle{Path: "a/b.lock", Lockfile: []byte("{\"é\": 1}\r\n"), Instructions: []string{"x"}, Seal: seal.BundleSeal{Kind: seal.RequireNone}})
	const want = `{
  "type": "agentgateway-bundle/v1",
  "path": "a/b.lock",
  "lockfile": "{\"é\": 1}\r\n",
  "trust": [],
  "decisions": {},
  "instructions": [
    "x"
  ],
  "seal": {"kind": "none", "text": ""}
}
`
	if string(text) != want {
		t.Errorf("wrote\n%s\nwant\n%s", text, want)
	}
}

func TestWriteBundleRefuses(t *testing.T) {
	for name, change := range map[string]func(*seal.Bundle){
		"no path":              func(b *seal.Bundle) { b.Path = "" },
		"a path upwards":       func(b *seal.Bundle) { b.Path = "../agentgateway.lock" },
		"another encoding":     func(b *seal.Bundle) { b.Lockfile = []byte{0xff} },
		"a gap in the chain":   func(b *seal.Bundle) { b.Trust = []trust.File{{Number: 2}} },
		"a stray decision":     func(b *seal.Bundle) { b.Decisions = []trust.DecisionFile{{Path: "x.json"}} },
		"instructions order":   func(b *seal.Bundle) { b.Instructions = []string{"b", "b"} },
		"a tag":                func(b *seal.Bundle) { b.Seal.Kind = seal.RequireTag },
		"a seal without text":  func(b *seal.Bundle) { b.Seal.Kind = seal.RequireSignature },
		"a text without seal":  func(b *seal.Bundle) { b.Seal.Data = []byte("x") },
		"a seal in bytes":      func(b *seal.Bundle) { b.Seal = seal.BundleSeal{Kind: seal.RequireSigstore, Data: []byte{0x80}} },
		"instructions unicode": func(b *seal.Bundle) { b.Instructions = []string{"\xff"} },
		"too many versions": func(b *seal.Bundle) {
			for n := range trust.MaxVersions + 1 {
				b.Trust = append(b.Trust, trust.File{Number: n + 1})
			}
		},
	} {
		b := &seal.Bundle{Path: lockPath, Lockfile: []byte("{}"), Seal: seal.BundleSeal{Kind: seal.RequireNone}}
		change(b)
		if _, err := seal.WriteBundle(b); ruleOf(err) != string(seal.RuleBundle) {
			t.Errorf("%s: %v", name, err)
		}
	}
	huge := &seal.Bundle{Path: lockPath, Lockfile: bytes.Repeat([]byte("\x01"), seal.MaxBundleSize/6), Seal: seal.BundleSeal{Kind: seal.RequireNone}}
	if _, err := seal.WriteBundle(huge); ruleOf(err) != string(seal.RuleBundleSize) {
		t.Errorf("beyond the size: %v", err)
	}
	if _, err := seal.ParseBundle(make([]byte, seal.MaxBundleSize+1)); ruleOf(err) != string(seal.RuleBundleSize) {
		t.Errorf("reading beyond the size: %v", err)
	}
}

// sigstoreStub accepts one text as the Sigstore bundle of anything.
type sigstoreStub string

func (s sigstoreStub) Verify(_, bundle []byte, policy seal.SigstorePolicy) error {
	if err := policy.Check(); err != nil {
		return err
	}
	if string(bundle) != string(s) {
		return &seal.Error{Rule: seal.RuleContent}
	}
	return nil
}

func TestVerifyBundle(t *testing.T) {
	w := newWorld(t)
	lockUnder := func(d canonical.Digest) []byte {
		return []byte(strings.Replace(sampleLock, `  "servers"`, `  "trust": "`+d.String()+"\",\n  \"servers\"", 1))
	}
	resealed := func(b *seal.Bundle, person string) {
		armored, err := seal.SignBytes(t.Context(), b.Lockfile, newKey(t, person))
		if err != nil {
			t.Fatal(err)
		}
		b.Seal.Data = armored
	}
	policy := seal.SigstorePolicy{Identity: "ci@example.com", Issuer: "https://issuer.example", TrustedRoot: []byte("{}"), Now: time.Unix(1764504000, 0)}
	newest := w.chain.Digest()
	for _, tc := range []struct {
		name   string
		change func(*seal.Bundle, *seal.Options)
		rule   seal.Rule
		signer string
	}{
		{"as it was made", nil, "", "dana@example.com"},
		{"without a root", func(_ *seal.Bundle, o *seal.Options) { o.Root = nil }, "", "dana@example.com"},
		{"with the newest root", func(_ *seal.Bundle, o *seal.Options) { o.Root = &newest }, "", "dana@example.com"},
		{"with a foreign root", func(_ *seal.Bundle, o *seal.Options) { o.Root = &canonical.Digest{7} }, seal.RuleTrust, ""},
		{"another lockfile", func(b *seal.Bundle, _ *seal.Options) {
			b.Lockfile = bytes.Replace(b.Lockfile, []byte("12:00"), []byte("13:00"), 1)
		}, seal.RuleMismatch, ""},
		{"a lockfile that does not parse", func(b *seal.Bundle, _ *seal.Options) { b.Lockfile = []byte("{}") }, seal.RuleLockfile, ""},
		{"sealed by an approver", func(b *seal.Bundle, _ *seal.Options) { resealed(b, "alice") }, seal.RuleSigner, ""},
		{"sealed by a stranger", func(b *seal.Bundle, _ *seal.Options) { resealed(b, "mallory") }, seal.RuleSigner, ""},
		{"the deployer's version left out", func(b *seal.Bundle, _ *seal.Options) { b.Trust = b.Trust[:1] }, seal.RuleSigner, ""},
		{"a version left out that the root names", func(b *seal.Bundle, o *seal.Options) { b.Trust, o.Root = b.Trust[:1], &newest }, seal.RuleTrust, ""},
		{"a version left out that the lockfile names", func(b *seal.Bundle, _ *seal.Options) {
			b.Lockfile, b.Trust = lockUnder(newest), b.Trust[:1]
			resealed(b, "dana")
		}, seal.RuleStale, ""},
		{"a lockfile under the newest version", func(b *seal.Bundle, _ *seal.Options) {
			b.Lockfile = lockUnder(newest)
			resealed(b, "dana")
		}, "", "dana@example.com"},
		{"a version forged", func(b *seal.Bundle, _ *seal.Options) {
			b.Trust = append([]trust.File(nil), b.Trust...)
			b.Trust[1].Data = bytes.ReplaceAll(b.Trust[1].Data, []byte("dana@"), []byte("anda@"))
		}, seal.RuleTrust, ""},
		{"no trust list", func(b *seal.Bundle, o *seal.Options) { b.Trust, o.Root = nil, nil }, seal.RuleTrust, ""},
		{"no trust list, though a root is pinned", func(b *seal.Bundle, o *seal.Options) { b.Trust, o.Require = nil, seal.RequireNone }, seal.RuleTrust, ""},
		{"no trust list, though the lockfile names one", func(b *seal.Bundle, o *seal.Options) {
			b.Lockfile, b.Trust, o.Root, o.Require = lockUnder(newest), nil, nil, seal.RequireNone
		}, seal.RuleTrust, ""},
		{"no trust list, and none asked for", func(b *seal.Bundle, o *seal.Options) {
			b.Trust, b.Decisions, o.Root, o.Require = nil, nil, nil, seal.RequireNone
		}, "", ""},
		{"no trust list, and decisions", func(b *seal.Bundle, o *seal.Options) { b.Trust, o.Root, o.Require = nil, nil, seal.RequireNone }, seal.RuleTrust, ""},
		{"a decision without its signature", func(b *seal.Bundle, _ *seal.Options) {
			d, err := trust.ParseDecision(b.Decisions[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			b.Decisions[0].Data = (&trust.Decision{Statement: d.Statement}).Format()
		}, seal.RuleDecision, ""},
		{"no seal", func(b *seal.Bundle, _ *seal.Options) { b.Seal = seal.BundleSeal{Kind: seal.RequireNone} }, seal.RuleMissing, ""},
		{"no seal, and none asked for", func(b *seal.Bundle, o *seal.Options) {
			b.Seal, o.Require = seal.BundleSeal{Kind: seal.RequireNone}, seal.RequireNone
		}, "", ""},
		{"another kind of seal", func(_ *seal.Bundle, o *seal.Options) { o.Require = seal.RequireSigstore }, seal.RuleMissing, ""},
		{"held to a tag", func(_ *seal.Bundle, o *seal.Options) { o.Require = seal.RequireTag }, seal.RuleRequire, ""},
		{"held to nothing said", func(_ *seal.Bundle, o *seal.Options) { o.Require = "" }, "", "dana@example.com"},
		{"sigstore", func(b *seal.Bundle, o *seal.Options) {
			b.Seal = seal.BundleSeal{Kind: seal.RequireSigstore, Data: []byte("good")}
			o.Require, o.Sigstore, o.Policy = seal.RequireSigstore, sigstoreStub("good"), policy
		}, "", "ci@example.com"},
		{"sigstore, forged", func(b *seal.Bundle, o *seal.Options) {
			b.Seal = seal.BundleSeal{Kind: seal.RequireSigstore, Data: []byte("bad")}
			o.Require, o.Sigstore, o.Policy = seal.RequireSigstore, sigstoreStub("good"), policy
		}, seal.RuleContent, ""},
		{"sigstore, no identity", func(b *seal.Bundle, o *seal.Options) {
			b.Seal = seal.BundleSeal{Kind: seal.RequireSigstore, Data: []byte("good")}
			o.Require, o.Sigstore, o.Policy = seal.RequireSigstore, sigstoreStub("good"), policy
			o.Policy.Identity = ""
		}, seal.RulePolicy, ""},
		{"sigstore, no verifier", func(b *seal.Bundle, o *seal.Options) {
			b.Seal = seal.BundleSeal{Kind: seal.RequireSigstore, Data: []byte("good")}
			o.Require = seal.RequireSigstore
		}, seal.RuleRequire, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, opts := newBundle(t, w), seal.Options{Require: seal.RequireSignature, Root: w.root()}
			if tc.change != nil {
				tc.change(b, &opts)
			}
			s, err := seal.Verify(b.Subject(), opts)
			if got := ruleOf(err); got != string(tc.rule) {
				t.Fatalf("rule %q, want %q (%v)", got, tc.rule, err)
			}
			if err == nil && (s.Signer != tc.signer || !bytes.Equal(s.Lockfile, b.Lockfile) || s.File == nil || opts.Require != "" && s.Require != opts.Require || (s.Chain == nil) != (len(b.Trust) == 0)) {
				t.Errorf("sealed %+v", s)
			}
		})
	}
}

func TestVerifyCommit(t *testing.T) {
	w := newWorld(t)
	policy := seal.SigstorePolicy{Identity: "ci@example.com", Issuer: "https://issuer.example", TrustedRoot: []byte("{}"), Now: time.Unix(1764504000, 0)}
	sigstore := seal.Options{Require: seal.RequireSigstore, Root: w.root(), Policy: policy, Sigstore: sigstoreStub("good")}
	none := seal.Options{Require: seal.RequireNone, Root: w.root()}
	check := func(what string, origin seal.Origin, opts seal.Options, rule seal.Rule) {
		t.Helper()
		subject, err := seal.Commit(t.Context(), w.repo, w.head(), origin, "", lockPath)
		if err != nil {
			t.Fatal(err)
		}
		s, err := seal.Verify(subject, opts)
		if ruleOf(err) != string(rule) || err == nil && (s.Commit != w.head() || string(s.Lockfile) != sampleLock) {
			t.Errorf("%s: %+v, %v; want the rule %q", what, s, err, rule)
		}
	}
	check("a branch without a seal", seal.OriginBranch, none, "")
	check("a branch held to sigstore", seal.OriginBranch, sigstore, seal.RuleRequire)
	check("a tag without the file", seal.OriginTag, sigstore, seal.RuleMissing)
	check("a tag held to its own signature", seal.OriginTag, seal.Options{Require: seal.RequireTag, Root: w.root()}, seal.RuleMissing)
	w.write(lockPath+seal.SigstoreSuffix, "good")
	w.commit()
	check("a tag with the file", seal.OriginTag, sigstore, "")
	if err := os.RemoveAll(filepath.Join(w.dir, ".agentgateway")); err != nil {
		t.Fatal(err)
	}
	w.commit()
	check("the trust list removed", seal.OriginBranch, none, seal.RuleTrust)
	check("an unsigned repository", seal.OriginBranch, seal.Options{Require: seal.RequireNone}, "")
	if err := os.Symlink("elsewhere", filepath.Join(w.dir, ".agentgateway")); err != nil {
		t.Fatal(err)
	}
	w.commit()
	check("a symlinked trust folder", seal.OriginBranch, seal.Options{Require: seal.RequireNone}, seal.RuleTrust)
}
