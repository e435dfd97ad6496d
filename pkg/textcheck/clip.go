package textcheck

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Clip returns s where it has at most n characters, and else its first n-1
// characters with an ellipsis. n below 1 gives the empty string. A byte that is
// not UTF-8 counts as a character.
//
// The cut is never inside an escape that this package wrote (\u{200B}, \n, \*,
// &amp;, %0A), so an escaped text may be clipped, too, except for a code span
// or block, whose closing fence would be lost. Clipping before escaping is
// better: it shows n characters of the text.
func Clip(s string, n int) string {
	if n < 1 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	cut, count := 0, 0 // cut: the bytes that n-1 characters take
	for i := range s {
		if count == n-1 {
			cut = i
		}
		if count++; count > n {
			return s[:beforeEscape(s, cut)] + ellipsis
		}
	}
	return s
}

// maxEscape is the length of the longest escape, \u{10FFFF}.
const maxEscape = len(`\u{10FFFF}`)

// beforeEscape moves cut to the start of the escape it is inside of.
func beforeEscape(s string, cut int) int {
	// Whether a backslash begins an escape depends on those before it, so
	// start where a run of them starts.
	i := max(0, cut-2*maxEscape)
	for i > 0 && s[i-1] == '\\' {
		i--
	}
	for i < cut {
		size := escapeLen(s[i:])
		if size > 1 && i+size > cut {
			return i
		}
		i += size
	}
	return cut
}

// escapeLen returns the length of the escape s begins with, or 1.
func escapeLen(s string) int {
	switch s[0] {
	case '\\':
		if strings.HasPrefix(s, `\u{`) {
			if end := strings.IndexByte(s[:min(len(s), maxEscape)], '}'); end > 0 {
				return end + 1
			}
		}
		if strings.HasPrefix(s, `\x`) && len(s) >= 4 {
			return 4
		}
		if len(s) > 1 && s[1] < utf8.RuneSelf {
			return 2
		}
	case '&':
		if end := strings.IndexByte(s[:min(len(s), maxEscape)], ';'); end > 0 {
			return end + 1
		}
	case '%':
		if len(s) >= 3 && hexDigit(s[1]) && hexDigit(s[2]) {
			return 3
		}
	}
	return 1
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
