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
func asFormatError(subject string, src []byte, err error) error {
	var fe *FormatError
	if !errors.As(err, &fe) {
		fe = &FormatError{Rule: RuleForm, Detail: err.Error(), Err: err}
		if refusal, ok := errors.AsType[*canonical.Refusal](err); ok {
			fe.Rule, fe.Detail = Rule(refusal.Rule), refusal.Detail
			fe.Line, fe.Column = canonical.Position(src, refusal.At)
		}
	}
	fe.Subject = subject
	return fe
}
