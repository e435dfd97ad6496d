package textcheck

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeMode chooses what EscapeUnicode does besides escaping what is
// invisible. Modes are combined with |.
type EscapeMode uint8

const (
	// KeepLines leaves line feeds as they are.
	KeepLines EscapeMode = 1 << iota
	// DoubleBackslash writes a backslash as two, which makes the result
	// reversible by [UnescapeUnicode]. It is not for JSON text, whose
	// backslashes are doubled already.
	DoubleBackslash
)

// EscapeUnicode appends s to dst, with every [Invisible] character as \uXXXX
// in lower-case hex (a surrogate pair above U+FFFF), and returns the result.
//
// With KeepLines alone it turns indented JSON text into a readable copy of the
// same JSON value: inside JSON text an invisible character other than a line
// feed or the indentation can only stand in a string. A byte that is not UTF-8
// is written as \ufffd; callers refuse such text before.
func EscapeUnicode(dst []byte, s string, mode EscapeMode) []byte {
	start := 0 // of what has not been copied yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7F && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' && mode&KeepLines != 0,
			r == '\\' && mode&DoubleBackslash == 0,
			r != '\\' && !Invisible(r) && (r != utf8.RuneError || size > 1):
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch {
		case r == '\\':
			dst = append(dst, `\\`...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = appendUnit(dst, r)
		}
		i += size
		start = i
	}
	return append(dst, s[start:]...)
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', hexLower[u>>12&15], hexLower[u>>8&15], hexLower[u>>4&15], hexLower[u&15])
}

// UnescapeUnicode is the inverse of [EscapeUnicode] with KeepLines and
// DoubleBackslash. It is strict: a text that EscapeUnicode would not have
// written, be it for an unknown escape, an escape of a visible character, a
// raw invisible one or a capital hex digit, is an error that names the line.
// So each text has one escaped form.
func UnescapeUnicode(s string) (string, error) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				return "", escapeError(s, i, "is not UTF-8")
			case r != '\n' && Invisible(r):
				return "", escapeError(s, i, fmt.Sprintf("has U+%04X, which is written as an escape", r))
			}
			b.WriteString(s[i : i+size])
			i += size
			continue
		}
		if strings.HasPrefix(s[i:], `\\`) {
			b.WriteByte('\\')
			i += 2
			continue
		}
		r, size := escapedRune(s[i:])
		if size == 0 || r == '\n' || !Invisible(r) {
			return "", escapeError(s, i, `has a backslash that begins neither "\\" nor the escape of an invisible character`)
		}
		b.WriteRune(r)
		i += size
	}
	return b.String(), nil
}

// escapedRune reads \uXXXX or a pair of them; size is 0 where s has neither.
func escapedRune(s string) (r rune, size int) {
	high, ok := escapedUnit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(high) {
		return high, 6
	}
	low, ok := escapedUnit(s[6:])
	if r = utf16.DecodeRune(high, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

func escapedUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	var u rune
	for i := 2; i < 6; i++ {
		d := strings.IndexByte(hexLower, s[i])
		if d < 0 {
			return 0, false
		}
		u = u<<4 | rune(d)
	}
	return u, true
}

func escapeError(s string, i int, what string) error {
	line := 1 + strings.Count(s[:i], "\n")
	return fmt.Errorf("line %d of the escaped text %s", line, what)
}
