package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// wordRow is a row of the list of words in CONTRIBUTING.md.
var wordRow = regexp.MustCompile(`(?m)^\| ((?:\w+, )*\w+) \| [\w, ]+ \|$`)

// uncommon matches the words that no text for users has, by the list in
// CONTRIBUTING.md.
func uncommon(t *testing.T) *regexp.Regexp {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, row := range wordRow.FindAllStringSubmatch(string(text), -1) {
		words = append(words, strings.Split(row[1], ", ")...)
	}
	if len(words) < 10 {
		t.Fatalf("CONTRIBUTING.md lists %q; the list was not found", words)
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
}

// The texts that users read use common words: those of the command and of what it
// writes, and the pages.
func TestCommonWords(t *testing.T) {
	words := uncommon(t)
	for _, dir := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				// One word alone is no text but a name, such as that of a member.
				if word := words.FindString(text); err == nil && word != "" && strings.Contains(text, " ") {
					t.Errorf("%s: %q is said with another word: see CONTRIBUTING.md", fset.Position(literal.Pos()), word)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for page := range pages(t) {
		if page == "THIRD_PARTY_NOTICES.md" { // others wrote it
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if word := words.FindString(spanPattern.ReplaceAllString(line, "")); word != "" && !fenced && !wordRow.MatchString(line) {
				t.Errorf("%s:%d: %q is said with another word: see CONTRIBUTING.md", page, i+1, word)
			}
		}
	}
}
