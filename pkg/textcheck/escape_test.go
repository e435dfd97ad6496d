package textcheck

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile holds what an attacker puts into a name: row 26 of the attack list.
var hostile = []string{
	"name\r\n::error title=x::owned",
	"::error file=a,line=1::owned",
	"  \t::warning::owned",
	"a\n  ::add-mask::owned",
	"x ##[error]owned",
	"x ##vso[task.setvariable variable=a]owned",
	"\x1b[31mred\x1b[0m\x1b]0;title\x07",
	"\u009b31m\u0085next\u2028line\u2029para",
	"a\u202eb\u2066c\u200bd\ufeffe\U000e0041f\ufe0fg\u3164h",
	"%0A::error::owned %0D %25",
	"`code` ``two`` ```\nfence\n```",
	"a|b\\|c\\\\|d",
	"<img src=x onerror=alert(1)> &lt;b&gt; '\" <!-- hidden -->",
	"**bold** _it_ ~~st~~ $x$ [a](javascript:b) ![i](http://e/x.png)",
	"@octocat fixes #1 GH-2 o/r#3 https://evil.example www.evil.example",
	"# head", "- item", "+ item", "1. item", "2) item", "=== x", "> quote", "    code", "---",
	"\xff\xfe\xc3(",
	"backslash \\u{200B} end \\",
	"", " ", "`", "a", "日本語 ünï 👩‍💻",
}

