package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// MaxCopySize bounds a readable copy in bytes. A definition of the largest size
// grows with indentation, respelled numbers and escapes.
const MaxCopySize = 48 << 20

// maxIndent is the nesting from which on a copy goes on in one line, which bounds
// how much longer than its definition it is.
const maxIndent = 32

// FormatCopy returns the readable copy of a definition from its canonical form:
// the same JSON text with two-space indent, a newline at the end, and every
// character that a reader cannot see as an escape. What is nested deeper than 32
// levels stands on one line.
func FormatCopy(definition []byte) []byte { return appendCopy(nil, definition) }

func appendCopy(dst, definition []byte) []byte {
	if len(definition) > cap(dst) {
		dst = make([]byte, 0, len(definition)+len(definition)/2)
	}
	return append(appendIndented(dst, definition, 0), '\n')
}

// appendIndented appends JSON text that has no white space with two-space indent
// and escapes for what cannot be seen. It stands at a depth.
func appendIndented(dst, definition []byte, depth int) []byte {
	for i := 0; i < len(definition); i++ {
		switch c := definition[i]; c {
		case '"':
			end := closingQuote(definition, i)
			dst = appendVisible(dst, definition[i:end])
			i = end - 1
		case '{', '[':
			dst = append(dst, c)
			if i+1 < len(definition) && definition[i+1] == c+2 { // the closing bracket
				dst = append(dst, c+2)
				i++
				continue
			}
			depth++
			dst = appendLine(dst, depth)
		case '}', ']':
			depth--
			if depth < maxIndent {
				dst = appendLine(dst, depth)
			}
			dst = append(dst, c)
		case ',':
			dst = appendLine(append(dst, c), depth)
		case ':':
			dst = append(dst, ':', ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// closingQuote returns the offset after the string that starts at start.
func closingQuote(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func appendLine(dst []byte, depth int) []byte {
	if depth > maxIndent {
		return dst
	}
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}

// appendVisible appends the inside of JSON text with escapes for what cannot be
// seen; most texts have nothing of it.
func appendVisible(dst, text []byte) []byte {
	for _, c := range text {
		if c >= 0x7f {
			return textcheck.EscapeUnicode(dst, string(text), 0)
		}
	}
	return append(dst, text...)
}

// ParseCopy returns the canonical form of the definition in a readable copy,
// whatever its indentation and line ends: a checkout may have changed them. The
// error is a [*canonical.Refusal].
func ParseCopy(text []byte) ([]byte, error) {
	enc := canonical.Encoder{MaxSize: MaxCopySize}
	return enc.Append(nil, text)
}

// FormatInstructions returns the readable copy of instructions: the text with
// backslashes doubled, every character but the line feed that a reader cannot see
// as an escape, and one more newline at the end.
func FormatInstructions(text string) []byte {
	return append(textcheck.EscapeUnicode(nil, text, textcheck.KeepLines|textcheck.DoubleBackslash), '\n')
}

// errNoNewline is the error of a copy whose last newline, which is not part of the
// instructions, is missing.
var errNoNewline = errors.New("the newline at the end is missing")

// ParseInstructions returns the text whose readable copy is given, and accepts
// the line ends a checkout may have made. It is strict: each text has one copy.
func ParseInstructions(text []byte) (string, error) {
	if len(text) > MaxCopySize {
		return "", fmt.Errorf("the copy has %d bytes; the limit is %d", len(text), MaxCopySize)
	}
	body, ok := strings.CutSuffix(string(unixLines(text)), "\n")
	if !ok {
		return "", errNoNewline
	}
	return textcheck.UnescapeUnicode(body)
}

// unixLines undoes what a checkout with CRLF line ends does: a copy that was
// written has no carriage return. It returns its argument where there is none.
func unixLines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// readCopy recomputes an item from its copy.
func readCopy(r *surface.Reader, kind surface.Kind, text []byte) (surface.Definition, error) {
	r.MaxSize = MaxCopySize
	return r.Read(kind, text)
}
