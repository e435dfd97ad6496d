package docs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	decisionFile  = regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)
	decisionTitle = regexp.MustCompile(`^# (\d+)\. (.+)$`)
)

// Each decision has its number in its name and its title, the parts that the
// others have, and a line in the list.
func TestDecisions(t *testing.T) {
	dir := filepath.Join(root, "docs", "decisions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		want++
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		line, err := decisionLine(e.Name(), want, string(text))
		if err != nil {
			t.Errorf("docs/decisions/%s: %v", e.Name(), err)
		} else if !strings.Contains(string(list), line) {
			t.Errorf("docs/decisions/README.md lacks the line\n%s", line)
		}
	}
}

// decisionLine returns the line of the list for the decision that is number want.
func decisionLine(name string, want int, text string) (string, error) {
	file := decisionFile.FindStringSubmatch(name)
	if file == nil {
		return "", errors.New("the name is not NNNN-words.md")
	}
	lines := strings.Split(text, "\n")
	title := decisionTitle.FindStringSubmatch(lines[0])
	if title == nil {
		return "", fmt.Errorf("the first line is not %q", "# N. TITLE")
	}
	if n, err := strconv.Atoi(file[1]); err != nil || n != want || title[1] != strconv.Itoa(n) {
		return "", fmt.Errorf("number %s with the title of %s, want %d", file[1], title[1], want)
	}
	var parts []string
	for _, l := range lines {
		if strings.HasPrefix(l, "Status: ") || strings.HasPrefix(l, "## ") {
			parts = append(parts, strings.SplitAfter(l, ":")[0])
		}
	}
	if got, want := strings.Join(parts, ", "), "Status:, ## Context, ## Decision, ## Consequences"; got != want {
		return "", fmt.Errorf("its parts are %q, want %q", got, want)
	}
	return fmt.Sprintf("| [%s](%s) | %s |\n", title[1], name, title[2]), nil
}

func TestDecisionLine(t *testing.T) {
	const good = "# 7. Do it\n\nStatus: accepted.\n\n## Context\n\n## Decision\n\n## Consequences\n"
	if line, err := decisionLine("0007-do-it.md", 7, good); err != nil || line != "| [7](0007-do-it.md) | Do it |\n" {
		t.Errorf("%q, %v", line, err)
	}
	for name, tc := range map[string]struct{ file, text string }{
		"another name":     {"7-do-it.md", good},
		"another number":   {"0008-do-it.md", good},
		"another title":    {"0007-do-it.md", strings.Replace(good, "7.", "10.", 1)},
		"no status":        {"0007-do-it.md", strings.Replace(good, "Status: accepted.", "", 1)},
		"another heading":  {"0007-do-it.md", strings.Replace(good, "## Context", "## Question", 1)},
		"no consequences":  {"0007-do-it.md", strings.Replace(good, "## Consequences", "", 1)},
		"a line before it": {"0007-do-it.md", "\n" + good},
	} {
		if _, err := decisionLine(tc.file, 7, tc.text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
