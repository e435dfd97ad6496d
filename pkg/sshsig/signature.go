package sshsig

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"

	"agentgateway-lock/pkg/textcheck"

	"golang.org/x/crypto/ssh"
)

// A Namespace says what a signature is for; one made for one purpose proves
// nothing for another.
type Namespace string

// The namespaces in use. NamespaceGit is git's own, for commits and tags alone:
// a commit signature is never a decision.
const (
	NamespaceDecision Namespace = "agentgateway-decision@v1"
	NamespaceTrust    Namespace = "agentgateway-trust@v1"
	NamespaceLock     Namespace = "agentgateway-lock@v1"
	NamespaceGit      Namespace = "git"
)

// Known reports whether n is one of the namespaces above.
func (n Namespace) Known() bool {
	switch n {
	case NamespaceDecision, NamespaceTrust, NamespaceLock, NamespaceGit:
		return true
	}
	return false
}

// The hash algorithms of a signature.
const (
	HashSHA256 = "sha256"
	HashSHA512 = "sha512"
)

const (
	magic        = "SSHSIG"
	version      = 1
	maxBlob      = 8 << 10 // RSA of 16384 bits, key and signature, is 4.2 KiB
	maxNamespace = 255
	flagPresent  = 0x01 // the user touched the security key
	skExtra      = 5    // flags and counter
)

// A Signature is one SSHSIG signature. Those that ParseBlob, ParseArmor and
// Sign return are well formed; their fields are not to be changed.
type Signature struct {
	PublicKey     ssh.PublicKey
	Namespace     Namespace
	HashAlgorithm string         // HashSHA256 or HashSHA512
	Value         *ssh.Signature // Rest holds flags and counter of a security key
}

// Fingerprint names the key that the signature says made it.
func (s *Signature) Fingerprint() string { return Fingerprint(s.PublicKey) }

// Blob is the binary form of the signature, which ParseBlob reads.
func (s *Signature) Blob() []byte {
	b := make([]byte, 0, 512)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint32(b, version)
	b = appendString(b, s.PublicKey.Marshal())
	b = appendString(b, s.Namespace)
	b = appendString(b, "")
	b = appendString(b, s.HashAlgorithm)
	return appendString(b, ssh.Marshal(s.Value))
}

// ParseBlob reads the binary form of a signature. It accepts exactly one form
// of each: the returned signature's Blob equals blob. Other input is a
// *FormatError. The namespace may be any; Verify compares it.
func ParseBlob(blob []byte) (*Signature, error) {
	if len(blob) > maxBlob {
		return nil, sigError(RuleSize, fmt.Sprintf("longer than %d bytes", maxBlob))
	}
	if !bytes.HasPrefix(blob, []byte(magic)) {
		return nil, sigError(RuleMagic, "does not begin with SSHSIG")
	}
	r := reader{rest: blob[len(magic):]}
	if v := r.uint32(); !r.short && v != version {
		return nil, sigError(RuleVersion, fmt.Sprintf("version %d is unknown; only %d is read", v, version))
	}
	keyBlob, namespace, reserved, hash, value := r.str(), r.str(), r.str(), r.str(), r.str()
	switch {
	case r.short:
		return nil, sigError(RuleTruncated, "ends inside a field")
	case len(r.rest) > 0:
		return nil, sigError(RuleTrailing, fmt.Sprintf("%d bytes after the end", len(r.rest)))
	case len(reserved) > 0:
		return nil, sigError(RuleReserved, "the reserved field is not empty")
	}
	key, err := parseKeyBlob(keyBlob)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	in := reader{rest: value}
	format, sigBytes := in.str(), in.str()
	if in.short {
		return nil, sigError(RuleTruncated, "the inner signature ends inside a field")
	}
	s := &Signature{
		PublicKey:     key,
		Namespace:     Namespace(namespace),
		HashAlgorithm: string(hash),
		Value:         &ssh.Signature{Format: string(format), Blob: bytes.Clone(sigBytes)},
	}
	if len(in.rest) > 0 {
		s.Value.Rest = bytes.Clone(in.rest)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// check holds every rule that does not need the message, for signatures that
// were read and for those that a signer returned.
func (s *Signature) check() error {
	if s == nil || s.PublicKey == nil || s.Value == nil {
		return sigError(RuleTruncated, "the signature is incomplete")
	}
	if err := CheckKey(s.PublicKey); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	if !printable(string(s.Namespace), maxNamespace) {
		return s.error(RuleNamespace, "the namespace is empty, too long or not printable")
	}
	if s.HashAlgorithm != HashSHA256 && s.HashAlgorithm != HashSHA512 {
		return s.error(RuleHash, fmt.Sprintf("hash algorithm %s is not accepted; sha256 and sha512 are", textcheck.Quote(s.HashAlgorithm, textcheck.QuoteLength)))
	}
	if formats := keyFormats[s.PublicKey.Type()]; !slices.Contains(formats, s.Value.Format) {
		return s.error(RuleSignatureFormat, fmt.Sprintf("format %s does not belong to a key of type %s", textcheck.Quote(s.Value.Format, textcheck.QuoteLength), s.PublicKey.Type()))
	}
	return s.checkValue()
}

// checkValue holds the encoding of the signature's numbers.
func (s *Signature) checkValue() error {
	extra := 0
	if isSecurityKey(s.PublicKey) {
		extra = skExtra
	}
	switch n := len(s.Value.Rest); {
	case n < extra:
		return s.error(RuleTruncated, "flags or counter of the security key are missing")
	case n > extra:
		return s.error(RuleTrailing, fmt.Sprintf("%d bytes after the inner signature", n-extra))
	}
	var ok bool
	switch s.PublicKey.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519:
		ok = len(s.Value.Blob) == 64
	case ssh.KeyAlgoRSA:
		ok = len(s.Value.Blob) == rsaKey(s.PublicKey).Size()
	default:
		ok = minimalECDSA(s.Value.Blob)
	}
	if !ok {
		return s.error(RuleSignatureEncoding, "the signature value is not in the one encoding of its key type")
	}
	return nil
}

// minimalECDSA reports two numbers in their shortest form and nothing else.
func minimalECDSA(blob []byte) bool {
	var rs struct{ R, S *big.Int }
	return ssh.Unmarshal(blob, &rs) == nil && bytes.Equal(ssh.Marshal(&rs), blob)
}

func (s *Signature) error(rule Rule, detail string) error {
	return &FormatError{Rule: rule, Subject: "signature", Fingerprint: s.Fingerprint(), Detail: detail}
}

func sigError(rule Rule, detail string) error {
	return &FormatError{Rule: rule, Subject: "signature", Detail: detail}
}

// reader takes RFC 4251 fields off the front of rest. Once input ran out, short
// stays set and every further field is empty.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) uint32() uint32 {
	if r.short || len(r.rest) < 4 {
		r.short, r.rest = true, nil
		return 0
	}
	v := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return v
}

func (r *reader) str() []byte {
	n := r.uint32()
	if r.short || uint64(n) > uint64(len(r.rest)) {
		r.short, r.rest = true, nil
		return nil
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func appendString[T ~string | ~[]byte](b []byte, s T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}
