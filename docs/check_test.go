package docs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	p := parse("docs/x.md", strings.Join([]string{
		"# One & two",
		"See [a](a.md#part), `[not](this.md)` and [b](https://example.com).",
		"Run `agentgateway lock --dry-run` or `agentgateway`.",
		"```sh",
		"$ agentgateway diff | less",
		"A=1 bin/agentgateway ci   # comment",
		"agentgateway-other lock",
		"[no](link.md)",
		"```",
		"```go",
		"agentgateway nothing",
		"```",
		"```yaml",
		"  - run: agentgateway ci --offline",
		"```",
		"## One & two",
		"[ref]: c.md",
	}, "\n"))
	if diff := cmp.Diff([]at{{2, "a.md#part"}, {2, "https://example.com"}, {17, "c.md"}}, p.links, cmp.AllowUnexported(at{})); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	want := []at{{3, "lock --dry-run"}, {5, "diff | less"}, {6, "ci   # comment"}, {14, "ci --offline"}}
	if diff := cmp.Diff(want, p.commands, cmp.AllowUnexported(at{})); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"one--two": true, "one--two-1": true}, p.anchors); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
}

func TestBrokenLinks(t *testing.T) {
	all := map[string]page{"docs/a.md": {anchors: map[string]bool{"part": true}}}
	exists := func(p string) bool { return p == "docs/a.md" || p == "LICENSE" }
	p := page{path: "docs/x.md", anchors: map[string]bool{"own": true}, links: []at{
		{1, "a.md"}, {2, "a.md#part"}, {3, "../LICENSE"}, {4, "/LICENSE"}, {5, "#own"}, {6, "mailto:x@example.com"},
		{7, "b.md"}, {8, "a.md#else"}, {9, "#else"},
	}}
	if diff := cmp.Diff([]string{
		"docs/x.md:7: link b.md: no such file",
		"docs/x.md:8: link a.md#else: no such heading",
		"docs/x.md:9: link #else: no such heading",
	}, brokenLinks(p, all, exists)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJudge(t *testing.T) {
	const global = "Flags:\n  -h, --help   Show help.\n  -C, --directory=DIR   There.\n"
	known := map[string]string{
		"":           global + "\nCommands:\n  lock [SERVER ...]\n",
		"lock":       global + "      --dry-run   Write nothing.\n      --[no-]color   Colour.\n",
		"lock files": global + "      --dry-run   Write nothing.\n      --[no-]color   Colour.\n",
		"trust":      global + "\nCommands:\n  trust add NAME\n",
		"trust add":  global + "      --role=ROLE,...   Roles.\n",
	}
	help := func(words []string) (string, error) {
		if text, ok := known[strings.Join(words, " ")]; ok {
			return text, nil
		}
		return "", errors.New("unexpected argument")
	}
	for _, tc := range []struct {
		line string
		ok   bool
	}{
		{"lock", true},
		{"lock files SERVER --dry-run -C /tmp", true},
		{"lock --no-color", true},
		{"lock [--dry-run] [SERVER…]", true},
		{"lock --dry", false},
		{"lock --dry-run-not", false},
		{"lock -X", false},
		{"lock else", true}, // an argument
		{"else", false},
		{"trust else", false},
		{"trust add alice --role=admin", true},
		{"trust add 'a --else'", true},
		{"trust add --else", false},
		{"lock | grep --else", true},
		{"lock && else --else", true},
		{"--help", true},
		{"--else", false},
		{"-f gateway.yaml", true},
		{"COMMAND --help", true},
	} {
		if err := judge(tc.line, help); (err == nil) != tc.ok {
			t.Errorf("judge(%q) = %v", tc.line, err)
		}
	}
}
