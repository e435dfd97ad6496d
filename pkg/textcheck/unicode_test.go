package textcheck

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// TestInvisible holds the written-out table against the properties it follows
// and against the characters it names beyond them.
func TestInvisible(t *testing.T) {
	blank := map[rune]bool{0x2800: true, 0x13441: true, 0x13442: true, 0x16FE4: true, 0x1D159: true}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
			unicode.Is(unicode.Zs, r) && r != ' ' || blank[r]
		if got := Invisible(r); got != want {
			t.Errorf("Invisible(%U) = %v, want %v", r, got, want)
		}
	}
	for i := 1; i < len(classRanges); i++ {
		if classRanges[i].lo <= classRanges[i-1].hi {
			t.Errorf("range %U is out of order", classRanges[i].lo)
		}
	}
}

func TestClassOf(t *testing.T) {
	tests := map[rune]Class{
		'a': Plain, ' ': Plain, 'é': Plain, '日': Plain, 0x1F600: Plain, 0x301: Plain,
		'\n': Control, 0x1B: Control, 0x7F: Control, 0x85: Control,
		0x200B: Format, 0x200D: Format, 0xFEFF: Format, 0xAD: Format, 0x2065: Format,
		0x202E: Bidi, 0x200F: Bidi, 0x2069: Bidi, 0x61C: Bidi,
		0xE0041: Tag, 0xE0001: Tag, 0xFE0F: VariationSelector, 0xE0100: VariationSelector,
		0xA0: Space, 0x3000: Space, 0x2028: Space,
		0x3164: Filler, 0x115F: Filler, 0xFFA0: Filler, 0x2800: Filler, 0x34F: Filler,
		0xE000: PrivateUse, 0x10FFFD: PrivateUse, 0xFDD0: Noncharacter, 0x1FFFE: Noncharacter,
		0xFFFD: Replacement, 0xD800: Replacement,
		0x378: Plain, 0x10: Control,
	}
	for r, want := range tests {
		if got := classOf(r); got != want {
			t.Errorf("classOf(%#x) = %v, want %v", r, got, want)
		}
	}
	if got := Class(200).String(); got != "unknown" {
		t.Errorf("Class(200) is %q", got)
	}
}

func TestEscapeUnicode(t *testing.T) {
	tests := []struct {
		in   string
		mode EscapeMode
		want string
	}{
		{"plain é 日本 \\n", 0, "plain é 日本 \\n"},
		{"a\nb", 0, `a\u000ab`},
		{"a\nb\r\n", KeepLines, "a\nb\\u000d\n"},
		{`a\b`, DoubleBackslash, `a\\b`},
		{"\u200b\u202e\u00a0", 0, `\u200b\u202e\u00a0`},
		{"\U000e0041", 0, `\udb40\udc41`},
		{"\ufffd", 0, "\ufffd"},
		{"a\xffb", 0, `a\ufffdb`},
	}
	for _, tt := range tests {
		if got := string(EscapeUnicode(nil, tt.in, tt.mode)); got != tt.want {
			t.Errorf("EscapeUnicode(%q, %d) = %q, want %q", tt.in, tt.mode, got, tt.want)
		}
	}
	if got := string(EscapeUnicode([]byte("x"), "\u200b", 0)); got != `x\u200b` {
		t.Errorf("EscapeUnicode does not append: %q", got)
	}
}

// TestEscapeUnicodeJSON holds the claim that a readable copy is the same JSON
// value, with encoding/json as the reader.
func TestEscapeUnicodeJSON(t *testing.T) {
	want := "a\u200b\U000e0041\u2028\"\\\t\n\u00a0é"
	text := "{\n  \"k\": \"a\u200b\U000e0041\u2028\\\"\\\\\\t\\n\u00a0é\"\n}\n"
	copied := EscapeUnicode(nil, text, KeepLines)
	var got struct{ K string }
	if err := json.Unmarshal(copied, &got); err != nil || got.K != want {
		t.Errorf("%s reads as %q, %v; want %q", copied, got.K, err, want)
	}
	if strings.Count(string(copied), "\n") != 3 {
		t.Errorf("lines are lost: %q", copied)
	}
}

func TestUnescapeUnicodeRefuses(t *testing.T) {
	for _, s := range []string{
		`\`, `\n`, `\u`, `\u200`, `\u200B`, `\u0041`, `\u000a`, `\udb40`, `\udb40\u0041`, `\udc41`,
		`\udb40\udc4`, `\ufffd`, `\ud800`, `\u005c`, "\t", "\r\n", "\u200b", "a\xff", `\x41`,
	} {
		if got, err := UnescapeUnicode("first\n" + s); err == nil {
			t.Errorf("UnescapeUnicode(%q) = %q, want an error", s, got)
		} else if !strings.HasPrefix(err.Error(), "line 2 ") {
			t.Errorf("UnescapeUnicode(%q) names another line: %v", s, err)
		}
	}
}

func FuzzUnescapeUnicode(f *testing.F) {
	for _, s := range append([]string{`a\u200b`, `\udb40\udc41\\`}, hostile...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const mode = KeepLines | DoubleBackslash
		escaped := string(EscapeUnicode(nil, s, mode))
		if len(escaped) > 6*len(s) {
			t.Errorf("%q grew to %d bytes", s, len(escaped))
		}
		for _, r := range escaped {
			if r != '\n' && Invisible(r) {
				t.Errorf("%q lets %U through", escaped, r)
			}
		}
		if back, err := UnescapeUnicode(escaped); strings.ToValidUTF8(s, "") == s && (err != nil || back != s) {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
		if plain, err := UnescapeUnicode(s); err == nil && string(EscapeUnicode(nil, plain, mode)) != s {
			t.Errorf("%q and %q are escaped forms of one text", s, EscapeUnicode(nil, plain, mode))
		}
	})
}
