package seal

import (
	"strings"

	"agentgateway-lock/pkg/finding"
)

// A Rule names what a seal breaks. The names are stable.
type Rule string

// The rules of seals.
const (
	RuleMissing   Rule = "missing"   // there is no seal of that name
	RuleTrust     Rule = "trust"     // there is no trust list, or not one that verifies
	RuleDecision  Rule = "decision"  // a decision that does not verify
	RuleLockfile  Rule = "lockfile"  // there is no lockfile, or one that does not parse
	RuleSignature Rule = "signature" // not one well-formed signature that fits
	RuleNamespace Rule = "namespace" // made for another purpose
	RuleSigner    Rule = "signer"    // by a key that is no listed deployer's
	RuleMismatch  Rule = "mismatch"  // made for another lockfile
	RuleStale     Rule = "stale"     // made for another trust version than the newest

	RuleTagName         Rule = "tag-name"          // made under another name
	RuleTagLightweight  Rule = "tag-lightweight"   // not an annotated tag
	RuleTagSymbolic     Rule = "tag-symbolic"      // a reference to another reference
	RuleTagTarget       Rule = "tag-target"        // of something else than a commit
	RuleTagUnsigned     Rule = "tag-unsigned"      // without a signature
	RuleTagTrailingText Rule = "tag-trailing-text" // text after the signature
	RuleTagSecond       Rule = "tag-second"        // a second signature, or a block in the message
	RuleTagMalformed    Rule = "tag-malformed"     // not an object that git writes
	RuleTagMessage      Rule = "tag-message"       // without the two lines of a seal, each once

	RuleBundle     Rule = "bundle"      // not a bundle file
	RuleBundleSize Rule = "bundle-size" // larger than a bundle may be

	RuleRequire  Rule = "require"  // a requirement that does not fit what is sealed
	RulePolicy   Rule = "policy"   // a Sigstore policy that says too little
	RuleRoot     Rule = "root"     // not a trusted root that can be used
	RuleContent  Rule = "content"  // a Sigstore bundle of something else than plain bytes
	RuleLog      Rule = "log"      // no proof of a transparency log of the root
	RuleTime     Rule = "time"     // no trusted time, or one that cannot be
	RuleIdentity Rule = "identity" // another subject than the policy names
	RuleIssuer   Rule = "issuer"   // another issuer than the policy names
)

// codes says under which finding a rule is reported; others are SealInvalid.
var codes = map[Rule]finding.Code{
	RuleMissing:  finding.SealMissing,
	RuleSigner:   finding.SealSigner,
	RuleIdentity: finding.SealSigner,
	RuleIssuer:   finding.SealSigner,
	RuleMismatch: finding.SealMismatch,
	RuleStale:    finding.SealMismatch,
	RuleTagName:  finding.SealMismatch,
}

// An Error is a seal that does not hold. What could not be judged at all (a
// missing git object, a file that cannot be read) is another error, and never a
// pass either.
type Error struct {
	Rule    Rule
	Subject string // what was judged, such as "tag lock/v1" or "agentgateway.lock.sig"
	Detail  string // one sentence; input in it is quoted
	Advice  string // what to do next
	Err     error  // the cause, where there is one
}

// Error implements error; it does not hold the hint.
func (e *Error) Error() string {
	return e.Subject + ": " + e.Detail + " [" + string(e.Rule) + "]"
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *Error) Hint() string { return e.Advice }

// Code is the code of the finding that the error is.
func (e *Error) Code() finding.Code {
	if code, ok := codes[e.Rule]; ok {
		return code
	}
	return finding.SealInvalid
}

// Finding is the error as a finding about the lockfile at path.
func (e *Error) Finding(path string) finding.Finding {
	f := finding.New(e.Code(), finding.Place{File: path}, e.Subject+": "+e.Detail)
	if e.Advice != "" {
		f.Hint = strings.ToUpper(e.Advice[:1]) + e.Advice[1:] + "."
	}
	return f
}
