package sshsig

import (
	"fmt"
	"strconv"
	"strings"
)

// A Rule names what an input broke. The names are stable.
type Rule string

// The rules of blobs, armor, keys, verification and allowed_signers files.
const (
	RuleSize              Rule = "size"               // longer than any valid input
	RuleTruncated         Rule = "truncated"          // ends inside a field
	RuleTrailing          Rule = "trailing"           // bytes after the end
	RuleMagic             Rule = "magic"              // not an SSHSIG blob
	RuleVersion           Rule = "version"            // another format version than 1
	RuleReserved          Rule = "reserved"           // the reserved field is not empty
	RuleHash              Rule = "hash"               // neither sha256 nor sha512
	RuleNamespace         Rule = "namespace"          // empty, unknown, or not the one asked for
	RuleSignatureFormat   Rule = "signature-format"   // the format does not belong to the key
	RuleSignatureEncoding Rule = "signature-encoding" // not the one encoding of these values
	RuleUserPresence      Rule = "user-presence"      // a security key that was not touched
	RuleMismatch          Rule = "mismatch"           // the key did not sign this message

	RuleKey         Rule = "key"         // not a public key, or not its one encoding
	RuleKeyType     Rule = "key-type"    // a type outside the allow list
	RuleKeySize     Rule = "key-size"    // RSA below 3072 bits
	RuleKeyWeak     Rule = "key-weak"    // an Ed25519 point that proves nothing
	RuleCertificate Rule = "certificate" // a certificate where a plain key is needed

	RuleArmorHeader Rule = "armor-header" // does not begin with the header line
	RuleArmorFooter Rule = "armor-footer" // no footer line, or no line end after it
	RuleArmorLine   Rule = "armor-line"   // lines are not 70 characters wide
	RuleLineEnd     Rule = "line-end"     // a carriage return, or no final line feed
	RuleBase64      Rule = "base64"       // not the one base64 text of these bytes

	RuleLine           Rule = "line"            // not a line of the expected shape
	RulePrincipal      Rule = "principal"       // not one literal lower-case name
	RuleOption         Rule = "option"          // an option outside the profile
	RuleTime           Rule = "time"            // valid-after or valid-before
	RuleCertAuthority  Rule = "cert-authority"  // keys that vouch for other keys
	RuleDuplicateKey   Rule = "duplicate-key"   // one key on two lines
	RuleOrder          Rule = "order"           // lines or namespaces out of order
	RuleEncodingMarker Rule = "encoding-marker" // a byte order mark
)

// A FormatError is an input that this package refuses to read: a signature, a
// public key or an allowed_signers file.
type FormatError struct {
	Rule        Rule
	Subject     string // what was read: "signature", "public key", "allowed_signers"
	Line        int    // counted from 1; 0 where the input has no lines
	Fingerprint string // SHA256:… of the key concerned, where there is one
	Detail      string // one sentence for a person; input in it is quoted
}

func (e *FormatError) Error() string {
	var b strings.Builder
	b.WriteString(e.Subject)
	if e.Line > 0 {
		b.WriteString(" line " + strconv.Itoa(e.Line))
	}
	if e.Fingerprint != "" {
		b.WriteString(" (key " + e.Fingerprint + ")")
	}
	return fmt.Sprintf("%s: %s [%s]", b.String(), e.Detail, e.Rule)
}

// A VerifyError is a well-formed signature that does not prove what it was
// asked to prove.
type VerifyError struct {
	Rule        Rule
	Fingerprint string // SHA256:… of the key inside the signature
	Detail      string // one sentence for a person; input in it is quoted
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("signature by key %s: %s [%s]", e.Fingerprint, e.Detail, e.Rule)
}
