package textcheck

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Rule names what is wrong at a place in a text. The names are stable: they
// stand in reports and signed reviews.
type Rule string

// The rules. Each says what a person may overlook or be shown wrongly.
const (
	// RuleInvisible: characters that cannot be seen. Not reported where they
	// are ordinary: in emoji sequences, joiners that Arabic or Indic spelling
	// needs, one variation selector after an ideograph, one no-break space
	// between two words, ideographic spaces beside East Asian text.
	RuleInvisible Rule = "invisible"
	// RuleBidi: characters that change the direction of text.
	RuleBidi Rule = "bidi"
	// RuleTag: tag characters, which spell ASCII invisibly. Not reported in
	// the three subdivision flags that emoji have.
	RuleTag Rule = "tag"
	// RuleTerminalControl: control characters other than tab and line ends; a
	// carriage return that is not part of a line end; in text of a single
	// line, tabs and line ends, too.
	RuleTerminalControl Rule = "terminal-control"
	// RuleSpaceRun: 20 or more spaces in a row; a tab counts as four.
	RuleSpaceRun Rule = "space-run"
	// RuleLineRun: five or more line ends with nothing but blanks between.
	RuleLineRun Rule = "line-run"
	// RuleLongLine: a line of more than 500 characters; advice, since many honest
	// descriptions have one.
	RuleLongLine Rule = "long-line"
	// RuleHTMLComment: the start of an HTML comment, which rendering hides.
	RuleHTMLComment Rule = "html-comment"
	// RuleEncodedRun: text that looks encoded, so that a model may decode what
	// a person does not. 120 or more characters of base64 (longer than a
	// SHA-512 digest or an Ed25519 key with its header, shorter than a
	// sentence or two), or 80 or more hex digits (longer than a SHA-256
	// digest, which documentation does quote).
	RuleEncodedRun Rule = "encoded-run"
	// RuleMixedScript: a word of letters from scripts that are not written
	// together, such as Latin and Cyrillic.
	RuleMixedScript Rule = "mixed-script"
	// RuleConfusable: a word that looks like another one; see [ConfusableText].
	RuleConfusable Rule = "confusable"
)

// Advice reports whether a rule alone is advice to look closely, and no reason to
// refuse a text.
func (r Rule) Advice() bool { return r == RuleLongLine }

// The thresholds of the rules that count.
const (
	minSpaceRun  = 20
	minLineRun   = 5
	maxLine      = 500
	minBase64Run = 120
	minHexRun    = 80
	tabSpaces    = 4
)

// DefaultLimit is how many problems are reported of one text if nothing else
// is asked for.
const DefaultLimit = 100

// Options says how a text is to be judged. The zero value is right for
// descriptions and instructions.
type Options struct {
	// SingleLine is for names and titles, where a line end, a tab and a
	// no-break space have no place.
	SingleLine bool
	// Limit is the greatest number of problems to report, the first ones in
	// the text; 0 stands for DefaultLimit.
	Limit int
}

// Problem is a place in a text that a person should look at.
type Problem struct {
	Rule   Rule
	Offset int // in bytes, of where it begins
	Line   int // from 1; line feeds separate lines
	Column int // from 1, in characters
	// CodePoint is the character reported, or the first one of a run.
	CodePoint rune
	// Detail says in a few words what is there. What it quotes of the text is
	// escaped by Terminal and clipped.
	Detail string
}

// Check returns what a person who reads the text would not see or could be
// misled by, in the order of the text. Neighbouring characters of one rule are
// one problem. Text that is not UTF-8 is accepted; its bad bytes are visible
// replacements and no problem.
func Check(text string, opts Options) []Problem {
	c := newChecker(text, opts)
	c.characters()
	c.spaceRuns()
	c.lineRuns()
	c.longLines()
	c.comments()
	c.encoded()
	c.mixedScripts()
	return c.result()
}

// checker collects problems; each pass adds its own in the order of the text.
type checker struct {
	text     string
	opts     Options
	problems []Problem
	pass     int // how many problems the passes before this one added
}

func newChecker(text string, opts Options) *checker {
	if opts.Limit <= 0 {
		opts.Limit = DefaultLimit
	}
	return &checker{text: text, opts: opts}
}

// add reports a problem. It returns false where the pass has found as many as
// may be reported: later ones of the same pass could not be among the first.
func (c *checker) add(rule Rule, offset int, detail string) bool {
	r, _ := utf8.DecodeRuneInString(c.text[offset:])
	c.problems = append(c.problems, Problem{Rule: rule, Offset: offset, CodePoint: r, Detail: detail})
	return len(c.problems)-c.pass < c.opts.Limit
}

// begin starts a pass.
func (c *checker) begin() { c.pass = len(c.problems) }

// result sorts the problems and gives them their lines and columns.
func (c *checker) result() []Problem {
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
	if len(c.problems) > c.opts.Limit {
		c.problems = c.problems[:c.opts.Limit]
	}
	line, column, at := 1, 1, 0
	for i := range c.problems {
		p := &c.problems[i]
		passed := c.text[at:p.Offset]
		if last := strings.LastIndexByte(passed, '\n'); last >= 0 {
			line += strings.Count(passed, "\n")
			column, passed = 1, passed[last+1:]
		}
		column += utf8.RuneCountInString(passed)
		at = p.Offset
		p.Line, p.Column = line, column
	}
	return c.problems
}

// quote returns text for a Detail.
func quote(s string) string { return `"` + Terminal(Clip(s, 60)) + `"` }
