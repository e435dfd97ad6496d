package sshsig

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentgateway-lock/pkg/textcheck"

	"golang.org/x/crypto/ssh"
)

const (
	minRSABits      = 3072
	maxKeyBlob      = 4 << 10 // an RSA key of 16384 bits is 2.1 KiB
	maxKeyLine      = 8 << 10
	maxKeyComment   = 1 << 10
	maxApplication  = 255
	ed25519KeyBytes = 32
)

// keyFormats maps each accepted key type to the signature formats it may use.
// The first is the one that Sign asks for.
var keyFormats = map[string][]string{
	ssh.KeyAlgoED25519:    {ssh.KeyAlgoED25519},
	ssh.KeyAlgoSKED25519:  {ssh.KeyAlgoSKED25519},
	ssh.KeyAlgoECDSA256:   {ssh.KeyAlgoECDSA256},
	ssh.KeyAlgoECDSA384:   {ssh.KeyAlgoECDSA384},
	ssh.KeyAlgoECDSA521:   {ssh.KeyAlgoECDSA521},
	ssh.KeyAlgoSKECDSA256: {ssh.KeyAlgoSKECDSA256},
	ssh.KeyAlgoRSA:        {ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
}

// Fingerprint is the SHA256:… form by which people and ssh-keygen name a key.
func Fingerprint(key ssh.PublicKey) string { return ssh.FingerprintSHA256(key) }

// CheckKey tells whether signatures by key are accepted at all. It returns nil
// or a *FormatError with RuleKey, RuleKeyType, RuleKeySize, RuleKeyWeak or
// RuleCertificate.
func CheckKey(key ssh.PublicKey) error {
	if key == nil {
		return keyError(RuleKey, nil, "there is no key")
	}
	if _, is := key.(*ssh.Certificate); is || strings.Contains(key.Type(), "-cert-v") {
		return keyError(RuleCertificate, key, "certificates are not accepted; use the plain key")
	}
	if _, ok := keyFormats[key.Type()]; !ok {
		return keyError(RuleKeyType, key, fmt.Sprintf(
			"keys of type %s are not accepted; use Ed25519, ECDSA, RSA of %d bits or more, or a security key", textcheck.Quote(key.Type(), textcheck.QuoteLength), minRSABits))
	}
	switch key.Type() {
	case ssh.KeyAlgoRSA:
		if bits := rsaBits(key); bits < minRSABits {
			return keyError(RuleKeySize, key, fmt.Sprintf(
				"an RSA key of %d bits is too short; %d are needed (ssh-keygen -t ed25519 makes a better key)", bits, minRSABits))
		}
	case ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519:
		if weakEd25519(ed25519Point(key)) {
			return keyError(RuleKeyWeak, key, "this Ed25519 point verifies signatures that nobody made")
		}
	}
	if isSecurityKey(key) && !printable(application(key), maxApplication) {
		return keyError(RuleKey, key, "the application of the security key is not short printable text")
	}
	return nil
}

func keyError(rule Rule, key ssh.PublicKey, detail string) error {
	e := &FormatError{Rule: rule, Subject: "public key", Detail: detail}
	if key != nil {
		e.Fingerprint = Fingerprint(key)
	}
	return e
}

func isSecurityKey(key ssh.PublicKey) bool { return strings.HasPrefix(key.Type(), "sk-") }

func rsaKey(key ssh.PublicKey) *rsa.PublicKey {
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok {
			return r
		}
	}
	return nil
}

func rsaBits(key ssh.PublicKey) int {
	if r := rsaKey(key); r != nil {
		return r.N.BitLen()
	}
	return 0
}

// ed25519Point is the second string of the key's encoding, for both key types.
func ed25519Point(key ssh.PublicKey) []byte {
	r := reader{rest: key.Marshal()}
	r.str()
	return r.str()
}

// application is the last string of a security key's encoding.
func application(key ssh.PublicKey) string {
	r := reader{rest: key.Marshal()}
	var last []byte
	for len(r.rest) > 0 && !r.short {
		last = r.str()
	}
	return string(last)
}

// smallOrder holds the canonical y coordinates, little-endian, of the eight
// points of small order: under such a key one signature fits every message.
var smallOrder = [...]string{
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	"\xec\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
	"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05",
	"\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a",
}

