package textcheck

import (
	"strings"
	"unicode/utf8"
)

// MaxGrowth bounds the length of every escaped text in bytes: at most
// MaxGrowth times the input, besides the fences of code spans and blocks.
const MaxGrowth = 10

const (
	hexUpper = "0123456789ABCDEF"
	hexLower = "0123456789abcdef"
)

// medium says how one output medium is escaped.
type medium struct {
	// ascii holds what replaces an ASCII character. Where it is empty a control
	// is shown by its code point and another character stands for itself.
	ascii [utf8.RuneSelf]string
	// context marks ASCII characters whose replacement depends on what stands
	// around them; replace is asked for those, and its empty answer means what
	// ascii says.
	context [utf8.RuneSelf]bool
	replace func(s string, i int) string
}

// newASCII returns the replacements of a medium: pairs of a character and its
// replacement, over the short forms of line ends and tab.
func newASCII(pairs ...string) (table [utf8.RuneSelf]string) {
	table['\n'], table['\r'], table['\t'] = `\n`, `\r`, `\t`
	for i := 0; i < len(pairs); i += 2 {
		table[pairs[i][0]] = pairs[i+1]
	}
	return table
}

func marks(chars string) (set [utf8.RuneSelf]bool) {
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return set
}

// The media. They are built once and never written again.
var (
	terminalMedium = &medium{
		ascii:   newASCII(),
		context: marks(":#"),
		replace: func(s string, i int) string {
			return defuse(s, i, `\u{003A}`, `\u{0023}`)
		},
	}
	linesMedium = &medium{
		ascii:   newASCII("\n", "\n"),
		context: marks(":#"),
		replace: terminalMedium.replace,
	}
	htmlMedium = &medium{
		ascii:   newASCII("\n", "\n", "&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "`", "&#96;"),
		context: marks(":#"),
		replace: func(s string, i int) string {
			return defuse(s, i, "&#58;", "&#35;")
		},
	}
	dataMedium = &medium{
		ascii:   newASCII("%", "%25", "\r", "%0D", "\n", "%0A"),
		context: marks("#"),
		replace: terminalMedium.replace,
	}
	propertyMedium = &medium{
		ascii:   newASCII("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C"),
		context: marks("#"),
		replace: terminalMedium.replace,
	}
)

// defuse returns what replaces the colon or hash at s[i] where CI runners
// would read a command: "::" as the first thing in a line, and "##[" or
// "##vso[" anywhere. Otherwise it returns "".
func defuse(s string, i int, colon, hash string) string {
	switch s[i] {
	case ':':
		if strings.HasPrefix(s[i:], "::") && lineStart(s, i) {
			return colon
		}
	case '#':
		if rest := s[i:]; strings.HasPrefix(rest, "##[") || len(rest) >= 6 && strings.EqualFold(rest[:6], "##vso[") {
			return hash
		}
	}
	return ""
}

// lineStart reports whether only blanks stand between the start of a line and
// s[i]. What an earlier call of append has made visible is not blank any more.
func lineStart(s string, i int) bool {
	for i--; i >= 0 && s[i] == ' '; i-- {
	}
	return i < 0 || s[i] == '\n'
}

// escape returns s itself where nothing is to be replaced.
func (m *medium) escape(s string) string {
	i := m.plainPrefix(s)
	if i == len(s) {
		return s
	}
	dst := make([]byte, 0, len(s)+len(s)/8+16)
	return string(m.append(append(dst, s[:i]...), s, i))
}

func (m *medium) plainPrefix(s string) int {
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c >= 0x7F || m.ascii[c] != "" || m.context[c] {
			return i
		}
	}
	return len(s)
}

// append appends s[i:], escaped; s is whole for the sake of context.
func (m *medium) append(dst []byte, s string, i int) []byte {
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			out := ""
			if m.context[c] {
				out = m.replace(s, i)
			}
			if out == "" {
				out = m.ascii[c]
			}
			switch {
			case out != "":
				dst = append(dst, out...)
			case c < 0x20 || c == 0x7F:
				dst = appendCodePoint(dst, rune(c))
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, '\\', 'x', hexUpper[c>>4], hexUpper[c&15])
		case Invisible(r):
			dst = appendCodePoint(dst, r)
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst
}

// appendCodePoint appends \u{XXXX}, four to six digits.
func appendCodePoint(dst []byte, r rune) []byte {
	dst = append(dst, `\u{`...)
	digits := 4
	for digits < 6 && r>>(4*digits) != 0 {
		digits++
	}
	for i := digits - 1; i >= 0; i-- {
		dst = append(dst, hexUpper[r>>(4*i)&15])
	}
	return append(dst, '}')
}

// Terminal returns s as one line that controls no terminal: line ends and tabs
// are written \n, \r and \t, every other invisible character as \u{XXXX}, a
// byte that is not UTF-8 as \xXX. Backslashes stay single, so the result shows
// the text and does not encode it.
func Terminal(s string) string { return terminalMedium.escape(s) }

// TerminalLines is [Terminal] for text of several lines: line feeds are kept.
// A carriage return is still shown as \r.
func TerminalLines(s string) string { return linesMedium.escape(s) }

// HTML returns s for HTML text or for an attribute value in quotes. Line feeds
// are kept; other invisible characters are shown as by [Terminal].
func HTML(s string) string { return htmlMedium.escape(s) }

// WorkflowData returns s for the message of a GitHub workflow command, as in
// "::error::" + WorkflowData(s). Line ends arrive as such in the annotation;
// other invisible characters are shown as by [Terminal].
func WorkflowData(s string) string { return dataMedium.escape(s) }

// WorkflowProperty returns s for a property of a GitHub workflow command, such
// as file or title, where a colon and a comma have a meaning as well.
func WorkflowProperty(s string) string { return propertyMedium.escape(s) }
