package sigstore

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"time"

	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/textcheck"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// leeway is how far a trusted time may lie ahead of the policy's clock.
const leeway = 10 * time.Minute

const (
	subject     = "the Sigstore seal"
	hintSeal    = "make it again with agentgateway seal --sigstore or cosign sign-blob --bundle"
	hintRoot    = "give the trusted_root.json of the Sigstore instance that signed (--trusted-root)"
	hintSigners = "check who sealed the lockfile, and what --certificate-identity and --certificate-oidc-issuer name"
)

func fail(rule seal.Rule, hint string, err error, format string, args ...any) error {
	return &seal.Error{Rule: rule, Subject: subject, Detail: fmt.Sprintf(format, args...), Advice: hint, Err: err}
}

// A Verifier verifies Sigstore bundles, offline.
type Verifier struct{}

var _ seal.SigstoreVerifier = Verifier{}

// Verify implements [seal.SigstoreVerifier].
func (Verifier) Verify(lockfile, bundleJSON []byte, policy seal.SigstorePolicy) error {
	if err := policy.Check(); err != nil {
		return err
	}
	material, err := readRoot(policy.TrustedRoot)
	if err != nil {
		return err
	}
	b, signer, err := readBundle(bundleJSON, lockfile)
	if err != nil {
		return err
	}
	if err := checkIdentity(signer, &policy); err != nil {
		return err
	}
	return checkSignature(b, lockfile, material, &policy)
}

// readRoot reads a trusted root that can say when something was signed.
func readRoot(text []byte) (*root.TrustedRoot, error) {
	if len(text) > seal.MaxSigstoreSize {
		return nil, fail(seal.RuleRoot, hintRoot, nil, "the trusted root has %d bytes; the limit is %d", len(text), seal.MaxSigstoreSize)
	}
	material, err := root.NewTrustedRootFromJSON(text)
	switch {
	case err != nil:
		return nil, fail(seal.RuleRoot, hintRoot, err, "the trusted root cannot be read: %s", textcheck.Quote(err.Error(), 200))
	case len(material.FulcioCertificateAuthorities()) == 0:
		return nil, fail(seal.RuleRoot, hintRoot, nil, "the trusted root lists no certificate authority")
	case len(material.RekorLogs())+len(material.TimestampingAuthorities()) == 0:
		return nil, fail(seal.RuleRoot, hintRoot, nil, "the trusted root lists neither a transparency log nor a timestamp authority, so nothing can say when the lockfile was sealed")
	}
	return material, nil
}

// readBundle reads a bundle that holds one message signature and a certificate.
func readBundle(text, lockfile []byte) (*bundle.Bundle, *x509.Certificate, error) {
	if len(text) > seal.MaxSigstoreSize {
		return nil, nil, fail(seal.RuleContent, hintSeal, nil, "it has %d bytes; the limit is %d", len(text), seal.MaxSigstoreSize)
	}
	b := &bundle.Bundle{}
	var err error
	if isCosign(text) {
		b, err = readCosign(text, lockfile)
	} else {
		err = b.UnmarshalJSON(text)
	}
	if err != nil {
		return nil, nil, fail(seal.RuleContent, hintSeal, err, "it is not a Sigstore bundle: %s", textcheck.Quote(err.Error(), 200))
	}
	if b.GetMessageSignature() == nil {
		return nil, nil, fail(seal.RuleContent, hintSeal, nil, "it holds a DSSE envelope, not a signature over the lockfile")
	}
	content, err := b.VerificationContent()
	if err != nil {
		return nil, nil, fail(seal.RuleContent, hintSeal, err, "its certificate cannot be read: %s", textcheck.Quote(err.Error(), 200))
	}
	if content.Certificate() == nil {
		return nil, nil, fail(seal.RuleContent, hintSeal, nil, "it was signed with a bare key, which names nobody")
	}
	return b, content.Certificate(), nil
}

