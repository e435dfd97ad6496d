package textcheck

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scripts lists the scripts that are asked for first; the others are looked up
// in package unicode.
var scripts = [...]struct {
	name  string
	table *unicode.RangeTable
}{
	{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek},
	{"Han", unicode.Han}, {"Hiragana", unicode.Hiragana}, {"Katakana", unicode.Katakana},
	{"Hangul", unicode.Hangul}, {"Arabic", unicode.Arabic}, {"Hebrew", unicode.Hebrew},
	{"Devanagari", unicode.Devanagari}, {"Thai", unicode.Thai}, {"Bopomofo", unicode.Bopomofo},
}

// scriptOf returns the name of the script of r, and "" for characters that
// every script uses (Common, Inherited) or that have none.
//
// Three Greek letters count as used by every script: in μs, ΔT and Ω they
// stand for the micro, increment and ohm signs, which are Common, and they
// look like no Latin or Cyrillic letter.
func scriptOf(r rune) string {
	switch {
	case r|0x20 >= 'a' && r|0x20 <= 'z':
		return "Latin"
	case r < 0x80, r == 'μ', r == 'Δ', r == 'Ω', unicode.In(r, unicode.Common, unicode.Inherited):
		return ""
	}
	for _, s := range scripts {
		if unicode.Is(s.table, r) {
			return s.name
		}
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// writtenTogether holds the scripts that share words: those of Japanese,
// Chinese and Korean, and with them and with the scripts that put no space
// between words, Latin. It is the level Highly Restrictive of Unicode
// Technical Standard #39, and of Moderately Restrictive as much as text without
// spaces needs.
var writtenTogether = [...][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Hangul"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Thai"}, {"Latin", "Lao"}, {"Latin", "Khmer"}, {"Latin", "Myanmar"}, {"Latin", "Tibetan"},
}

// mixes reports whether the scripts of one word are not written together.
func mixes(found []string) bool {
	if len(found) < 2 {
		return false
	}
	for _, set := range writtenTogether {
		if !slices.ContainsFunc(found, func(s string) bool { return !slices.Contains(set, s) }) {
			return false
		}
	}
	return true
}

// mixedScripts is the pass that reports words of mixed scripts. A character's
// script is its Script property; Script_Extensions, which only widen what
// Common characters go with, are not looked at.
func (c *checker) mixedScripts() {
	c.begin()
	for start := 0; start < len(c.text); {
		end, foreign := wordAt(c.text, start)
		if end == start {
			_, size := utf8.DecodeRuneInString(c.text[start:])
			start += size
			continue
		}
		if foreign >= 0 {
			if found := scriptsOf(c.text[start:end]); mixes(found) {
				slices.Sort(found)
				detail := quote(c.text[start:end]) + " mixes " + strings.Join(found, " and ")
				if !c.add(RuleMixedScript, foreign, detail) {
					return
				}
			}
		}
		start = end
	}
}

// wordAt returns where the word ends that begins at start, start itself where
// none does, and the place of its first character that is not ASCII, -1 without
// one. Letters, marks and digits make a word; ignorable characters between them
// do not part it.
func wordAt(text string, start int) (end, foreign int) {
	end, foreign = start, -1
	for i := start; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case r < utf8.RuneSelf:
			if r|0x20 < 'a' && (r < '0' || r > '9') || r|0x20 > 'z' {
				return end, foreign
			}
			end = i + size
		case ignorable(r):
			if i == start { // or every one of a long run would be searched from
				return end, foreign
			}
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			if foreign < 0 {
				foreign = i
			}
			end = i + size
		default:
			return end, foreign
		}
		i += size
	}
	return end, foreign
}

// scriptsOf returns the different scripts of a word.
func scriptsOf(word string) []string {
	var found []string
	known := func(r rune) bool {
		return slices.ContainsFunc(found, func(s string) bool { return unicode.Is(unicode.Scripts[s], r) })
	}
	for _, r := range word {
		if known(r) {
			continue
		}
		if s := scriptOf(r); s != "" {
			found = append(found, s)
		}
	}
	return found
}
