package lockfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/schema"
)

// wanted is what a fixture of testdata/files says of itself, in lines
// "name: value": reader is ok or the place of the error as line:column, with its
// path, a part of its summary and perhaps of its hint; schema is ok or refuse.
type wanted map[string]string

func readWanted(t *testing.T, data []byte) wanted {
	t.Helper()
	w := wanted{}
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok {
			t.Fatalf("not an expectation: %q", line)
		}
		w[name] = strings.TrimPrefix(value, " ")
	}
	return w
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat = true
	if err := compiler.AddResource("lockfile.json", bytes.NewReader(schema.Lockfile)); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("lockfile.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// schemaAccepts decodes as most tools do, and so sees the last of two members
// with one name.
func schemaAccepts(s *jsonschema.Schema, src []byte) bool {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	return decoder.Decode(&value) == nil && !decoder.More() && s.Validate(value) == nil
}

func TestFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/files/*.txtar")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d fixtures, %v", len(names), err)
	}
	compiled := compileSchema(t)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil || len(archive.Files) != 2 {
				t.Fatalf("%d files, %v", len(archive.Files), err)
			}
			src, want := archive.Files[0].Data, readWanted(t, archive.Files[1].Data)
			if have, want := schemaAccepts(compiled, src), want["schema"] == "ok"; have != want {
				t.Errorf("schema accepts: %v, want %v", have, want)
			}
			f, err := lockfile.Parse(src)
			if want["reader"] != "ok" {
				checkError(t, err, want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkFixedPoint(t, src, f)
		})
	}
}

func checkError(t *testing.T, err error, want wanted) {
	t.Helper()
	var e *lockfile.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a lockfile.Error", err)
	}
	if place := fmt.Sprintf("%d:%d", e.Line, e.Column); place != want["reader"] {
		t.Errorf("place %s, want %s", place, want["reader"])
	}
	if e.Path != want["path"] {
		t.Errorf("path %q, want %q", e.Path, want["path"])
	}
	if !strings.Contains(e.Summary, want["summary"]) {
		t.Errorf("summary %q, want %q in it", e.Summary, want["summary"])
	}
	if e.Advice == "" || !strings.Contains(e.Advice, want["hint"]) {
		t.Errorf("hint %q, want %q in it", e.Advice, want["hint"])
	}
}

// checkFixedPoint checks that a file keeps its entries, and that once it is
// written anew it stays as it is and says the same.
func checkFixedPoint(t testing.TB, src []byte, f *lockfile.File) {
	t.Helper()
	kept := lockfile.Format(f)
	again := mustParse(t, kept)
	if have := lockfile.Format(again); !bytes.Equal(have, kept) {
		t.Errorf("entries are not kept:\n%s\nthen\n%s", kept, have)
	}
	f.Reformat()
	anew := lockfile.Format(f)
	again.Reformat()
	if have := lockfile.Format(again); !bytes.Equal(have, anew) {
		t.Errorf("what was kept says something else:\n%s\nthen\n%s", anew, have)
	}
	final := mustParse(t, anew)
	if have := lockfile.Format(final); !bytes.Equal(have, anew) {
		t.Errorf("not a fixed point:\n%s\nthen\n%s", anew, have)
	}
}

func TestOtherRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		src, summary string
	}{
		"byte order mark": {"\xef\xbb\xbf{\"lockfileVersion\": 1, \"servers\": {}}", "byte order mark"},
		"invalid UTF-8":   {"{\"lockfileVersion\": 1, \"servers\": {\"\xff\": {}}}", "invalid UTF-8"},
		"deep":            {"{\"lockfileVersion\": 1, \"servers\": " + strings.Repeat("[", 1<<20), "an array in place"},
		"large":           {strings.Repeat(" ", lockfile.MaxSize+1), "the limit is"},
		"UTF-16":          {"{\x00}\x00", "a member name is missing"},
	} {
		_, err := lockfile.Parse([]byte(test.src))
		var e *lockfile.Error
		if !errors.As(err, &e) || !strings.Contains(e.Summary, test.summary) {
			t.Errorf("%s: error %v, want %q", name, err, test.summary)
		}
	}
}
