package canonical

import (
	"bytes"
	"fmt"
)

// Rule names why a text is refused.
type Rule string

// The rules. Shape, DuplicateName and Secret are judged by pkg/surface, which knows
// what a definition is; they are here so that all rules are in one place.
const (
	RuleNumber        Rule = "number"         // the canonical form is another decimal value
	RuleDuplicateKey  Rule = "duplicate-key"  // a member stands twice in one object
	RuleUnicode       Rule = "unicode"        // a lone surrogate or invalid UTF-8
	RuleSyntax        Rule = "syntax"         // not a JSON text (RFC 8259)
	RuleDepth         Rule = "depth"          // nested deeper than the limit
	RuleSize          Rule = "size"           // longer than the limit
	RuleShape         Rule = "shape"          // a wrong type for name, description or schema
	RuleDuplicateName Rule = "duplicate-name" // several definitions bear the name
	RuleSecret        Rule = "secret"         // it holds the value of a variable that the server was given
)

// Rules lists every rule, in the order of the constants.
func Rules() []Rule {
	return []Rule{RuleNumber, RuleDuplicateKey, RuleUnicode, RuleSyntax, RuleDepth, RuleSize, RuleShape, RuleDuplicateName, RuleSecret}
}

// A Refusal says which rule a text breaks and where.
type Refusal struct {
	Rule   Rule
	At     int    // offset in bytes from the start of the text
	Detail string // what was found, without text of the source
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("refused by the rule %s at byte %d: %s", r.Rule, r.At, r.Detail)
}

// Position returns the line and column, both from 1 and the column in bytes, of
// the offset at in src.
func Position(src []byte, at int) (line, column int) {
	at = min(max(at, 0), len(src))
	before := src[:at]
	return 1 + bytes.Count(before, []byte{'\n'}), at - bytes.LastIndexByte(before, '\n')
}
