package sigstore_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/seal/sigstore"
)

const lockfile = "{\n  \"lockfileVersion\": 1\n}\n"

func ruleOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*seal.Error](err); ok {
		return string(e.Rule)
	}
	return "not a seal.Error: " + err.Error()
}

func (in *instance) policy(p parts) seal.SigstorePolicy {
	return seal.SigstorePolicy{Identity: identity, Issuer: issuer, TrustedRoot: in.trustedRoot(p), Now: time.Now()}
}

func (in *instance) sign(p parts) []byte {
	in.t.Helper()
	text, err := in.signer(p).Sign(in.t.Context(), []byte(lockfile), token(identity))
	if err != nil {
		in.t.Fatal(err)
	}
	return text
}

func TestSignAndVerify(t *testing.T) {
	in := newInstance(t)
	for _, p := range []parts{{log: true}, {stamps: true}, {log: true, stamps: true}} {
		text := in.sign(p)
		if err := (sigstore.Verifier{}).Verify([]byte(lockfile), text, in.policy(p)); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// edit changes a JSON text through the value that it is.
func edit(t *testing.T, text []byte, change func(map[string]any)) []byte {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	change(value)
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// at returns the object at a path of members and, for lists, the first element.
func at(value any, path ...string) map[string]any {
	for _, step := range path {
		value = value.(map[string]any)[step]
		if list, ok := value.([]any); ok {
			value = list[0]
		}
	}
	return value.(map[string]any)
}

// TestAttack28 is the row of that number in the table of attacks, and its
// neighbours.
func TestAttack28(t *testing.T) {
	in := newInstance(t)
	both := parts{log: true, stamps: true}
	good := in.sign(both)
	stranger := newInstance(t)
	drop := func(path ...string) []byte {
		return edit(t, good, func(b map[string]any) { delete(at(b, path[:len(path)-1]...), path[len(path)-1]) })
	}
	set := func(value any, path ...string) []byte {
		return edit(t, good, func(b map[string]any) { at(b, path[:len(path)-1]...)[path[len(path)-1]] = value })
	}
	foreign := stranger.sign(both)
	other, err := in.signer(both).Sign(t.Context(), []byte("another lockfile"), token(identity))
	if err != nil {
		t.Fatal(err)
	}
	part := func(text []byte, path ...string) any {
		var value map[string]any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		return at(value, path[:len(path)-1]...)[path[len(path)-1]]
	}
	signature := map[string]any{"sig": base64.StdEncoding.EncodeToString([]byte("sig"))}
	envelope := func(signatures ...any) []byte {
		return edit(t, good, func(b map[string]any) {
			delete(b, "messageSignature")
			b["dsseEnvelope"] = map[string]any{"payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": signatures}
		})
	}

	for _, tc := range []struct {
		name   string
		bundle []byte
		policy func(*seal.SigstorePolicy)
		rule   seal.Rule
	}{
		{"as it was made", good, nil, ""},
		{"another identity", good, func(p *seal.SigstorePolicy) { p.Identity = "evil@example.com" }, seal.RuleIdentity},
		{"an identity that the other begins with", good, func(p *seal.SigstorePolicy) { p.Identity = identity[:len(identity)-1] }, seal.RuleIdentity},
		{"an identity with another case", good, func(p *seal.SigstorePolicy) { p.Identity = "Release@example.com" }, seal.RuleIdentity},
		{"a pattern as identity", good, func(p *seal.SigstorePolicy) { p.Identity = ".*" }, seal.RuleIdentity},
		{"another issuer", good, func(p *seal.SigstorePolicy) { p.Issuer = "https://other.example" }, seal.RuleIssuer},
		{"a pattern as issuer", good, func(p *seal.SigstorePolicy) { p.Issuer = ".*" }, seal.RuleIssuer},
		{"no identity", good, func(p *seal.SigstorePolicy) { p.Identity = "" }, seal.RulePolicy},
		{"no issuer", good, func(p *seal.SigstorePolicy) { p.Issuer = "" }, seal.RulePolicy},
		{"no root", good, func(p *seal.SigstorePolicy) { p.TrustedRoot = nil }, seal.RulePolicy},
		{"no clock", good, func(p *seal.SigstorePolicy) { p.Now = time.Time{} }, seal.RulePolicy},
		{"a root that is none", good, func(p *seal.SigstorePolicy) { p.TrustedRoot = []byte("{}") }, seal.RuleRoot},
		{"a root without a clock", good, func(p *seal.SigstorePolicy) { p.TrustedRoot = in.trustedRoot(parts{}) }, seal.RuleRoot},
		{"another root", good, func(p *seal.SigstorePolicy) { p.TrustedRoot = stranger.trustedRoot(both) }, seal.RuleLog},
		{"a root of another authority", good, func(p *seal.SigstorePolicy) {
			p.TrustedRoot = edit(t, in.trustedRoot(both), func(r map[string]any) {
				r["certificateAuthorities"] = part(stranger.trustedRoot(both), "certificateAuthorities")
			})
		}, seal.RuleSignature},
		{"a root that asks for a certificate log", good, func(p *seal.SigstorePolicy) {
			p.TrustedRoot = in.trustedRoot(parts{log: true, stamps: true, certificates: true})
		}, seal.RuleSignature},
		{"made in the future", good, func(p *seal.SigstorePolicy) { p.Now = time.Now().Add(-time.Hour) }, seal.RuleTime},
		{"of another instance", foreign, nil, seal.RuleLog},
		{"of other bytes", other, nil, seal.RuleSignature},
		{"the digest of these bytes, the signature of others", edit(t, other, func(b map[string]any) {
			at(b, "messageSignature")["messageDigest"] = part(good, "messageSignature", "messageDigest")
		}), nil, seal.RuleLog},
		{"the log entry of another signature", set(part(other, "verificationMaterial", "tlogEntries"), "verificationMaterial", "tlogEntries"), nil, seal.RuleLog},
		{"without a log entry", drop("verificationMaterial", "tlogEntries"), nil, seal.RuleLog},
		{"without a promise or a timestamp", edit(t, good, func(b map[string]any) {
			delete(at(b, "verificationMaterial", "tlogEntries"), "inclusionPromise")
			delete(at(b, "verificationMaterial"), "timestampVerificationData")
		}), nil, seal.RuleTime},
		{"without a proof of inclusion", drop("verificationMaterial", "tlogEntries", "inclusionProof"), nil, seal.RuleContent},
		{"another time in the log entry", edit(t, good, func(b map[string]any) {
			at(b, "verificationMaterial", "tlogEntries")["integratedTime"] = "1700000000"
		}), nil, seal.RuleLog},
		{"the timestamp of another signature alone", edit(t, good, func(b map[string]any) {
			delete(at(b, "verificationMaterial"), "tlogEntries")
			at(b, "verificationMaterial")["timestampVerificationData"] = part(other, "verificationMaterial", "timestampVerificationData")
		}), func(p *seal.SigstorePolicy) { p.TrustedRoot = in.trustedRoot(parts{stamps: true}) }, seal.RuleTime},
		{"no timestamp where the root has nothing else", drop("verificationMaterial", "timestampVerificationData"),
			func(p *seal.SigstorePolicy) { p.TrustedRoot = in.trustedRoot(parts{stamps: true}) }, seal.RuleTime},
		{"the certificate of another seal", set(part(other, "verificationMaterial", "certificate"), "verificationMaterial", "certificate"), nil, seal.RuleLog},
		{"a bare key", edit(t, good, func(b map[string]any) {
			delete(at(b, "verificationMaterial"), "certificate")
			at(b, "verificationMaterial")["publicKey"] = map[string]any{"hint": "x"}
		}), nil, seal.RuleContent},
		{"one DSSE signature", envelope(signature), nil, seal.RuleContent},
		{"two DSSE signatures", envelope(signature, signature), nil, seal.RuleContent},
		{"no content", drop("messageSignature"), nil, seal.RuleContent},
		{"an unknown member", set(1, "extra"), nil, seal.RuleContent},
		{"another format version", set("application/vnd.dev.sigstore.bundle.v0.9+json", "mediaType"), nil, seal.RuleContent},
		{"an SSH signature", []byte("-----BEGIN SSH SIGNATURE-----\n"), nil, seal.RuleContent},
		{"nothing", nil, nil, seal.RuleContent},
		{"too long", bytes.Repeat([]byte(" "), seal.MaxSigstoreSize+1), nil, seal.RuleContent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			policy := in.policy(both)
			if tc.policy != nil {
				tc.policy(&policy)
			}
			err := (sigstore.Verifier{}).Verify([]byte(lockfile), tc.bundle, policy)
			if got := ruleOf(err); got != string(tc.rule) {
				t.Errorf("rule %q, want %q (%v)", got, tc.rule, err)
			}
			if e, ok := errors.AsType[*seal.Error](err); ok && (e.Advice == "" || e.Detail == "") {
				t.Errorf("not for people: %+v", e)
			}
		})
	}
	if err := (sigstore.Verifier{}).Verify([]byte(lockfile+" "), good, in.policy(both)); ruleOf(err) != string(seal.RuleSignature) {
		t.Errorf("other bytes under a good bundle: %v", err)
	}
}
