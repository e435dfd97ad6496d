package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testName is a test as the threat model names it: its package and its function.
var testName = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Example)\\w+)`")

// Every claim of the threat model names a test or a script, and each test that it
// names exists. Scripts are links, which another test holds.
func TestClaims(t *testing.T) {
	data, err := os.ReadFile("threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	claims, table := 0, false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			table = false
			continue
		case line == "| Claim | Shown by |":
			table = true
			continue
		case !table || strings.HasPrefix(line, "|---"):
			continue
		}
		claims++
		names := testName.FindAllStringSubmatch(line, -1)
		if len(names) == 0 && !strings.Contains(line, ".txtar)") {
			t.Errorf("no test shows that %s", line)
		}
		for _, name := range names {
			if !declares(t, name[1], name[2]) {
				t.Errorf("there is no %s in %s", name[2], name[1])
			}
		}
	}
	if claims < 20 {
		t.Errorf("only %d claims were found", claims)
	}
}

// declares reports whether the tests of a package declare a function.
func declares(t *testing.T, dir, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}
