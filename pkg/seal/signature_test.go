package seal_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
)

// testKey is an ssh key in memory.
type testKey struct{ signer ssh.Signer }

func (k testKey) PublicKey() ssh.PublicKey { return k.signer.PublicKey() }

func (k testKey) Sign(_ context.Context, data []byte) (*ssh.Signature, error) {
	return k.signer.Sign(nil, data)
}

// newKey makes the key of a person, always the same one.
func newKey(t testing.TB, person string) testKey {
	t.Helper()
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, person)
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	return testKey{signer}
}

// listedKeys are deployers: principals by key.
type listedKeys map[string]string

func (l listedKeys) Deployer(key ssh.PublicKey) (string, bool) {
	principal, ok := l[sshsig.FormatPublicKey(key)]
	return principal, ok
}

func list(t testing.TB, people ...string) listedKeys {
	l := listedKeys{}
	for _, p := range people {
		l[sshsig.FormatPublicKey(newKey(t, p).PublicKey())] = p + "@example.com"
	}
	return l
}

// ruleOf is the rule of a seal's error, or what else came.
func ruleOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*seal.Error](err); ok {
		return string(e.Rule)
	}
	return "not a seal.Error: " + err.Error()
}

func TestSignature(t *testing.T) {
	lockfile := []byte("{\n  \"lockfileVersion\": 1\n}\n")
	armored, err := seal.SignBytes(t.Context(), lockfile, newKey(t, "dana"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := seal.VerifyBytes(lockfile, armored, list(t, "erin", "dana"))
	if err != nil || got.Principal != "dana@example.com" || got.Fingerprint != sshsig.Fingerprint(newKey(t, "dana").PublicKey()) {
		t.Errorf("verified %+v, %v", got, err)
	}
	inNamespace := func(ns sshsig.Namespace, message []byte) []byte {
		s, err := sshsig.Sign(t.Context(), newKey(t, "dana"), ns, message)
		if err != nil {
			t.Fatal(err)
		}
		return s.Armor()
	}
	for _, tc := range []struct {
		name      string
		lockfile  []byte
		signature []byte
		people    []string
		rule      seal.Rule
	}{
		{"another key", lockfile, armored, []string{"erin"}, seal.RuleSigner},
		{"nobody listed", lockfile, armored, nil, seal.RuleSigner},
		{"other bytes", append([]byte(" "), lockfile...), armored, []string{"dana"}, seal.RuleMismatch},
		{"a line end more", append([]byte(nil), append(lockfile, '\n')...), armored, []string{"dana"}, seal.RuleMismatch},
		{"a commit's signature", lockfile, inNamespace(sshsig.NamespaceGit, lockfile), []string{"dana"}, seal.RuleNamespace},
		{"a decision's signature", lockfile, inNamespace(sshsig.NamespaceDecision, lockfile), []string{"dana"}, seal.RuleNamespace},
		{"text before", lockfile, append([]byte("x\n"), armored...), []string{"dana"}, seal.RuleSignature},
		{"text after", lockfile, append(append([]byte(nil), armored...), "x\n"...), []string{"dana"}, seal.RuleSignature},
		{"two signatures", lockfile, append(append([]byte(nil), armored...), armored...), []string{"dana"}, seal.RuleSignature},
		{"empty", lockfile, nil, []string{"dana"}, seal.RuleSignature},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := seal.VerifyBytes(tc.lockfile, tc.signature, list(t, tc.people...))
			if got := ruleOf(err); got != string(tc.rule) {
				t.Errorf("rule %q, want %q", got, tc.rule)
			}
		})
	}
}

func TestRequire(t *testing.T) {
	for _, tc := range []struct {
		origin seal.Origin
		text   string
		want   seal.Require // empty for a refusal
	}{
		{seal.OriginTag, "", seal.RequireTag},
		{seal.OriginTag, "tag", seal.RequireTag},
		{seal.OriginTag, "sigstore", seal.RequireSigstore},
		{seal.OriginTag, "none", seal.RequireNone},
		{seal.OriginTag, "signature", ""},
		{seal.OriginBranch, "", ""},
		{seal.OriginBranch, "tag", ""},
		{seal.OriginBranch, "signature", ""},
		{seal.OriginBranch, "sigstore", ""},
		{seal.OriginBranch, "none", seal.RequireNone},
		{seal.OriginBundle, "", seal.RequireSignature},
		{seal.OriginBundle, "signature", seal.RequireSignature},
		{seal.OriginBundle, "sigstore", seal.RequireSigstore},
		{seal.OriginBundle, "none", seal.RequireNone},
		{seal.OriginBundle, "tag", ""},
		{seal.OriginBundle, "None", ""},
		{"elsewhere", "", ""},
	} {
		r, err := seal.ParseRequire(tc.text)
		if err == nil {
			r, err = r.For(tc.origin)
		}
		if r != tc.want || (err == nil) != (tc.want != "") || err != nil && ruleOf(err) != string(seal.RuleRequire) {
			t.Errorf("%s held to %q: %q, %v; want %q", tc.origin, tc.text, r, err, tc.want)
		}
	}
}