func TestEscapes(t *testing.T) {
	tests := []struct {
		name string
		f    func(string) string
		in   string
		want string
	}{
		{"terminal", Terminal, "plain text: é 日本", "plain text: é 日本"},
		{"terminal", Terminal, "a\nb\tc\rd", `a\nb\tc\rd`},
		{"terminal", Terminal, "\x1b[31m\x7f\u009b", `\u{001B}[31m\u{007F}\u{009B}`},
		{"terminal", Terminal, "\u202e\U000e0041\xff\u00a0", `\u{202E}\u{E0041}\xFF\u{00A0}`},
		{"terminal", Terminal, "::error::x", `\u{003A}:error::x`},
		{"terminal", Terminal, "a ##[group]x # ## b", `a \u{0023}#[group]x # ## b`},
		{"terminal", Terminal, "std::string", "std::string"},
		{"lines", TerminalLines, "a\r\n  ::error::x\n\tb", "a\\r\n  \\u{003A}:error::x\n\\tb"},
		{"html", HTML, `<a href="x">'&'` + "`\n\x00", "&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;&#96;\n\\u{0000}"},
		{"data", WorkflowData, "100%\r\na:b,c\x1b", `100%25%0D%0Aa:b,c\u{001B}`},
		{"property", WorkflowProperty, "a:b,c%\n", "a%3Ab%2Cc%25%0A"},
		{"markdown", Markdown, "a|b `c` *d* _e_ [f](g)", "a\\|b \\`c\\` \\*d\\* \\_e\\_ \\[f\\](g)"},
		{"markdown", Markdown, "<b>&!", `&lt;b&gt;&amp;\!`},
		{"markdown", Markdown, "@me #1 GH-1", `@&#8203;me \#&#8203;1 GH-&#8203;1`},
		{"markdown", Markdown, "see https://x.y and www.x.y", `see https\://x.y and www\.x.y`},
		{"markdown", Markdown, "- a - b", `\- a - b`},
		{"markdown", Markdown, "12. a 3.", `12\. a 3.`},
		{"markdown", Markdown, "12) a (3)", `12\) a (3)`},
		{"markdown", Markdown, " + a = b", `&#32;+ a = b`},
		{"markdown", Markdown, "= a", `\= a`},
		{"markdown", Markdown, "+ a", `\+ a`},
		{"markdown", Markdown, "a\nb\u200b", `a\nb\u{200B}`},
		{"code", MarkdownCode, "plain", "`plain`"},
		{"code", MarkdownCode, "a`b``c", "```a`b``c```"},
		{"code", MarkdownCode, "`", "`` ` ``"},
		{"code", MarkdownCode, "", "`  `"},
		{"code", MarkdownCode, " a", "`  a `"},
		{"code", MarkdownCode, `a|b\|c`, "`a\\|b\\\\u{007C}c`"},
		{"code", MarkdownCode, "a\nb", "`a\\nb`"},
		{"block", func(s string) string { return MarkdownBlock("js on`", s) }, "a\n```\nb", "````json\na\n```\nb\n````\n"},
		{"block", func(s string) string { return MarkdownBlock("", s) }, "", "```\n```\n"},
	}
	for _, tt := range tests {
		if got := tt.f(tt.in); got != tt.want {
			t.Errorf("%s(%q)\n got %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// escapers are all of them, with the characters each may let through besides
// visible ones, and what none of its results may hold.
var escapers = []struct {
	name   string
	f      func(string) string
	allow  string
	forbid *regexp.Regexp
}{
	{"Terminal", Terminal, "", regexp.MustCompile(`^\s*::|##\[|(?i)##vso\[`)},
	{"TerminalLines", TerminalLines, "\n", regexp.MustCompile(`(?m)^\s*::|##\[|(?i)##vso\[`)},
	{"HTML", HTML, "\n", regexp.MustCompile("(?m)^\\s*::|##\\[|[<>\"'`]|&[^#a-z]|&$")},
	{"WorkflowData", WorkflowData, "", regexp.MustCompile(`##\[|%([^02]|$)`)},
	{"WorkflowProperty", WorkflowProperty, "", regexp.MustCompile(`##\[|%([^023]|$)|[:,]`)},
	{"Markdown", Markdown, "", regexp.MustCompile("^\\s*::|##\\[|[<>]|(^|[^\\\\])(\\\\\\\\)*[`*_|\\[\\]~$]|(^|[^\\\\&])(\\\\\\\\)*#|@[^&]|@$|[^\\\\]://|(?i)www\\.|^(\\s|[-+=])|^\\d{1,9}[.)]")},
	{"MarkdownCode", MarkdownCode, "", regexp.MustCompile(`##\[|(^|[^\\])\||\\\\\|`)},
	{"MarkdownBlock", func(s string) string { return MarkdownBlock("text", s) }, "\n", regexp.MustCompile(`(?m)^\s*::|##\[`)},
}

func checkEscaped(t *testing.T, in string) {
	t.Helper()
	for _, e := range escapers {
		out := e.f(in)
		if !utf8.ValidString(out) {
			t.Errorf("%s(%q) is not UTF-8: %q", e.name, in, out)
		}
		for _, r := range out {
			// Asked of package unicode, not of the table under test.
			if strings.ContainsRune(e.allow, r) {
				continue
			}
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
				unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) || r != ' ' && unicode.Is(unicode.Zs, r) {
				t.Errorf("%s(%q) lets U+%04X through: %q", e.name, in, r, out)
			}
		}
		if m := e.forbid.FindString(out); m != "" {
			t.Errorf("%s(%q) holds %q: %q", e.name, in, m, out)
		}
		// Code spans and blocks have two fences, each one longer than the text.
		if limit := MaxGrowth*len(in) + 2*len(in) + 16; len(out) > limit {
			t.Errorf("%s(%q) grew to %d bytes, over %d", e.name, in, len(out), limit)
		}
	}
	code := MarkdownCode(in)
	fence := len(code) - len(strings.TrimLeft(code, "`"))
	if inner := code[fence : len(code)-fence]; longestRun(inner, '`') >= fence || strings.Trim(code[len(code)-fence:], "`") != "" {
		t.Errorf("MarkdownCode(%q) can be left: %q", in, code)
	}
	lines := strings.Split(strings.TrimSuffix(MarkdownBlock("", in), "\n"), "\n")
	for _, line := range lines[1 : len(lines)-1] {
		if strings.HasPrefix(strings.TrimLeft(line, " "), lines[0]) {
			t.Errorf("MarkdownBlock(%q) can be left at %q", in, line)
		}
	}
}

func TestAttack26(t *testing.T) {
	for _, s := range hostile {
		checkEscaped(t, s)
	}
	checkEscaped(t, strings.Join(hostile, ""))
	checkEscaped(t, strings.Join(hostile, "\n"))
}

func FuzzEscape(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkEscaped(t, s)
		for _, e := range escapers {
			for _, n := range []int{0, 1, 7, 40} {
				if c := Clip(e.f(s), n); utf8.RuneCountInString(c) > n {
					t.Errorf("Clip(%s(%q), %d) has more characters: %q", e.name, s, n, c)
				}
			}
		}
	})
}

func TestClip(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"hello", 5, "hello"},
		{"hello", 4, "hel…"},
		{"日本語", 3, "日本語"},
		{"日本語文", 3, "日本…"},
		{"hello", 1, "…"},
		{"hello", 0, ""},
		{`ab\u{200B}cd`, 6, "ab…"},
		{`ab\u{200B}cd`, 11, `ab\u{200B}…`},
		{`ab\\\\cd`, 5, `ab\\…`},
		{`ab\\\\cd`, 6, `ab\\…`},
		{`a\xFFbcd`, 4, "a…"},
		{"ab&amp;cd", 5, "ab…"},
		{"ab%0Acd", 4, "ab…"},
		{"ab%ycde", 5, "ab%y…"},
	}
	for _, tt := range tests {
		if got := Clip(tt.in, tt.n); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}
