package layout_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// Each fuzz target has a corpus that is committed, so that every test run tries
// what was once found, and no corpus is left of a target that is gone.
func TestCorpora(t *testing.T) {
	targets, corpora := map[string]bool{}, map[string]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, "_test.go"):
			data, err := os.ReadFile(path)
			for _, m := range fuzzTarget.FindAllSubmatch(data, -1) {
				targets[filepath.Join(filepath.Dir(path), "testdata", "fuzz", string(m[1]))] = true
			}
			return err
		case !d.IsDir() && filepath.Base(filepath.Dir(filepath.Dir(path))) == "fuzz":
			data, err := os.ReadFile(path)
			if !bytes.HasPrefix(data, []byte("go test fuzz v1\n")) {
				t.Errorf("%s is not an entry of a corpus", path)
			}
			corpora[filepath.Dir(path)]++
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for target := range targets {
		if corpora[target] == 0 {
			t.Errorf("%s: a fuzz target without a corpus", target)
		}
	}
	for corpus := range corpora {
		if !targets[corpus] {
			t.Errorf("%s: the corpus of no target", corpus)
		}
	}
}
