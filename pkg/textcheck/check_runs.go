package textcheck

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// longLines is the pass that reports long lines.
func (c *checker) longLines() {
	c.begin()
	for start := 0; start < len(c.text); {
		line, _, _ := strings.Cut(c.text[start:], "\n")
		if len(line) > maxLine { // in bytes: most lines need no counting
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\r")); n > maxLine &&
				!c.add(RuleLongLine, start, fmt.Sprintf("a line of %d characters", n)) {
				return
			}
		}
		start += len(line) + 1
	}
}

// lineRuns is the pass that reports runs of line ends. Lines of nothing but
// blanks count as empty.
func (c *checker) lineRuns() {
	c.begin()
	run, runAt := 0, 0
	for start := 0; start <= len(c.text); {
		line, _, found := strings.Cut(c.text[start:], "\n")
		end := start + len(line)
		blank := strings.TrimLeftFunc(line, func(r rune) bool { return r == ' ' || Invisible(r) }) == ""
		if !blank || !found {
			if run >= minLineRun && !c.add(RuleLineRun, runAt, fmt.Sprintf("%d line ends in a row", run)) {
				return
			}
			run = 0
		}
		if run == 0 {
			runAt = end
		}
		run++
		start = end + 1
	}
}

// spaceRuns is the pass that reports runs of spaces.
func (c *checker) spaceRuns() {
	c.begin()
	columns, at := 0, 0
	for i := 0; i < len(c.text); {
		wide, size := spaceAt(c.text[i:])
		if wide > 0 {
			if columns == 0 {
				at = i
			}
			columns += wide
		}
		i += size
		if wide > 0 && i < len(c.text) {
			continue
		}
		if columns >= minSpaceRun && !c.add(RuleSpaceRun, at, fmt.Sprintf("%d columns of space", columns)) {
			return
		}
		columns = 0
	}
}

// spaceAt returns how many columns the space takes that s begins with, 0 for
// another character, and the length of the character in bytes.
func spaceAt(s string) (columns, size int) {
	switch b := s[0]; {
	case b == ' ':
		return 1, 1
	case b == '\t':
		return tabSpaces, 1
	case b < utf8.RuneSelf:
		return 0, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if classOf(r) == Space && r != 0x2028 && r != 0x2029 {
		return 1, size
	}
	return 0, size
}

// comments is the pass that reports HTML comments.
func (c *checker) comments() {
	c.begin()
	const start, end = "<!--", "-->"
	for i := 0; ; i += len(start) {
		next := strings.Index(c.text[i:], start)
		if next < 0 {
			return
		}
		i += next
		detail := "a comment that is not closed"
		if inner, _, closed := strings.Cut(c.text[i+len(start):], end); closed {
			detail = "a comment: " + quote(strings.TrimSpace(inner))
		}
		if !c.add(RuleHTMLComment, i, detail) {
			return
		}
	}
}

// wrapAt is the length from which on a line of encoded text is taken to go on
// in the next one: encoders wrap at 60, 64 or 76 characters.
const wrapAt = 60

// encodedRun is what is known of a run of characters used by encodings.
type encodedRun struct {
	end                      int // where the run ends in the text
	size                     int // its length without line ends
	upper, lower, digits     int
	separators               int // "/", "-" and "_", which paths and names have, too
	hex, hexAt               int // the run of hex digits before end, and its start
	longestHex, longestHexAt int
}

// encoded is the pass that reports long runs of encoded text.
func (c *checker) encoded() {
	c.begin()
	for i := 0; i < len(c.text); {
		if !encodes(c.text[i]) {
			i++
			continue
		}
		run := scanEncoded(c.text, i)
		more := true
		switch {
		case run.longestHex >= minHexRun && varied(c.text[run.longestHexAt:run.longestHexAt+minHexRun]):
			more = c.add(RuleEncodedRun, run.longestHexAt, fmt.Sprintf("%d hex digits in a row", run.longestHex))
		case run.base64():
			more = c.add(RuleEncodedRun, i, fmt.Sprintf("%d characters that look like base64", run.size))
		}
		if !more {
			return
		}
		i = run.end
	}
}

// base64 reports whether the run is long and mixed enough: a path or a name
// has more separators, a word in capitals no lower case.
func (r *encodedRun) base64() bool {
	return r.size >= minBase64Run && r.upper > 0 && r.lower > 0 && r.digits > 0 && r.separators <= r.size/10
}

// varied reports whether s is more than one character over and over.
func varied(s string) bool { return strings.Trim(s, s[:1]) != "" }

func encodes(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '-' || b == '_'
}

func scanEncoded(text string, i int) encodedRun {
	r := encodedRun{hexAt: i}
	lineStart := i
	for i < len(text) {
		b := text[i]
		if !encodes(b) {
			next := i
			if b == '\r' && i+1 < len(text) {
				next++
			}
			if text[next] != '\n' || i-lineStart < wrapAt || next+1 == len(text) || !encodes(text[next+1]) {
				break
			}
			i = next + 1
			lineStart = i
			continue
		}
		switch {
		case b >= '0' && b <= '9':
			r.digits++
		case b >= 'a' && b <= 'z':
			r.lower++
		case b >= 'A' && b <= 'Z':
			r.upper++
		case b != '+':
			r.separators++
		}
		r.size++
		i++
		if !hexDigit(b) {
			r.hex, r.hexAt = 0, i
			continue
		}
		r.hex++
		if r.hex > r.longestHex {
			r.longestHex, r.longestHexAt = r.hex, r.hexAt
		}
	}
	r.end = i
	return r
}
