package textcheck

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// characterNames has names for the characters people meet; the others are
// described by their class.
var characterNames = [...]struct {
	r    rune
	name string
}{
	{0x00, "null"}, {0x07, "bell"}, {0x08, "backspace"}, {'\t', "tab"}, {'\n', "line feed"},
	{'\r', "carriage return"}, {0x1B, "escape"}, {0x7F, "delete"}, {0x9B, "control sequence introducer"},
	{0xA0, "no-break space"}, {0xAD, "soft hyphen"}, {0x34F, "combining grapheme joiner"},
	{0x200B, "zero width space"}, {0x200C, "zero width non-joiner"}, {0x200D, "zero width joiner"},
	{0x200E, "left-to-right mark"}, {0x200F, "right-to-left mark"},
	{0x2028, "line separator"}, {0x2029, "paragraph separator"},
	{0x202A, "left-to-right embedding"}, {0x202B, "right-to-left embedding"},
	{0x202C, "pop directional formatting"},
	{0x202D, "left-to-right override"}, {0x202E, "right-to-left override"},
	{0x2060, "word joiner"}, {0x2066, "left-to-right isolate"}, {0x2067, "right-to-left isolate"},
	{0x2068, "first strong isolate"}, {0x2069, "pop directional isolate"},
	{0x2800, "blank Braille pattern"}, {0x3000, "ideographic space"}, {0x3164, "Hangul filler"},
	{0xFEFF, "byte order mark"},
}

// describe returns a code point with its name or class.
func describe(r rune) string {
	for _, n := range characterNames {
		if n.r == r {
			return fmt.Sprintf("U+%04X %s", r, n.name)
		}
	}
	return fmt.Sprintf("U+%04X %s character", r, classOf(r))
}

// characters is the pass that reports single characters.
func (c *checker) characters() {
	c.begin()
	text := c.text
	for i := 0; i < len(text); {
		if b := text[i]; b >= 0x20 && b < 0x7F || b == '\n' && !c.opts.SingleLine {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !Invisible(r) {
			i += size
			continue
		}
		if n := c.ordinary(i, r, size); n > 0 {
			i += n
			continue
		}
		end := c.sameRule(i, r)
		if !c.add(ruleOf(r), i, runDetail(text[i:end], r)) {
			return
		}
		i = end
	}
}

func ruleOf(r rune) Rule {
	switch classOf(r) {
	case Control:
		return RuleTerminalControl
	case Bidi:
		return RuleBidi
	case Tag:
		return RuleTag
	}
	return RuleInvisible
}

// sameRule returns where the run of characters reported as one ends.
func (c *checker) sameRule(i int, r rune) int {
	rule := ruleOf(r)
	for i < len(c.text) {
		next, size := utf8.DecodeRuneInString(c.text[i:])
		if !Invisible(next) || ruleOf(next) != rule || next == '\n' && !c.opts.SingleLine {
			break
		}
		i += size
	}
	return i
}

func runDetail(run string, first rune) string {
	detail := describe(first)
	if n := utf8.RuneCountInString(run); n > 1 {
		detail = fmt.Sprintf("%d characters from %s on", n, detail)
	}
	if hidden := untag(run); hidden != "" {
		detail += ", which spell " + quote(hidden)
	}
	return detail
}

// untag returns the ASCII text that tag characters spell.
func untag(run string) string {
	var b strings.Builder
	for _, r := range run {
		if r >= 0xE0020 && r < 0xE007F {
			b.WriteByte(byte(r - 0xE0000))
		}
	}
	return b.String()
}

// ordinary returns how many bytes from text[i] on are invisible characters
// that belong there, 0 if the one at i does not.
func (c *checker) ordinary(i int, r rune, size int) int {
	before, after := c.text[:i], c.text[i+size:]
	prev, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	ok := false
	switch class := classOf(r); {
	case r == '\t':
		ok = !c.opts.SingleLine
	case r == '\r':
		ok = !c.opts.SingleLine && next == '\n' && after != ""
	case r == 0xA0, r == 0x202F:
		ok = !c.opts.SingleLine && word(prev) && word(next) && before != "" && after != ""
	case r == 0x3000:
		ok = eastAsian(prev) || eastAsian(next)
	case class == VariationSelector:
		ok = selects(prev, r, after)
	case r == 0x200D && pictograph(next):
		ok = pictograph(lastPictograph(before))
	case r == 0x200C, r == 0x200D:
		ok = joins(prev, next)
	case class == Tag:
		return subdivisionFlag(before, c.text[i:])
	}
	if ok {
		return size
	}
	return 0
}

// word reports whether a no-break space may stand beside r.
func word(r rune) bool { return r != ' ' && r != utf8.RuneError && !Invisible(r) }

// eastAsian reports whether r belongs to text set in ideographic cells.
func eastAsian(r rune) bool {
	return r >= 0x3000 && r <= 0x303F || r >= 0xFF01 && r <= 0xFF60 ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

// selects reports whether a variation selector fits the character before it.
func selects(prev, selector rune, after string) bool {
	switch {
	case selector == 0xFE0E, selector == 0xFE0F:
		return pictograph(prev) || strings.ContainsRune("#*0123456789", prev) && strings.HasPrefix(after, "\u20e3")
	case selector < 0x1810:
		return unicode.Is(unicode.Mongolian, prev)
	}
	return unicode.Is(unicode.Han, prev)
}

// lastPictograph returns the last character of s, but for what may stand
// between a pictograph and a joiner: a skin tone or a variation selector.
func lastPictograph(s string) rune {
	r, size := utf8.DecodeLastRuneInString(s)
	if r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF {
		r, _ = utf8.DecodeLastRuneInString(s[:len(s)-size])
	}
	return r
}

// joins reports whether a joiner or non-joiner between the two is spelling:
// after a virama, or between letters that change their shape when joined.
// These are the contexts A1, A2 and B of Unicode Standard Annex #31, without
// their conditions on the characters further away.
func joins(prev, next rune) bool {
	if virama(prev) {
		return true
	}
	cursive := func(r rune) bool {
		return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko) && unicode.In(r, unicode.L, unicode.M)
	}
	return cursive(prev) && cursive(next)
}

// subdivisionFlag returns the length of the tags that make a black flag the
// one of England, Scotland or Wales, where text begins with them.
func subdivisionFlag(before, text string) int {
	if !strings.HasSuffix(before, "\U0001F3F4") {
		return 0
	}
	for _, flag := range [...]string{
		"\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
		"\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
		"\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
	} {
		if strings.HasPrefix(text, flag) {
			return len(flag)
		}
	}
	return 0
}
