package textcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// found is a problem as the tables below write it.
func found(p Problem) string {
	return fmt.Sprintf("%s %d:%d U+%04X", p.Rule, p.Line, p.Column, p.CodePoint)
}

func TestCheck(t *testing.T) {
	hex64 := strings.Repeat("0123456789abcdef", 4)
	base64 := strings.Repeat("QWxsIHlvdXIgYmFzZTY0", 6) // 120 characters
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"plain", "Reads a file.\n\nArguments:\r\n\tpath: the path – naïve, 日本語, Ελληνικά, русский.\n", nil},
		{"empty", "", nil},
		{"not UTF-8", "a\xffb", nil},

		{"zero width space", "ab\u200bc", []string{"invisible 1:3 U+200B"}},
		{"byte order mark", "\ufeffab", []string{"invisible 1:1 U+FEFF"}},
		{"run is one problem", "é\n\u200b\u200b\u2060x\u200b", []string{"invisible 2:1 U+200B", "invisible 2:5 U+200B"}},
		{"hangul filler", "a\u3164b", []string{"invisible 1:2 U+3164"}},
		{"soft hyphen", "soft\u00adhyphen", []string{"invisible 1:5 U+00AD"}},
		{"private use", "a\ue000", []string{"invisible 1:2 U+E000"}},
		{"line separator", "a\u2028b", []string{"invisible 1:2 U+2028"}},

		{"override", "a\u202egnp.exe\u202c", []string{"bidi 1:2 U+202E", "bidi 1:10 U+202C"}},
		{"hidden tags", "hi\U000e0069\U000e0067 there", []string{"tag 1:3 U+E0069"}},
		{"flag of Scotland", "\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F ok", nil},
		{"flag with a message", "\U0001F3F4\U000E0067\U000E0062\U000E0068\U000E0069\U000E007F", []string{"tag 1:2 U+E0067"}},
		{"tags after a flag", "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F\U000E0068", []string{"tag 1:8 U+E0068"}},

		{"escape sequence", "\x1b[2Jx", []string{"terminal-control 1:1 U+001B"}},
		{"C1", "a\u009bb", []string{"terminal-control 1:2 U+009B"}},
		{"carriage return alone", "safe\revil", []string{"terminal-control 1:5 U+000D"}},
		{"carriage return at the end", "safe\r", []string{"terminal-control 1:5 U+000D"}},

		{"emoji with selector", "ok ✔️ ❤️ 1️⃣ ©️", nil},
		{"emoji joined", "👩‍💻 👩🏽‍🚀 👨‍👩‍👧 🏳️‍🌈 ❤️‍🔥", nil},
		{"selector after a letter", "a\ufe0f", []string{"invisible 1:2 U+FE0F"}},
		{"selectors as a code", "❤\ufe0f\ufe01\ufe02", []string{"invisible 1:3 U+FE01"}},
		{"selector after a digit", "1\ufe0f", []string{"invisible 1:2 U+FE0F"}},
		{"joiner after emoji alone", "👩\u200d ", []string{"invisible 1:2 U+200D"}},
		{"joiner between letters", "a\u200db", []string{"invisible 1:2 U+200D"}},
		{"ideograph variant", "葛\U000e0100飾", nil},
		{"ideograph with two", "葛\U000e0100\U000e0101", []string{"invisible 1:3 U+E0101"}},
		{"Persian non-joiner", "می\u200cخواهم", nil},
		{"Hindi joiner", "क्\u200dष", nil},
		{"French spaces", "«\u00a0oui\u00a0» 10\u202f000", nil},
		{"two no-break spaces", "a\u00a0\u00a0b", []string{"invisible 1:2 U+00A0"}},
		{"no-break space at an end", "a\u00a0", []string{"invisible 1:2 U+00A0"}},
		{"ideographic space", "\u3000\u3000日本\u3000語", nil},
		{"ideographic space in Latin", "a\u3000b", []string{"invisible 1:2 U+3000"}},

		{"19 spaces", "a" + strings.Repeat(" ", 19) + "b", nil},
		{"20 spaces", "a" + strings.Repeat(" ", 20) + "b", []string{"space-run 1:2 U+0020"}},
		{"20 spaces at the end", "a\n" + strings.Repeat(" ", 20), []string{"space-run 2:1 U+0020"}},
		{"five tabs", "a\t\t\t\t\tb", []string{"space-run 1:2 U+0009"}},
		{"four line ends", "a\n\n\n\nb", nil},
		{"five line ends", "a\n\n\n\n\nb", []string{"line-run 1:2 U+000A"}},
		{"five with blanks", "a\r\n \r\n\t\r\n\r\n\r\nb", []string{"line-run 1:3 U+000A"}},
		{"five at the end", "a\nb\n\n\n\n\n", []string{"line-run 2:2 U+000A"}},
		{"500 characters", strings.Repeat("é ", 250) + "\nx", nil},
		{"501 characters", "x\n" + strings.Repeat("é ", 250) + "é", []string{"long-line 2:1 U+00E9"}},
		{"comment", "a <!-- b --> c", []string{"html-comment 1:3 U+003C"}},
		{"comment left open", "a <!-- b", []string{"html-comment 1:3 U+003C"}},

		{"SHA-256", "digest " + hex64, nil},
		{"hex", "run " + hex64 + hex64[:16] + ".", []string{"encoded-run 1:5 U+0030"}},
		{"zeros", strings.Repeat("0", 100), nil},
		{"base64", "run " + base64 + "==", []string{"encoded-run 1:5 U+0051"}},
		{"base64 in lines", base64[:60] + "\n" + base64[60:] + "\n", []string{"encoded-run 1:1 U+0051"}},
		{"base64, 119", base64[:119], nil},
		{"path", strings.Repeat("Users/me2/", 13), nil},
		{"rule", strings.Repeat("-", 130), nil},

		{"Cyrillic in Latin", "pay with раypal", []string{"mixed-script 1:10 U+0440"}},
		{"Greek in Latin", "gοοgle", []string{"mixed-script 1:2 U+03BF"}},
		{"Latin in Cyrillic", "Cбербанк", []string{"mixed-script 1:2 U+0431"}},
		{"hidden by a zero width space", "p\u200bау", []string{"invisible 1:2 U+200B", "mixed-script 1:3 U+0430"}},
		{"one script a word", "привет hello γειά", nil},
		{"hyphen parts words", "USB-порт SQL-запрос", nil},
		{"Japanese", "APIを呼ぶコーヒー", nil},
		{"Korean", "API를 漢字와", nil},
		{"Bopomofo", "漢ㄅ字A", nil},
		{"Hangul with kana", "한カ", []string{"mixed-script 1:1 U+D55C"}},
		{"Thai", "เรียกAPIได้", nil},
		{"units", "5 μs ΔT kΩ µm", nil},
		{"marks and digits", "cafe\u0301 x2 ²", nil},
		{"Cherokee", "ᎪbᎪ", []string{"mixed-script 1:1 U+13AA"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range Check(tt.text, Options{}) {
				got = append(got, found(p))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Check(%q): (-want +got)\n%s", tt.text, diff)
			}
		})
	}
}