// weakEd25519 reports a point of small order, or one not written in its one
// way: a y coordinate at or above 2^255-19, which a second spelling of a key
// would need.
func weakEd25519(point []byte) bool {
	if len(point) != ed25519KeyBytes {
		return true
	}
	y := [ed25519KeyBytes]byte(point)
	y[31] &= 0x7f
	for _, small := range smallOrder {
		if string(y[:]) == small {
			return true
		}
	}
	for _, b := range y[1:31] {
		if b != 0xff {
			return false
		}
	}
	return y[31] == 0x7f && y[0] >= 0xed
}

// parseKeyBlob reads the wire form of a key, which must be its one encoding.
func parseKeyBlob(blob []byte) (ssh.PublicKey, error) {
	if len(blob) > maxKeyBlob {
		return nil, keyError(RuleSize, nil, fmt.Sprintf("longer than %d bytes", maxKeyBlob))
	}
	r := reader{rest: blob}
	name := string(r.str())
	if r.short {
		return nil, keyError(RuleTruncated, nil, "the key ends inside its type")
	}
	if strings.Contains(name, "-cert-v") {
		return nil, keyError(RuleCertificate, nil, "certificates are not accepted; use the plain key")
	}
	if _, ok := keyFormats[name]; !ok {
		return nil, keyError(RuleKeyType, nil, fmt.Sprintf("keys of type %s are not accepted", textcheck.Quote(name, textcheck.QuoteLength)))
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return nil, keyError(RuleKey, nil, fmt.Sprintf("not a valid %s key: %s", name, strings.TrimPrefix(err.Error(), "ssh: ")))
	}
	if !bytes.Equal(key.Marshal(), blob) {
		return nil, keyError(RuleKey, key, "the key is not in its one encoding")
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return key, nil
}

// ParsePublicKey reads the one line of a public key file: type, base64 and an
// optional comment, a single space between them, and at most one line end. The
// options of authorized_keys are refused, and so is every key that CheckKey
// refuses. The comment is whatever its author wrote, without control
// characters; it says nothing about the key.
func ParsePublicKey(line []byte) (key ssh.PublicKey, comment string, err error) {
	if len(line) > maxKeyLine {
		return nil, "", keyError(RuleSize, nil, fmt.Sprintf("longer than %d bytes", maxKeyLine))
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
	if strings.HasPrefix(text, "-----BEGIN") {
		return nil, "", keyError(RuleLine, nil, "this is a private key; give the .pub file")
	}
	if strings.ContainsAny(text, "\r\n") {
		return nil, "", keyError(RuleLine, nil, "more than one line")
	}
	name, rest, _ := strings.Cut(text, " ")
	encoded, comment, _ := strings.Cut(rest, " ")
	if key, err = parseKeyFields(name, encoded); err != nil {
		return nil, "", err
	}
	if len(comment) > maxKeyComment || !utf8.ValidString(comment) || strings.ContainsFunc(comment, unicode.IsControl) {
		return nil, "", keyError(RuleLine, key, "the comment is too long or holds control characters")
	}
	return key, comment, nil
}

// parseKeyFields reads the type and base64 words of a key.
func parseKeyFields(name, encoded string) (ssh.PublicKey, error) {
	if strings.Contains(name, "-cert-v") {
		return nil, keyError(RuleCertificate, nil, "certificates are not accepted; use the plain key")
	}
	if _, ok := keyFormats[name]; !ok {
		return nil, keyError(RuleKeyType, nil, fmt.Sprintf("expected a key type such as ssh-ed25519, found %s", textcheck.Quote(name, textcheck.QuoteLength)))
	}
	blob, ok := decodeBase64(encoded)
	if !ok {
		return nil, keyError(RuleBase64, nil, "the key is not strict base64")
	}
	key, err := parseKeyBlob(blob)
	if err != nil {
		return nil, err
	}
	if key.Type() != name {
		return nil, keyError(RuleKey, key, fmt.Sprintf("says %s but holds %s", name, key.Type()))
	}
	return key, nil
}

// FormatPublicKey writes a key as "type base64", without comment or line end.
func FormatPublicKey(key ssh.PublicKey) string {
	return key.Type() + " " + base64.StdEncoding.EncodeToString(key.Marshal())
}

// decodeBase64 decodes text that is the one padded base64 form of its bytes:
// the library alone would skip line ends.
func decodeBase64(s string) ([]byte, bool) {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	return b, err == nil
}

// printable reports text of 1 to most bytes of ASCII that all print.
func printable(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
