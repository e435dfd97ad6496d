package textcheck

import "strings"

// unlink is put after a character that would start a mention or a reference.
// A backslash does not help there: GitHub looks for them in the rendered text.
const unlink = "&#8203;"

// markdownMedium writes a backslash before every character with a meaning in
// CommonMark, its GitHub extensions or GitHub's mathematics, and breaks
// mentions (@name), references (#1, GH-1) and bare links (https://, www.).
var markdownMedium = &medium{
	ascii: newASCII(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`,
		"~", `\~`, "!", `\!`, "$", `\$`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
		"@", "@"+unlink, "#", `\#`+unlink,
	),
	context: marks(" -+=:.)"),
	replace: markdownContext,
}

func markdownContext(s string, i int) string {
	switch c := s[i]; c {
	case ' ':
		// Nothing after it is a leading mark any more, nor is the line code.
		if i == 0 {
			return "&#32;"
		}
	case '+', '=':
		if i == 0 {
			return `\` + string(c)
		}
	case '-':
		if i == 0 {
			return `\-`
		}
		if i >= 2 && strings.EqualFold(s[i-2:i], "gh") {
			return "-" + unlink
		}
	case ':':
		if i == 0 || s[i-1] == ':' || strings.HasPrefix(s[i+1:], "/") || strings.HasPrefix(s[i+1:], ":") {
			return `\:`
		}
	case '.':
		if listNumber(s[:i]) || i >= 3 && strings.EqualFold(s[i-3:i], "www") {
			return `\.`
		}
	case ')':
		if listNumber(s[:i]) {
			return `\)`
		}
	}
	return ""
}

// listNumber reports whether s is the number of a list item, which has at most
// nine digits.
func listNumber(s string) bool {
	return len(s) > 0 && len(s) <= 9 && strings.Trim(s, "0123456789") == ""
}

// Markdown returns s as inline Markdown that renders as its text, also at the
// start of a paragraph, in a list item and in a table cell. It is one line;
// invisible characters are shown as by [Terminal].
func Markdown(s string) string { return markdownMedium.escape(s) }

// MarkdownCode returns s as a code span, on one line and with invisible
// characters shown as by [Terminal]. A vertical line is written \| because a
// table cell would end at it; outside a table the backslash is seen.
func MarkdownCode(s string) string {
	s = Terminal(s)
	if strings.Contains(s, "|") {
		// Readers disagree about \\| in a table, so a line after a backslash
		// is shown by its code point.
		s = strings.ReplaceAll(s, `\|`, `\\u{007C}`)
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if s == "" || strings.ContainsRune("` ", rune(s[0])) || strings.ContainsRune("` ", rune(s[len(s)-1])) {
		s = " " + s + " "
	}
	return fence + s + fence
}

// MarkdownBlock returns s as a fenced code block that ends in a line feed. The
// block starts and ends in the first column. Of lang only letters, digits,
// "+" and "-" are used. Invisible characters other than line feeds are shown
// as by [Terminal].
func MarkdownBlock(lang, s string) string {
	s = TerminalLines(s)
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	var b strings.Builder
	b.Grow(2*len(fence) + len(lang) + len(s) + 3)
	b.WriteString(fence)
	for i := range len(lang) {
		if c := lang[i]; c == '+' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
		}
	}
	b.WriteByte('\n')
	b.WriteString(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(fence)
	b.WriteByte('\n')
	return b.String()
}

// longestRun returns the length of the longest run of c in s.
func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