func TestCheckSingleLine(t *testing.T) {
	tests := map[string][]string{
		"read_file":    nil,
		"Datei öffnen": nil,
		"a\nb":         {"terminal-control 1:2 U+000A"},
		"a\r\nb":       {"terminal-control 1:2 U+000D"},
		"a\tb":         {"terminal-control 1:2 U+0009"},
		"a\u00a0b":     {"invisible 1:2 U+00A0"},
		"run 👩‍💻":      nil,
	}
	for text, want := range tests {
		var got []string
		for _, p := range Check(text, Options{SingleLine: true}) {
			got = append(got, found(p))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Check(%q): (-want +got)\n%s", text, diff)
		}
	}
}

func TestCheckDetail(t *testing.T) {
	tests := map[string]string{
		"a\u200bb":                "U+200B zero width space",
		"a\u206ab":                "U+206A format character",
		"a\u200b\u2060\u200bb":    "3 characters from U+200B zero width space on",
		"\U000e0068\U000e0069":    `2 characters from U+E0068 tag character on, which spell "hi"`,
		"<!-- do \x1b[1m it -->":  `a comment: "do \u{001B}[1m it"`,
		"<!-- do":                 "a comment that is not closed",
		"раypal":                  `"раypal" mixes Cyrillic and Latin`,
		strings.Repeat(" ", 30):   "30 columns of space",
		strings.Repeat("\n", 6):   "6 line ends in a row",
		strings.Repeat("a ", 300): "a line of 600 characters",
	}
	for text, want := range tests {
		problems := Check(text, Options{})
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Detail == want }) {
			t.Errorf("Check(%q) = %v, want the detail %q", text, problems, want)
		}
	}
}

