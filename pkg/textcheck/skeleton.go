package textcheck

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:generate go run ./internal/gen -in $CONFUSABLES -sha256 2b10130885c3370b101c52d7baedc452ab7f0e257b86c1e52ee657ecfc29ce64 -out confusables_table.go

// Skeleton returns the skeleton of s after Unicode Technical Standard #39,
// section 4: canonical decomposition, ignorable characters removed, every
// character replaced by the prototype of those that look like it, canonical
// decomposition again. Two texts look alike where their skeletons are equal.
//
// In one thing it goes further than the standard: about twenty prototypes are
// themselves decomposable into characters that have prototypes (U+01C4 has DŽ,
// whose caron has the breve). Here they are replaced to the end, so that such a
// character and its own prototype look alike.
//
// A skeleton is for comparison only; it is not fit to be shown or stored, and
// may change with [ConfusablesVersion].
func Skeleton(s string) string {
	if ascii(s) {
		return string(appendPrototypes(make([]byte, 0, len(s)+8), s))
	}
	mapped := appendPrototypes(make([]byte, 0, len(s)+16), norm.NFD.String(s))
	return string(norm.NFD.Bytes(mapped))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendPrototypes(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf && !confusableASCII(c) {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		to := s[i : i+size]
		if p := prototype(r); p != "" {
			to = p
		}
		if !ignorable(r) { // also those that the table knows a look-alike of
			dst = append(dst, to...)
		}
		i += size
	}
	return dst
}

func confusableASCII(c byte) bool {
	if c < 64 {
		return confusableASCIILow>>c&1 != 0
	}
	return confusableASCIIHigh>>(c-64)&1 != 0
}

// prototype returns what r is replaced by, or "" for itself.
func prototype(r rune) string {
	lo, hi := 0, len(confusables)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := &confusables[mid]; {
		case r < c.from:
			hi = mid
		case r > c.from:
			lo = mid + 1
		default:
			return confusableTargets[c.at : int(c.at)+int(c.size)]
		}
	}
	return ""
}

// ignorable reports whether r has no appearance of its own in a word.
func ignorable(r rune) bool {
	switch classOf(r) {
	case Bidi, Tag, VariationSelector:
		return true
	case Format, Filler:
		// Arabic number signs and the like are drawn; the blank Braille
		// pattern takes up room.
		return !unicode.In(r, unicode.Prepended_Concatenation_Mark) && r != 0x2800
	}
	return false
}

// fold returns s without case distinctions, by simple case folding.
func fold(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		out = utf8.AppendRune(out, unicode.ToLower(least))
	}
	return string(out)
}
