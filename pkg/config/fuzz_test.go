package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agentgateway-lock/pkg/source"
)

// fuzz feeds texts to the reader of one file. Whatever the text: no panic, an
// error is a FileError, and a source holds no value of env or headers but a
// template or a hash, and can be expanded as the lockfile has it.
func fuzz(f *testing.F, file string) {
	fixtures, err := filepath.Glob("testdata/clients/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range fixtures {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if filepath.Ext(part.Name) == filepath.Ext(file) && part.Name != "want.json" {
				f.Add(part.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o := options(map[string]string{file: string(text)})
		o.Files = []string{file}
		set, err := Load(t.Context(), o)
		if err != nil {
			var refused *FileError
			if !errors.As(err, &refused) {
				t.Fatalf("%v is no FileError", err)
			}
			return
		}
		for _, s := range set.Servers {
			if s.Source != nil {
				checkSource(t, s)
			}
		}
		if len(set.Servers) == 0 && len(set.Undecided) == 0 && len(set.Read) != 1 {
			t.Fatal("nothing was read")
		}
	})
}

func checkSource(t *testing.T, s *Server) {
	t.Helper()
	for _, values := range []map[string]string{s.Source.Env, s.Source.Headers} {
		for name, value := range values {
			hash, hashed := strings.CutPrefix(value, "sha256:")
			if hashed && len(hash) == 64 && strings.Trim(hash, "0123456789abcdef") == "" {
				continue
			}
			if !strings.Contains(value, "${") {
				t.Fatalf("%s of %s is recorded as %q", name, s.Name, value)
			}
		}
	}
	always := func(string) (string, bool) { return "v", true }
	direct, err := s.Connect(always, "/repo")
	fromSource, sourceErr := ConnectSource(s.Name, s.Source, always, "/repo")
	var literal *LiteralError
	if errors.As(sourceErr, &literal) {
		return
	}
	if (err == nil) != (sourceErr == nil) || err == nil && !equalJSON(t, direct, fromSource) {
		t.Fatalf("%s: %+v (%v), from its source %+v (%v)", s.Name, direct, err, fromSource, sourceErr)
	}
	if !Same(s.Source, s.Source) || s.Source.Transport != source.Stdio && s.Source.Command != "" {
		t.Fatalf("source %+v", s.Source)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

func FuzzJSON(f *testing.F) { fuzz(f, "servers.json") }
func FuzzTOML(f *testing.F) { fuzz(f, "servers.toml") }
func FuzzYAML(f *testing.F) { fuzz(f, "servers.yaml") }

// FuzzGateway reads YAML as the gateway does, with its references.
func FuzzGateway(f *testing.F) { fuzz(f, "agentgateway.yaml") }

// FuzzOpenCode and FuzzGemini read JSON with the references of those clients.
func FuzzOpenCode(f *testing.F) { fuzz(f, "opencode.json") }
func FuzzGemini(f *testing.F)   { fuzz(f, ".gemini/settings.json") }

// The blanked text is as long as the text, with the same lines, and plain JSON
// stays as it is.
func FuzzBlank(f *testing.F) {
	for _, s := range []string{`{"a": "//", /* b */ "c": [1,],} // d`, `[,]`, `/*`, `"\"/*"`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := blank(text)
		if len(out) != len(text) || strings.Count(string(out), "\n") != strings.Count(string(text), "\n") {
			t.Fatalf("%q became %q", text, out)
		}
		if json.Valid(text) && string(out) != string(text) {
			t.Fatalf("JSON %q became %q", text, out)
		}
	})
}

// BenchmarkLoad reads what a repository with several clients has.
func BenchmarkLoad(b *testing.B) {
	archive, err := txtar.ParseFile("testdata/clients/claude.txtar")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	o := Options{Root: dir, Repository: root.FS(), GOOS: "linux"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}
