package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/dependencies.md names every direct dependency at its version.
func TestDependencies(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	required := map[string]string{}
	for line := range strings.Lines(read("go.mod")) {
		m := regexp.MustCompile(`^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)\s*$`).FindStringSubmatch(line)
		if m != nil {
			required[m[1]] = m[2]
		}
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing that this test can read")
	}
	named := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+/\\S+)` \\| (v\\S+) ").FindAllStringSubmatch(read("docs/dependencies.md"), -1) {
		named[m[1]] = m[2]
	}
	if diff := cmp.Diff(required, named); diff != "" {
		t.Errorf("docs/dependencies.md (-go.mod +page):\n%s", diff)
	}
}
