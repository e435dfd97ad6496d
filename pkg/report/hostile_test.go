package report

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"agentgateway-lock/pkg/textcheck"
)

// formats renders a report in every format.
var formats = map[string]func(io.Writer, *Report) error{
	"json": JSON, "sarif": SARIF, "markdown": Markdown, "github": GitHub,
	"text": func(w io.Writer, r *Report) error { return Text(w, r, TextOptions{}) },
}

// hostile are texts that would do something in one medium or another.
var hostile = map[string]string{
	"carriage return": "a\rb",
	"new command":     "a\n::error::owned",
	"command":         "::stop-commands::x",
	"old command":     "x ##[error]owned ##vso[task.setvariable]y",
	"ansi":            "\x1b[2J\x1b]0;title\x07",
	"c1":              "a\u009b31mb",
	"bidi":            "safe\u202egnp.exe\u2066x\u2069",
	"invisible":       "a\u200bb\U000e0041\ufeff",
	"encoded line":    "a%0A::error::owned%0D,file=x::y",
	"backticks":       "``` `` ` ~~~\n```\n<script>alert(1)</script>\n```",
	"table":           "a | b\\| c \\\\| d",
	"html":            "</details><script>alert(1)</script><img src=x onerror=y>&lt;",
	"summary":         "</code></summary></details>\n\n# heading\n\n- list",
	"mention":         "@octocat #1 GH-1 org/repo#2 https://example.com www.example.com",
	"link":            "[click](https://example.com) ![x](y) <https://example.com>",
	"placeholder":     "{0} {{1}} }{",
	"lines":           "a\u2028b\u2029c\u0085d\ve\ff",
	"not utf-8":       "a\xffb\xc3",
	"nul":             "a\x00b",
	"blank":           "   ",
	"quotes":          `"\"'\u202e\n`,
	"path":            "../..//etc:passwd?x#y",
	"wrapped":         strings.Repeat("word ", 12) + "::error::" + strings.Repeat("w", 60) + "::error::owned ::error::owned",
	"wide":            strings.Repeat("漢字仮名", 60),
}

func render(t testing.TB, format string, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := formats[format](&b, r); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

func TestHostileText(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) { checkAll(t, sample(text)) })
	}
}

// checkAll holds what is true of every output, whatever the texts are.
func checkAll(t *testing.T, r *Report) {
	t.Helper()
	for format := range formats {
		out := render(t, format, r)
		checkCharacters(t, format, out)
		switch format {
		case "json":
			checkJSON(t, out)
		case "sarif":
			checkSARIF(t, out)
		case "markdown":
			checkMarkdown(t, out)
		case "github":
			checkGitHub(t, out)
		default:
			checkText(t, out)
		}
	}
}

var oldCommand = regexp.MustCompile(`(?i)##\[|##vso\[`)

// checkCharacters: no output holds a character that cannot be seen, but line
// feeds, nor a line that a CI runner takes for a command, but for what GitHub
// writes.
func checkCharacters(t *testing.T, format, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("%s: not UTF-8", format)
	}
	for _, r := range out {
		if r != '\n' && (textcheck.Invisible(r) || unicode.IsControl(r)) {
			t.Errorf("%s: holds %U", format, r)
		}
	}
	if s := oldCommand.FindString(out); s != "" {
		t.Errorf("%s: holds the command %q", format, s)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if format != "github" && strings.HasPrefix(strings.TrimLeft(line, " "), "::") {
			t.Errorf("%s: the line %q is a command", format, line)
		}
	}
}

func checkJSON(t *testing.T, out string) {
	t.Helper()
	if !json.Valid([]byte(out)) {
		t.Errorf("json: not valid")
	}
	if err := validate(t, "report", out); err != nil {
		t.Errorf("json: %v", err)
	}
}

// command is one workflow command with all of its properties.
var command = regexp.MustCompile(`^::(error|warning|notice) (?:file=[^:,]*,(?:line=[0-9]+,)?)?title=[^:,]*::`)

func checkGitHub(t *testing.T, out string) {
	t.Helper()
	if out == "" {
		return
	}
	if !strings.HasSuffix(out, "\n") {
		t.Errorf("github: does not end with a line feed")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\n"), "\n") {
		if !command.MatchString(line) {
			t.Errorf("github: the line %q is not one known command", line)
		}
	}
}

func checkText(t *testing.T, out string) {
	t.Helper()
	for line := range strings.SplitSeq(out, "\n") {
		width := 0
		for _, r := range line {
			width += columns(r)
		}
		if width > 80 {
			t.Errorf("text: %d columns: %q", width, line)
		}
	}
}

var (
	ownTags  = regexp.MustCompile(`</?(?:details|summary|b|code)>`)
	anyTag   = regexp.MustCompile(`<[A-Za-z/!?]`)
	mention  = regexp.MustCompile(`@[A-Za-z0-9]`)
	link     = regexp.MustCompile(`[^\\]]\(|[^\\]://`)
	codeSpan = regexp.MustCompile("`[^`]*`")
)

// checkMarkdown reads the blocks of the output: fences close, parts that fold
// close, the table's rows have its columns, and outside of code no tag, mention
// or link is left but the tags that are written here.
func checkMarkdown(t *testing.T, out string) {
	t.Helper()
	fence, depth := "", 0
	for line := range strings.SplitSeq(out, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		if fence != "" {
			if line == ticks && len(ticks) >= len(fence) {
				fence = ""
			}
			continue
		}
		if len(ticks) >= 3 {
			fence = ticks
			continue
		}
		depth += strings.Count(line, "<details>") - strings.Count(line, "</details>")
		if depth < 0 || depth > 1 {
			t.Errorf("markdown: parts that fold are not balanced at %q", line)
		}
		rest := ownTags.ReplaceAllString(line, "")
		if anyTag.MatchString(rest) {
			t.Errorf("markdown: a tag in %q", line)
		}
		if strings.HasPrefix(line, "<details>") {
			continue // HTML, where no Markdown is read, and names are in <code>
		}
		if mention.MatchString(rest) {
			t.Errorf("markdown: a mention in %q", line)
		}
		if link.MatchString(rest) {
			t.Errorf("markdown: a link in %q", line)
		}
		checkRow(t, line)
		if rest := codeSpan.ReplaceAllString(strings.ReplaceAll(line, "\\`", ""), ""); strings.Contains(rest, "`") {
			t.Errorf("markdown: an open code span in %q", line)
		}
	}
	if fence != "" || depth != 0 {
		t.Errorf("markdown: open at the end: fence %q, folds %d", fence, depth)
	}
}

func checkRow(t *testing.T, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "|") {
		return
	}
	columns := 0
	for i := range len(line) {
		backslashes := 0
		for j := i - 1; j >= 0 && line[j] == '\\'; j-- {
			backslashes++
		}
		if line[i] == '|' && backslashes%2 == 0 {
			columns++
		}
	}
	if columns != 7 {
		t.Errorf("markdown: a row of %d bars: %q", columns, line)
	}
}

func FuzzEscaping(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return
		}
		checkAll(t, sample(text))
	})
}
