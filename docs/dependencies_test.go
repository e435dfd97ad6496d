package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/dependencies.md names every direct dependency at its version: what go.mod
// requires directly, and whatever else a package of this project imports.
func TestDependencies(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	required, indirect := map[string]string{}, map[string]string{}
	for line := range strings.Lines(read("go.mod")) {
		m := regexp.MustCompile(`^(?:require )?\s*(\S+\.\S+/\S+) (v\S+)\s*(// indirect)?\s*$`).FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[3] == "":
			required[m[1]] = m[2]
		default:
			indirect[m[1]] = m[2]
		}
	}
	for _, path := range imports(t) {
		for module, version := range indirect {
			if path == module || strings.HasPrefix(path, module+"/") {
				required[module] = version
			}
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

// imports are the paths that packages and tests of this project import.
func imports(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}
{{join .TestImports "\n"}}
{{join .XTestImports "\n"}}`, "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// Modules that are linked, come through others and are of 2023 or before are
// listed, with what would remove them.
func TestOldModules(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", `{{with .Module}}{{if .Indirect}}{{.Path}} {{with .Time}}{{.Format "2006-01"}}{{end}}{{end}}{{end}}`, "./cmd/agentgateway")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	old := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if module, date, _ := strings.Cut(strings.TrimSpace(line), " "); date != "" && date < "2024" {
			old[module] = date
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\| (\\d{4}-\\d\\d) \\|").FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = m[2]
	}
	if diff := cmp.Diff(old, named); diff != "" {
		t.Errorf("docs/dependencies.md, old modules (-linked +page):\n%s", diff)
	}
}
