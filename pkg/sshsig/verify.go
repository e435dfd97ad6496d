package sshsig

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"

	"agentgateway-lock/pkg/textcheck"

	"golang.org/x/crypto/ssh"
)

// A Signer holds one key and signs raw bytes with it, an RSA key as
// rsa-sha2-512. Sign may ask a person for a passphrase or a touch; it returns
// early when ctx ends.
type Signer interface {
	PublicKey() ssh.PublicKey
	Sign(ctx context.Context, data []byte) (*ssh.Signature, error)
}

// Sign signs message for namespace ns, hashing with SHA-512. What the signer
// returns is verified before it is handed on, so an agent that answers with
// another key, SHA-1 or an untouched security key is an error here and not
// where the signature is read.
func Sign(ctx context.Context, signer Signer, ns Namespace, message []byte) (*Signature, error) {
	s := &Signature{PublicKey: signer.PublicKey(), Namespace: ns, HashAlgorithm: HashSHA512}
	if err := CheckKey(s.PublicKey); err != nil {
		return nil, fmt.Errorf("cannot sign: %w", err)
	}
	if !ns.Known() {
		return nil, &VerifyError{Rule: RuleNamespace, Fingerprint: s.Fingerprint(), Detail: fmt.Sprintf("namespace %s is unknown", textcheck.Quote(string(ns), textcheck.QuoteLength))}
	}
	value, err := signer.Sign(ctx, s.signedData(message))
	if err != nil {
		return nil, err
	}
	s.Value = padRSA(s.PublicKey, value)
	if err := Verify(message, s, ns); err != nil {
		return nil, fmt.Errorf("the key or agent returned a signature that cannot be used: %w", err)
	}
	return s, nil
}

// padRSA gives an RSA value its full length: some agents drop leading zeros,
// and one signature must have one form.
func padRSA(key ssh.PublicKey, value *ssh.Signature) *ssh.Signature {
	r := rsaKey(key)
	if r == nil || value == nil || len(value.Blob) >= r.Size() {
		return value
	}
	full := make([]byte, r.Size())
	copy(full[len(full)-len(value.Blob):], value.Blob)
	return &ssh.Signature{Format: value.Format, Blob: full, Rest: value.Rest}
}

// Verify proves that the key inside s signed message for namespace ns, and with
// a security key that its user was present. It does not say who owns the key.
// A failure is a *VerifyError, or a *FormatError where s was not made by this
// package.
func Verify(message []byte, s *Signature, ns Namespace) error {
	if err := s.check(); err != nil {
		return err
	}
	if !ns.Known() || s.Namespace != ns {
		return s.fail(RuleNamespace, fmt.Sprintf("made for namespace %s, not for %s", textcheck.Quote(string(s.Namespace), textcheck.QuoteLength), textcheck.Quote(string(ns), textcheck.QuoteLength)))
	}
	if isSecurityKey(s.PublicKey) && s.Value.Rest[0]&flagPresent == 0 {
		return s.fail(RuleUserPresence, "made by a security key that nobody touched; sign again with a key made without no-touch-required")
	}
	if err := s.PublicKey.Verify(s.signedData(message), s.Value); err != nil {
		return s.fail(RuleMismatch, "does not fit this message and key")
	}
	return nil
}

func (s *Signature) fail(rule Rule, detail string) error {
	return &VerifyError{Rule: rule, Fingerprint: s.Fingerprint(), Detail: detail}
}

// signedData is what the key signs: the hash of the message under its purpose.
func (s *Signature) signedData(message []byte) []byte {
	b := make([]byte, 0, 160)
	b = append(b, magic...)
	b = appendString(b, s.Namespace)
	b = appendString(b, "")
	b = appendString(b, s.HashAlgorithm)
	if s.HashAlgorithm == HashSHA256 {
		h := sha256.Sum256(message)
		return appendString(b, h[:])
	}
	h := sha512.Sum512(message)
	return appendString(b, h[:])
}
