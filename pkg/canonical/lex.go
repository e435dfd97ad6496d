package canonical

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// plain marks the bytes that stand for themselves inside a JSON string: ASCII
// but for controls, the quote and the backslash.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// Words of eight equal bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// plainRun returns the offset of the first byte at or after pos that does not
// stand for itself inside a string.
//
// It looks at eight bytes at a time. A subtraction borrows from the next byte
// only below a byte that is not plain, so the lowest mark is right.
func plainRun(src []byte, pos int) int {
	for pos+8 <= len(src) {
		w := binary.LittleEndian.Uint64(src[pos:])
		marks := (w | (w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & highs
		if marks != 0 {
			return pos + bits.TrailingZeros64(marks)/8
		}
		pos += 8
	}
	for pos < len(src) && plain[src[pos]] {
		pos++
	}
	return pos
}

func skipSpace(src []byte, pos int) int {
	for pos < len(src) {
		switch src[pos] {
		case ' ', '\t', '\n', '\r':
			pos++
		default:
			return pos
		}
	}
	return pos
}

// stringPiece reads what stands at pos inside a string and is not plain: an
// escape or a character beyond ASCII. It returns the character and the offset
// after it.
func stringPiece(src []byte, pos int) (rune, int, *Refusal) {
	if pos >= len(src) {
		return 0, pos, &Refusal{RuleSyntax, pos, "a string is not closed"}
	}
	switch c := src[pos]; {
	case c == '\\':
		return escape(src, pos)
	case c < 0x20:
		return 0, pos, &Refusal{RuleSyntax, pos, "a control character is not escaped in a string"}
	default:
		r, size := utf8.DecodeRune(src[pos:])
		if r == utf8.RuneError && size <= 1 {
			return 0, pos, &Refusal{RuleUnicode, pos, "invalid UTF-8"}
		}
		return r, pos + size, nil
	}
}

// shortEscapes maps the letter of a two-character escape to its character.
var shortEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func escape(src []byte, pos int) (rune, int, *Refusal) {
	if pos+1 >= len(src) {
		return 0, pos, &Refusal{RuleSyntax, pos, "a string is not closed"}
	}
	if c := shortEscapes[src[pos+1]]; c != 0 {
		return rune(c), pos + 2, nil
	}
	if src[pos+1] != 'u' {
		return 0, pos, &Refusal{RuleSyntax, pos, "an unknown escape"}
	}
	r, ok := hex4(src, pos+2)
	if !ok {
		return 0, pos, &Refusal{RuleSyntax, pos, `\u is not followed by four hexadecimal digits`}
	}
	if !utf16.IsSurrogate(r) {
		return r, pos + 6, nil
	}
	if pos+7 < len(src) && src[pos+6] == '\\' && src[pos+7] == 'u' {
		if low, ok := hex4(src, pos+8); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, pos + 12, nil
			}
		}
	}
	return 0, pos, &Refusal{RuleUnicode, pos, "a lone surrogate"}
}

func hex4(src []byte, pos int) (rune, bool) {
	if pos+4 > len(src) {
		return 0, false
	}
	var r rune
	for _, c := range src[pos : pos+4] {
		v := unhex[c]
		if v == notHex {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}

// number describes the spelling of a JSON number.
type number struct {
	end     int
	integer bool // plain digits: no point, no exponent
}

// scanNumber reads the number that starts at pos (RFC 8259, section 6).
func scanNumber(src []byte, pos int) (number, *Refusal) {
	start := pos
	if pos < len(src) && src[pos] == '-' {
		pos++
	}
	first := pos
	pos = digits(src, pos)
	switch {
	case pos == first:
		return number{}, &Refusal{RuleSyntax, start, "not a JSON value"}
	case src[first] == '0' && pos > first+1:
		return number{}, &Refusal{RuleSyntax, start, "a number starts with a zero"}
	}
	n := number{integer: true}
	if pos < len(src) && src[pos] == '.' {
		n.integer = false
		first = pos + 1
		if pos = digits(src, first); pos == first {
			return number{}, &Refusal{RuleSyntax, start, "no digit after the decimal point"}
		}
	}
	if pos < len(src) && (src[pos] == 'e' || src[pos] == 'E') {
		n.integer = false
		pos++
		if pos < len(src) && (src[pos] == '+' || src[pos] == '-') {
			pos++
		}
		first = pos
		if pos = digits(src, pos); pos == first {
			return number{}, &Refusal{RuleSyntax, start, "no digit in the exponent"}
		}
	}
	n.end = pos
	return n, nil
}

func digits(src []byte, pos int) int {
	for pos < len(src) && src[pos]-'0' <= 9 {
		pos++
	}
	return pos
}

// scanLiteral returns the offset after true, false or null at pos.
func scanLiteral(src []byte, pos int) (int, *Refusal) {
	var want string
	switch src[pos] {
	case 't':
		want = "true"
	case 'f':
		want = "false"
	default:
		want = "null"
	}
	if len(src)-pos >= len(want) && string(src[pos:pos+len(want)]) == want {
		return pos + len(want), nil
	}
	return pos, &Refusal{RuleSyntax, pos, "not a JSON value"}
}
