package trust

import (
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
)

// A Rule names what a trust version, a decision or a chain breaks. The names are
// stable.
type Rule string

// The rules of the formats. What is not JSON at all is named by the rules of
// pkg/canonical.
const (
	RuleSize      Rule = "size"      // longer, or with more entries, than the limit
	RuleMember    Rule = "member"    // a member that the format does not have
	RuleMissing   Rule = "missing"   // a member that must be there is not
	RuleType      Rule = "type"      // the wrong type of record, or another format version
	RuleValue     Rule = "value"     // a value outside what the member can hold
	RuleOrder     Rule = "order"     // a list that is not sorted, or holds something twice
	RuleForm      Rule = "form"      // not the one form of what it says
	RulePrincipal Rule = "principal" // not one literal name
	RulePerson    Rule = "person"    // not a plain name, or one that looks like another
	RuleEmail     Rule = "email"     // not an email in its one spelling
	RuleKey       Rule = "key"       // a key that is not accepted
	RuleDuplicate Rule = "duplicate" // a key that is listed twice
	RuleRole      Rule = "role"      // a role that does not exist
	RulePattern   Rule = "pattern"   // a server pattern that can match nothing
	RuleThreshold Rule = "threshold" // below 1, or above the persons who can meet it
	RuleAction    Rule = "action"    // an action that does not exist, or not for this kind
	RuleSignature Rule = "signature" // a signature that does not verify
)

// A FormatError says what is wrong with the text of a trust version or a decision.
type FormatError struct {
	Subject string // "trust version" or "decision"
	Rule    Rule
	Line    int    // from 1; 0 where it is not about a place
	Column  int    // from 1, in bytes
	Path    string // the member, such as signed.signers[1].keys
	Detail  string // one sentence; input in it is quoted
	Err     error  // the cause, where there is one
}

// Error implements error.
func (e *FormatError) Error() string {
	where := e.Subject
	if e.Path != "" {
		where += " " + e.Path
	}
	if e.Line > 0 {
		where += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	return fmt.Sprintf("%s: %s [%s]", where, e.Detail, e.Rule)
}

// Unwrap returns Err.
func (e *FormatError) Unwrap() error { return e.Err }

// asFormatError places an error of reading: one of this package gets the line of
// where the reader stood, one of pkg/canonical its own.
func asFormatError(subject string, src []byte, err error) *FormatError {
	fe, ok := errors.AsType[*FormatError](err)
	if !ok {
		fe = &FormatError{Rule: RuleForm, Detail: err.Error(), Err: err}
		if refusal, ok := errors.AsType[*canonical.Refusal](err); ok {
			fe.Rule, fe.Detail = Rule(refusal.Rule), refusal.Detail
			fe.Line, fe.Column = canonical.Position(src, refusal.At)
		}
	}
	fe.Subject = subject
	return fe
}

// The rules of a chain of trust versions; a version in it can also break those of
// its format.
const (
	RuleNoList     Rule = "missing-list"  // a trust root is given, and there is no trust version
	RuleRoot       Rule = "root"          // the chain in force does not hold the trust root
	RuleLength     Rule = "length"        // more versions than the limit
	RuleNumber     Rule = "number"        // the number in a file is not that of its name
	RuleSkipped    Rule = "skipped"       // a number is missing
	RuleForked     Rule = "forked"        // a number stands twice, or a version follows another than the one before it
	RuleRepository Rule = "repository"    // a version of another repository
	RuleUnlisted   Rule = "unlisted"      // signed by a key that is no admin's
	RuleUnsigned   Rule = "unsigned"      // version 1 lacks signatures
	RuleAfter      Rule = "after-waiting" // a version stands after one that waits for signatures
	RuleStray      Rule = "stray"         // a file in the folder that is no trust version, by its name
	RuleLink       Rule = "link"          // a link or a special file in place of a file or folder
	RuleTwin       Rule = "twin"          // a folder whose name differs from one of ours by case alone
	RuleLost       Rule = "lost"          // the version that the lockfile names is not in force
)

// A ChainError says why trust versions are not a chain.
type ChainError struct {
	Rule    Rule
	Version int    // the number of the version; 0 where it is about the whole chain
	Detail  string // one sentence; input in it is quoted
	Advice  string // what to do next
	Err     error  // the [*FormatError] behind it, or nil
}

// Error implements error; it does not hold the hint.
func (e *ChainError) Error() string {
	where := "trust list"
	if e.Version > 0 {
		where = fmt.Sprintf("trust version %d", e.Version)
	}
	return fmt.Sprintf("%s: %s [%s]", where, e.Detail, e.Rule)
}

// Unwrap returns Err.
func (e *ChainError) Unwrap() error { return e.Err }

// Hint says what to do next.
func (e *ChainError) Hint() string { return e.Advice }
