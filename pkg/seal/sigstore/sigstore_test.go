package sigstore_test

import (
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