func TestCheckLimit(t *testing.T) {
	// The comments come last, though their pass is a later one.
	text := strings.Repeat("a\u200b", 300) + strings.Repeat("<!--", 300)
	if got := len(Check(text, Options{})); got != DefaultLimit {
		t.Errorf("%d problems, want %d", got, DefaultLimit)
	}
	got := Check("<!-- "+text, Options{Limit: 3})
	want := []string{"html-comment 1:1 U+003C", "long-line 1:1 U+003C", "invisible 1:7 U+200B"}
	var have []string
	for _, p := range got {
		have = append(have, found(p))
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, true)
	}
	f.Add(strings.Join(hostile, "\n"), false)
	f.Fuzz(func(t *testing.T, s string, single bool) {
		last := 0
		for _, p := range Check(s, Options{SingleLine: single, Limit: 20}) {
			checkProblem(t, s, p)
			if p.Offset < last {
				t.Errorf("Check(%q): %+v is out of order", s, p)
			}
			last = p.Offset
		}
	})
}

func checkProblem(t *testing.T, s string, p Problem) {
	t.Helper()
	if p.Offset < 0 || p.Offset >= len(s) {
		t.Fatalf("%+v is not in %q", p, s)
	}
	before := s[:p.Offset]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	r, _ := utf8.DecodeRuneInString(s[p.Offset:])
	if p.Line != line || p.Column != column || p.CodePoint != r || p.Rule == "" {
		t.Errorf("%q: %+v, want %d:%d %U", s, p, line, column, r)
	}
	if p.Detail == "" || p.Detail != Terminal(p.Detail) || len(p.Detail) > 1500 {
		t.Errorf("%q: detail %q", s, p.Detail)
	}
}

// prose is 10 KB of English text in lines of ordinary length.
var prose = strings.Repeat("Reads the complete contents of a file from the file system and returns them as text.\n", 121)[:10240]

func BenchmarkCheck10KB(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	b.ReportAllocs()
	for b.Loop() {
		if problems := Check(prose, Options{}); problems != nil {
			b.Fatal(problems)
		}
	}
}

func BenchmarkTerminal10KB(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	b.ReportAllocs()
	for b.Loop() {
		TerminalLines(prose)
	}
}

func BenchmarkEscapeUnicode10KB(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = EscapeUnicode(dst[:0], prose, KeepLines)
	}
}

// TestHostileSize feeds long texts made to be searched again and again. It ends
// soon where the work is linear, and takes minutes where it is quadratic.
func TestHostileSize(t *testing.T) {
	const size = 1 << 17
	for _, unit := range []string{
		"\ufe0f", "\u200b", "a\ufe0f", "\U000e0041", "<!--", "::", " -", "##", "\n ", "\r", "\\", "`|", "\u0301", "𒀀", "-", "%", "&", "\\|",
	} {
		text := strings.Repeat(unit, size/len(unit))
		for _, s := range []string{"a" + text, strings.Repeat(" ", size/2) + text[:size/2/len(unit)*len(unit)]} {
			Check(s, Options{})
			ConfusableText("paypal", s)
			for _, e := range escapers {
				Clip(e.f(s), size/2)
			}
		}
	}
}
