package seal

import "time"

// MaxSigstoreSize bounds a Sigstore bundle and a trusted root in bytes.
const MaxSigstoreSize = 4 << 20

// A SigstorePolicy says which Sigstore bundle is a seal.
type SigstorePolicy struct {
	Identity    string    // the one subject of the certificate, compared exactly
	Issuer      string    // the OpenID Connect issuer that vouched for it, compared exactly
	TrustedRoot []byte    // the trusted root as JSON; nothing is fetched
	Now         time.Time // a signature made more than ten minutes after is refused
}

// Check returns an [*Error] with [RulePolicy] for a policy that leaves something
// open.
func (p *SigstorePolicy) Check() error {
	for _, m := range []struct {
		missing    bool
		what, flag string
	}{
		{p.Identity == "", "the identity of the signer", "--certificate-identity"},
		{p.Issuer == "", "the issuer of the identity", "--certificate-oidc-issuer"},
		{len(p.TrustedRoot) == 0, "a trusted root", "--trusted-root"},
		{p.Now.IsZero(), "the time", "a clock"},
	} {
		if m.missing {
			return &Error{RulePolicy, "the Sigstore policy", m.what + " is missing", "give it with " + m.flag, nil}
		}
	}
	return nil
}

// A SigstoreVerifier verifies Sigstore bundles. pkg/seal/sigstore has one; it is
// reached through this interface so that only a program that needs the Sigstore
// libraries links them.
type SigstoreVerifier interface {
	// Verify proves that bundle is a signature over the bytes of the lockfile that
	// the policy accepts. A bundle that is not is an [*Error].
	Verify(lockfile, bundle []byte, policy SigstorePolicy) error
}