// checkIdentity holds the certificate to the policy. It is not proven yet: this
// gives a failure its name, and checkSignature looks again at what was proven.
func checkIdentity(signer *x509.Certificate, policy *seal.SigstorePolicy) error {
	if n := countSubjects(signer); n != 1 {
		return fail(seal.RuleIdentity, hintSigners, nil, "its certificate names %d subjects, and must name one", n)
	}
	summary, err := certificate.SummarizeCertificate(signer)
	switch {
	case err != nil:
		return fail(seal.RuleIdentity, hintSigners, err, "its certificate cannot be read: %s", textcheck.Quote(err.Error(), 200))
	case summary.SubjectAlternativeName != policy.Identity:
		return fail(seal.RuleIdentity, hintSigners, nil, "it was made by %s, not by %s", textcheck.Quote(summary.SubjectAlternativeName, 200), textcheck.Quote(policy.Identity, 200))
	case summary.Issuer != policy.Issuer:
		return fail(seal.RuleIssuer, hintSigners, nil, "its signer was vouched for by %s, not by %s", textcheck.Quote(summary.Issuer, 200), textcheck.Quote(policy.Issuer, 200))
	}
	return nil
}

// countSubjects counts the alternative names of a certificate, of whatever kind:
// where there is one, two readers that look for different kinds find no two.
func countSubjects(c *x509.Certificate) int {
	n := 0
	for _, extension := range c.Extensions {
		if !extension.Id.Equal(cryptoutils.SANOID) {
			continue
		}
		var names []asn1.RawValue
		if rest, err := asn1.Unmarshal(extension.Value, &names); err != nil || len(rest) > 0 {
			return 0
		}
		n += len(names)
	}
	return n
}

// newVerifier asks for all that the root has: a log where it lists one, and a time
// by whoever of it gives one.
func newVerifier(material *root.TrustedRoot) (*verify.Verifier, error) {
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1)}
	if len(material.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if len(material.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	verifier, err := verify.NewVerifier(material, options...)
	if err != nil {
		return nil, fail(seal.RuleRoot, hintRoot, err, "the trusted root cannot be used: %s", textcheck.Quote(err.Error(), 200))
	}
	return verifier, nil
}

// checkSignature proves the signature, the certificate and when it was used.
func checkSignature(b *bundle.Bundle, lockfile []byte, material *root.TrustedRoot, policy *seal.SigstorePolicy) error {
	verifier, err := newVerifier(material)
	if err != nil {
		return err
	}
	identity, err := verify.NewShortCertificateIdentity(policy.Issuer, "", policy.Identity, "")
	if err != nil {
		return fail(seal.RulePolicy, hintSigners, err, "the policy cannot be used: %s", textcheck.Quote(err.Error(), 200))
	}
	result, err := verifier.Verify(b, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(lockfile)), verify.WithCertificateIdentity(identity)))
	if err != nil {
		return explain(verifier, b, err)
	}
	for _, at := range result.VerifiedTimestamps {
		if at.Timestamp.After(policy.Now.Add(leeway)) {
			return fail(seal.RuleTime, "check the clock of this machine", nil, "it was made at %s, which is in the future", at.Timestamp.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// explain names the step that made a verification fail, by making the first steps
// again: the library does not tell them apart.
func explain(verifier *verify.Verifier, b *bundle.Bundle, whole error) error {
	logged, err := verifier.VerifyTransparencyLogInclusion(b)
	if err != nil {
		return fail(seal.RuleLog, hintSeal, err, "no transparency log of the trusted root proves it: %s", textcheck.Quote(err.Error(), 200))
	}
	if _, err := verifier.VerifyObserverTimestamps(b, logged); err != nil {
		return fail(seal.RuleTime, hintSeal, err, "nothing that the trusted root lists says when it was made: %s", textcheck.Quote(err.Error(), 200))
	}
	return fail(seal.RuleSignature, hintSeal, whole, "it does not fit this lockfile and trusted root: %s", textcheck.Quote(whole.Error(), 200))
}
