package seal

import (
	"context"
	"errors"
	"fmt"

	"agentgateway-lock/pkg/sshsig"

	"golang.org/x/crypto/ssh"
)

// The files of detached seals stand beside the lockfile under its name and one
// of these.
const (
	SignatureSuffix = ".sig"           // made by Sign
	SigstoreSuffix  = ".sigstore.json" // made by pkg/seal/sigstore
)

// MaxSignatureSize bounds a detached signature in bytes.
const MaxSignatureSize = 64 << 10

// Suffix is what follows the lockfile's name in that of a detached seal of the kind;
// empty for what is no detached seal.
func (r Require) Suffix() string {
	switch r {
	case RequireSignature:
		return SignatureSuffix
	case RequireSigstore:
		return SigstoreSuffix
	}
	return ""
}

// limit bounds a detached seal of the kind.
func (r Require) limit() int64 {
	if r == RequireSignature {
		return MaxSignatureSize
	}
	return MaxSigstoreSize
}

// Deployers tells who may seal.
type Deployers interface {
	// Deployer returns the principal that a key is listed under as a deployer.
	Deployer(key ssh.PublicKey) (principal string, ok bool)
}

// A Signature is a seal by an SSH key that was verified.
type Signature struct {
	Principal   string // of the deployer, as the trust list names it
	Fingerprint string // of the key: SHA256:…
}

const (
	hintSealAgain = "have a deployer seal the lockfile again with agentgateway seal"
	hintDeployer  = "list the key with agentgateway trust add --role deployer, or have a listed deployer seal the lockfile"
)

func signBytes(ctx context.Context, lockfile []byte, signer sshsig.Signer) ([]byte, error) {
	s, err := sshsig.Sign(ctx, signer, sshsig.NamespaceLock, lockfile)
	if err != nil {
		return nil, fmt.Errorf("sealing the lockfile: %w", err)
	}
	return s.Armor(), nil
}

// verify holds an armored signature over message to one namespace and to the
// listed deployers.
func verify(subject string, message, armored []byte, ns sshsig.Namespace, deployers Deployers) (*Signature, error) {
	s, err := sshsig.ParseArmor(armored)
	if err != nil {
		return nil, &Error{RuleSignature, subject, "it is not one SSH signature: " + err.Error(), hintSealAgain, err}
	}
	if err := sshsig.Verify(message, s, ns); err != nil {
		return nil, unverified(subject, s, ns, err)
	}
	return listed(subject, s.PublicKey, deployers)
}

func unverified(subject string, s *sshsig.Signature, ns sshsig.Namespace, err error) *Error {
	ve, ok := errors.AsType[*sshsig.VerifyError](err)
	switch {
	case ok && ve.Rule == sshsig.RuleNamespace:
		return &Error{RuleNamespace, subject, fmt.Sprintf("it was made for the namespace %q, and a seal of this kind needs %q", string(s.Namespace), string(ns)), hintSealAgain, err}
	case ok && ve.Rule == sshsig.RuleMismatch:
		return &Error{RuleMismatch, subject, "the key " + s.Fingerprint() + " signed other bytes than these", "check that the file is the one that was sealed, or " + hintSealAgain, err}
	}
	return &Error{RuleSignature, subject, "it cannot be accepted: " + err.Error(), hintSealAgain, err}
}

func listed(subject string, key ssh.PublicKey, deployers Deployers) (*Signature, error) {
	fingerprint := sshsig.Fingerprint(key)
	principal, ok := deployers.Deployer(key)
	if !ok {
		return nil, &Error{RuleSigner, subject, "the key " + fingerprint + " is not a listed deployer's", hintDeployer, nil}
	}
	return &Signature{principal, fingerprint}, nil
}
