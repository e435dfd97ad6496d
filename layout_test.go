// Package layout_test holds what the layout of the repository promises: which
// package may import which, what is linked where, and that libraries behave as
// libraries.
package layout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "agentgateway-lock"

// order is the order of packages: one imports only those before it.
var order = []string{
	"internal", "textcheck", "canonical", "surface", "source", "finding", "lockfile", "config", "gitrepo", "crawl", "drift", "sshsig",
	"trust", "audit", "settled", "seal", "report", "extmcp", "processor", "serve", "gateway", "project",
}

// library is where packages of order live.
const library = module + "/pkg/"

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// packages lists every package of the module, without tests.
func packages(t *testing.T) []goPackage {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// rank returns the place of a package in order; a package within another has
// the other's.
func rank(importPath string) (int, bool) {
	rest, ok := strings.CutPrefix(importPath, library)
	if !ok {
		return 0, false
	}
	first, _, _ := strings.Cut(rest, "/")
	i := slices.Index(order, first)
	return i, i >= 0
}

// misplaced says what is wrong with the imports of a package, or nothing.
func misplaced(p goPackage) []string {
	if !strings.HasPrefix(p.ImportPath, library) {
		return nil
	}
	own, ok := rank(p.ImportPath)
	if !ok {
		return []string{p.ImportPath + " is not in the order of packages"}
	}
	var wrong []string
	for _, path := range p.Imports {
		other, ok := rank(path)
		switch {
		case strings.HasPrefix(path, module+"/cmd/"):
			wrong = append(wrong, fmt.Sprintf("%s imports the command %s", p.ImportPath, path))
		case ok && other > own:
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which comes after it", p.ImportPath, path))
		}
	}
	return wrong
}

func TestImportOrder(t *testing.T) {
	for _, p := range packages(t) {
		for _, w := range misplaced(p) {
			t.Error(w)
		}
	}
}

func TestMisplaced(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		wrong    bool
	}{
		{"pkg/lockfile", "pkg/surface", false},
		{"pkg/surface", "pkg/lockfile", true},
		{"pkg/seal/sigstore", "pkg/seal", false},
		{"pkg/seal", "pkg/seal/sigstore", false},
		{"pkg/seal/sigstore", "pkg/report", true},
		{"pkg/project", "cmd/agentgateway", true},
		{"pkg/util", "pkg/textcheck", true},
		{"pkg/crawl", "schema", false},
		{"cmd/agentgateway", "pkg/project", false},
	} {
		got := misplaced(goPackage{ImportPath: module + "/" + tc.from, Imports: []string{module + "/" + tc.to}})
		if (len(got) > 0) != tc.wrong {
			t.Errorf("%s importing %s: %q", tc.from, tc.to, got)
		}
	}
}

// daemonOnly are the modules that pkg/serve needs around a verdict, and the verdict
// does not.
var daemonOnly = []string{"google.golang.org/", "github.com/go-git/", "github.com/prometheus/", "net/http"}

// Heavy dependencies stay out of what does not use them: each costs start-up
// time and has to be trusted by everyone who links it.
func TestLinked(t *testing.T) {
	for _, p := range packages(t) {
		sigstoreHome := p.ImportPath == library+"seal/sigstore" || p.ImportPath == module+"/cmd/agentgateway"
		for _, dep := range p.Deps {
			switch {
			case strings.HasPrefix(dep, "github.com/sigstore/sigstore-go") && !sigstoreHome:
				t.Errorf("%s links %s; pkg/seal/sigstore alone may", p.ImportPath, dep)
			case p.ImportPath == library+"processor" && slices.ContainsFunc(daemonOnly, func(prefix string) bool { return strings.HasPrefix(dep, prefix) }):
				t.Errorf("%s links %s; the verdict is linked where there is no daemon", p.ImportPath, dep)
			case strings.HasPrefix(dep, "github.com/santhosh-tekuri/jsonschema"):
				t.Errorf("%s links %s; tests alone may", p.ImportPath, dep)
			// digitorus/pkcs7, which sigstore-go verifies timestamps with, imports testing.
			case dep == "testing" && !sigstoreHome || strings.HasPrefix(dep, "github.com/rogpeppe/go-internal"):
				t.Errorf("%s links %s; tests alone may", p.ImportPath, dep)
			}
		}
	}
}

// banned are the calls that a library does not make, by import path.
var banned = map[string][]string{
	"os":  {"Exit"},
	"fmt": {"Print", "Printf", "Println"},
	"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
}

// Everything under pkg is a library: the caller decides about output and exits.
func TestLibraries(t *testing.T) {
	documented := map[string]bool{}
	err := filepath.WalkDir("pkg", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || slices.Contains([]string{"util", "utils", "common", "helpers"}, d.Name())) {
			if d.Name() != "testdata" {
				t.Errorf("%s: a package is named for what it does", path)
			}
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parsing: %w", err)
		}
		if file.Name.Name == "main" { // a generator, which no one imports
			return nil
		}
		documented[filepath.Dir(path)] = documented[filepath.Dir(path)] || file.Doc != nil
		for _, c := range bannedCalls(file) {
			t.Errorf("%s: %s: a library neither prints nor exits", fset.Position(c.pos), c.name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

type use struct {
	name string
	pos  token.Pos
}

func bannedCalls(file *ast.File) []use {
	names := map[string]string{} // name in this file -> import path
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if _, ok := banned[path]; !ok || err != nil {
			continue
		}
		names[path] = path
		if spec.Name != nil {
			delete(names, path)
			names[spec.Name.Name] = path
		}
	}
	var found []use
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(banned[names[x.Name]], sel.Sel.Name) {
				found = append(found, use{x.Name + "." + sel.Sel.Name, n.Pos()})
			}
		}
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
				found = append(found, use{f.Name, n.Pos()})
			}
		}
		return true
	})
	return found
}

func TestBannedCalls(t *testing.T) {
	const src = `package p
import ("fmt"; out "os"; "log/slog")
func f() { fmt.Println(); g := fmt.Printf; g(""); out.Exit(1); println(); fmt.Sprint(); slog.Info(""); out.Getenv("") }`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range bannedCalls(file) {
		got = append(got, c.name)
	}
	if want := []string{"fmt.Println", "fmt.Printf", "out.Exit", "println"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// The npm lock file holds versions and hashes, not where they were fetched from:
// a mirror serves as well, and nobody's mirror is written down.
func TestServersArePinned(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("e2e", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Resolved, Integrity string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("%s: the lock file names an address", name)
		}
		if name != "" && (p.Version == "" || !strings.HasPrefix(p.Integrity, "sha512-")) {
			t.Errorf("%s: version %q and integrity %q do not pin it", name, p.Version, p.Integrity)
		}
	}
}
