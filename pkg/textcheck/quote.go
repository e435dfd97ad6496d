package textcheck

import (
	"strconv"
	"unicode/utf8"
)

// QuoteLength is how much of a text of somebody else a message repeats, in bytes,
// where it has no reason for more or less.
const QuoteLength = 60

// Quote makes text from an input safe to print in a message, and short: quoted as
// in Go, of most bytes or fewer.
func Quote[T ~string | ~[]byte](text T, most int) string {
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strconv.Quote(string(text[:most])) + "…"
}
