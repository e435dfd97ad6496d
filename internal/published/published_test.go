package published

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	if got := Page("", "docs/codes.md"); got != "" {
		t.Errorf("a page without a repository is at %q", got)
	}
	if got, want := Page("https://example.com/o/n", "docs/codes.md#x"), "https://example.com/o/n/blob/main/docs/codes.md#x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is filled in has the right form.
func TestFields(t *testing.T) {
	for _, f := range Fields() {
		if f.Value != "" && f.Problem() != "" {
			t.Errorf("%s %q: %s", f.Name, f.Value, f.Problem())
		}
	}
	for _, tc := range []struct {
		name, value string
		wrong       bool
	}{
		{"Repository", "https://example.com/o/n", false},
		{"Repository", "https://example.com/o/n/", true},
		{"Repository", "http://example.com/o/n", true},
		{"ActionRef", "o/n@0123456789abcdef0123456789abcdef01234567", false},
		{"ActionRef", "o/n@v1", true},
		{"Image", "registry.example.com/o/n", false},
		{"Image", "registry.example.com/o/n:v1", true},
		{"Image", "", true},
	} {
		for _, f := range Fields() {
			if f.Name == tc.name {
				f.Value = tc.value
				if got := f.Problem() != ""; got != tc.wrong {
					t.Errorf("%s %q: wrong %v, want %v", tc.name, tc.value, got, tc.wrong)
				}
			}
		}
	}
}

// An address of the project stands in this package, and in what is made from it.
func TestOnePlace(t *testing.T) {
	root := filepath.Join("..", "..")
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "-co", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("no list of files: %v", err)
	}
	address := regexp.MustCompile(`(?i)[a-z0-9-]+\.[a-z]{2,}/[\w-]+/agentgateway-lock\b[^\s"'` + "`" + `)]*`)
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // removed, and not committed yet
		}
		for _, m := range address.FindAllString(string(text), -1) {
			whole := "https://" + m
			if Repository != "" && (whole == Repository || strings.HasPrefix(whole, Repository+"/")) || Image != "" && strings.HasPrefix(m, Image) {
				continue
			}
			t.Errorf("%s names the address %s, which is not that of this package", name, m)
		}
	}
}
