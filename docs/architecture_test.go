package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page that explains the parts is true of them: the packages, files and
// declarations that it names exist, and it has a row for each package.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
		return err == nil
	}
	declared := map[string]map[string]bool{} // by the name of a package
	entries, err := os.ReadDir(filepath.Join(root, "pkg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "internal" {
			continue
		}
		declared[e.Name()] = declarations(t, filepath.Join(root, "pkg", e.Name()))
		if row := "\n| `pkg/" + e.Name() + "` |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/architecture.md has no row for pkg/%s", e.Name())
		}
		if !exists("pkg/" + e.Name() + "/doc.go") {
			t.Errorf("pkg/%s has no doc.go, which says what it is", e.Name())
		}
	}
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range spanPattern.FindAllStringSubmatch(line, -1) {
			if err := judgeName(m[1], declared, exists); err != nil {
				t.Errorf("docs/architecture.md:%d: %v", i+1, err)
			}
		}
	}
}

var (
	pathSpan = regexp.MustCompile(`^[a-z0-9_.]+(/[A-Za-z0-9_.]+)+$`)
	nameSpan = regexp.MustCompile(`^([a-z0-9]+)\.([A-Za-z]+(?:\.[A-Za-z]+)?)$`)
)

// judgeName says what is wrong with a code span that names a path or a
// declaration of a package. Other spans are right.
func judgeName(span string, declared map[string]map[string]bool, exists func(string) bool) error {
	if pathSpan.MatchString(span) && !exists(span) {
		return fmt.Errorf("`%s` is not there", span)
	}
	m := nameSpan.FindStringSubmatch(span)
	if m == nil || slices.Contains([]string{"md", "go", "yml", "lock"}, m[2]) {
		return nil
	}
	names, ok := declared[m[1]]
	if !ok {
		return fmt.Errorf("`%s` names no package of pkg", span)
	}
	if !names[m[2]] {
		return fmt.Errorf("`%s` is not declared", span)
	}
	return nil
}

// declarations are the functions, types and methods (as Type.Method) of the
// package in dir.
func declarations(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			addDeclared(names, d)
		}
	}
	return names
}

func addDeclared(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if spec, ok := s.(*ast.TypeSpec); ok {
				names[spec.Name.Name] = true
			}
		}
	}
}

func TestJudgeName(t *testing.T) {
	declared := map[string]map[string]bool{"crawl": {"Lister": true, "Lister.Open": true}}
	exists := func(path string) bool { return path == "pkg/crawl" }
	for span, wrong := range map[string]bool{
		"pkg/crawl": false, "pkg/crowl": true, "crawl.Lister": false, "crawl.Lister.Open": false,
		"crawl.Lister.Close": true, "crowl.Lister": true, "lock": false, "doc.go": false, "make generate": false,
	} {
		if err := judgeName(span, declared, exists); (err != nil) != wrong {
			t.Errorf("%s: %v", span, err)
		}
	}
}
