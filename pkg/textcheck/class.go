package textcheck

// Class says what a character is to somebody who reads it.
type Class uint8

// The classes of characters. The zero value is an ordinary, visible character
// or the space U+0020.
const (
	Plain             Class = iota
	Control                 // C0 and C1 controls and DELETE, line feed and tab included
	Format                  // format characters (zero width, joiners, soft hyphen) and reserved ignorable ones
	Bidi                    // characters that change the direction of text
	Tag                     // tag characters, which mirror ASCII invisibly
	VariationSelector       // variation selectors of all blocks
	Space                   // every space but U+0020, and line and paragraph separators
	Filler                  // characters that are not spaces and are drawn as nothing
	PrivateUse              // private use: no reader can know what is meant
	Noncharacter            // code points that are never a character
	Replacement             // U+FFFD and surrogates, which stand for something that was lost
)

var classNames = [...]string{
	"plain", "control", "format", "bidi", "tag", "variation selector", "space",
	"filler", "private use", "noncharacter", "replacement",
}

// String returns the name of the class in lower case.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

type classRange struct {
	lo, hi rune
	class  Class
}

// classRanges is sorted. It follows the general categories Cc, Cf, Zs, Zl, Zp
// and Co and the properties Default_Ignorable_Code_Point, Variation_Selector
// and Noncharacter_Code_Point of Unicode 15.0, plus a few characters that are
// drawn blank though no property says so (U+2800, U+13441, U+16FE4, U+1D159).
//
// The table is written out, not taken from package unicode, because the
// readable copies in a repository depend on it: another Go release must not
// change their bytes. Blocks reserved for future ignorable characters are
// already in it.
var classRanges = [...]classRange{
	{0x0000, 0x001F, Control},
	{0x007F, 0x009F, Control},
	{0x00A0, 0x00A0, Space},
	{0x00AD, 0x00AD, Format}, // soft hyphen
	{0x034F, 0x034F, Filler}, // combining grapheme joiner
	{0x0600, 0x0605, Format},
	{0x061C, 0x061C, Bidi}, // Arabic letter mark
	{0x06DD, 0x06DD, Format},
	{0x070F, 0x070F, Format},
	{0x0890, 0x0891, Format},
	{0x08E2, 0x08E2, Format},
	{0x115F, 0x1160, Filler}, // Hangul choseong and jungseong fillers
	{0x1680, 0x1680, Space},
	{0x17B4, 0x17B5, Filler}, // Khmer inherent vowels
	{0x180B, 0x180D, VariationSelector},
	{0x180E, 0x180E, Format},
	{0x180F, 0x180F, VariationSelector},
	{0x2000, 0x200A, Space},
	{0x200B, 0x200D, Format}, // zero width space, non-joiner, joiner
	{0x200E, 0x200F, Bidi},
	{0x2028, 0x2029, Space}, // line and paragraph separators
	{0x202A, 0x202E, Bidi},
	{0x202F, 0x202F, Space},
	{0x205F, 0x205F, Space},
	{0x2060, 0x2065, Format},
	{0x2066, 0x2069, Bidi},
	{0x206A, 0x206F, Format},
	{0x2800, 0x2800, Filler}, // blank Braille pattern
	{0x3000, 0x3000, Space},
	{0x3164, 0x3164, Filler}, // Hangul filler
	{0xD800, 0xDFFF, Replacement},
	{0xE000, 0xF8FF, PrivateUse},
	{0xFDD0, 0xFDEF, Noncharacter},
	{0xFE00, 0xFE0F, VariationSelector},
	{0xFEFF, 0xFEFF, Format}, // byte order mark
	{0xFFA0, 0xFFA0, Filler}, // half-width Hangul filler
	{0xFFF0, 0xFFFB, Format},
	{0xFFFD, 0xFFFD, Replacement},
	{0xFFFE, 0xFFFF, Noncharacter},
	{0x110BD, 0x110BD, Format},
	{0x110CD, 0x110CD, Format},
	{0x13430, 0x1343F, Format},
	{0x13441, 0x13442, Filler}, // Egyptian blanks
	{0x16FE4, 0x16FE4, Filler}, // Khitan filler
	{0x1BCA0, 0x1BCA3, Format},
	{0x1D159, 0x1D159, Filler}, // musical null notehead
	{0x1D173, 0x1D17A, Format},
	{0xE0000, 0xE007F, Tag},
	{0xE0080, 0xE00FF, Format},
	{0xE0100, 0xE01EF, VariationSelector},
	{0xE01F0, 0xE0FFF, Format},
	{0xF0000, 0xFFFFD, PrivateUse},
	{0x100000, 0x10FFFD, PrivateUse},
}

// classOf returns the class of a character. What is not assigned is Plain.
func classOf(r rune) Class {
	switch {
	case r < 0x80:
		if r < 0x20 || r == 0x7F {
			return Control
		}
		return Plain
	case r > 0x3164 && r < 0xD800: // most of East Asia
		return Plain
	case r > 0xFFFF && r&0xFFFE == 0xFFFE: // the last two of every plane
		return Noncharacter
	}
	lo, hi := 0, len(classRanges)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := &classRanges[mid]; {
		case r < c.lo:
			hi = mid
		case r > c.hi:
			lo = mid + 1
		default:
			return c.class
		}
	}
	return Plain
}

// Invisible reports whether a reader cannot see the character, or cannot tell
// it from another one drawn the same way: every class but Plain and
// Replacement. Line feed and tab are invisible; the space U+0020 is not.
//
// The set is part of the format of readable copies: it is fixed (see
// [EscapeUnicode]) and does not depend on the Go release.
func Invisible(r rune) bool {
	if r >= 0x20 && r < 0x7F {
		return false
	}
	c := classOf(r)
	return c != Plain && c != Replacement
}
