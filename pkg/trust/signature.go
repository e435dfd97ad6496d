package trust

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/textcheck"
)

// A Verifier tells which key signed a message. It is safe for concurrent use.
type Verifier interface {
	// Verify proves that blob is a signature over message for the namespace, and
	// returns the key that made it, as "type base64".
	Verify(message, blob []byte, ns sshsig.Namespace) (key string, err error)
}

// SSH is the [Verifier] of SSHSIG signatures.
type SSH struct{}

// Verify implements [Verifier]; the error is one of pkg/sshsig.
func (SSH) Verify(message, blob []byte, ns sshsig.Namespace) (string, error) {
	s, err := sshsig.ParseBlob(blob)
	if err != nil {
		return "", err
	}
	if err := sshsig.Verify(message, s, ns); err != nil {
		return "", err
	}
	return sshsig.FormatPublicKey(s.PublicKey), nil
}

// A SigningKey makes signatures, and is the [Verifier] of its kind of signatures.
type SigningKey interface {
	Verifier
	// Key is the public key as "type base64".
	Key() string
	// Sign returns the blob of a signature over message for the namespace. It may
	// ask a person for a passphrase or a touch.
	Sign(ctx context.Context, ns sshsig.Namespace, message []byte) (blob []byte, err error)
}

// SSHKey is the [SigningKey] that signs with an SSH key.
func SSHKey(signer sshsig.Signer) SigningKey { return sshKey{SSH{}, signer} }

type sshKey struct {
	SSH
	signer sshsig.Signer
}

func (k sshKey) Key() string { return sshsig.FormatPublicKey(k.signer.PublicKey()) }

func (k sshKey) Sign(ctx context.Context, ns sshsig.Namespace, message []byte) ([]byte, error) {
	s, err := sshsig.Sign(ctx, k.signer, ns, message)
	if err != nil {
		return nil, err
	}
	return s.Blob(), nil
}

// verifyAll returns the keys that signed message, each once. It refuses any
// signature that does not verify: one that proves nothing has no place in a record.
func verifyAll(v Verifier, message []byte, signatures [][]byte, ns sshsig.Namespace) ([]string, error) {
	if len(signatures) == 0 {
		return nil, fmt.Errorf("there is no signature")
	}
	keys := make([]string, 0, len(signatures))
	for i, blob := range signatures {
		key, err := v.Verify(message, blob, ns)
		if err != nil {
			return nil, fmt.Errorf("signature %d: %w", i+1, err)
		}
		if slices.Contains(keys, key) {
			return nil, fmt.Errorf("signature %d: the key has signed already; one key signs once", i+1)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// ErrSigned says that a key has signed the record already.
var ErrSigned = errors.New("this key has signed it already")

// addSignature returns the signatures with that of key, sorted.
func addSignature(ctx context.Context, key SigningKey, ns sshsig.Namespace, message []byte, signatures [][]byte) ([][]byte, error) {
	if len(signatures) > 0 {
		keys, err := verifyAll(key, message, signatures, ns)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(keys, key.Key()):
			return nil, ErrSigned
		case len(keys) == MaxSignatures:
			return nil, fmt.Errorf("there are %d signatures already, which is the limit", MaxSignatures)
		}
	}
	blob, err := key.Sign(ctx, ns, message)
	if err != nil {
		return nil, err
	}
	signatures = append(slices.Clone(signatures), blob)
	slices.SortFunc(signatures, bytes.Compare)
	return signatures, nil
}

// mergeSignatures returns the signatures of both, one of each key.
func mergeSignatures(v Verifier, message []byte, ns sshsig.Namespace, a, b [][]byte) ([][]byte, error) {
	merged := [][]byte{}
	seen := map[string]bool{}
	for _, list := range [][][]byte{a, b} {
		keys, err := verifyAll(v, message, list, ns)
		if err != nil {
			return nil, err
		}
		for i, key := range keys {
			if !seen[key] {
				merged = append(merged, list[i])
			}
			seen[key] = true
		}
	}
	slices.SortFunc(merged, bytes.Compare)
	return merged, nil
}

// fingerprint names a key for people.
func fingerprint(key string) string {
	parsed, _, err := sshsig.ParsePublicKey([]byte(key))
	if err != nil {
		return textcheck.Quote(key, textcheck.QuoteLength)
	}
	return sshsig.Fingerprint(parsed)
}
