package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

// wanted is what a file of testdata/clients expects.
type wanted struct {
	Servers   map[string]wantedServer `json:"servers"`
	Undecided []string                `json:"undecided"`
	Findings  []string                `json:"findings"`
	Read      []string                `json:"read"`
}

type wantedServer struct {
	At       []string     `json:"at"`
	Disabled bool         `json:"disabled"`
	Source   wantedSource `json:"source"`
}

type wantedSource struct {
	Transport string            `json:"transport"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Cwd       string            `json:"cwd"`
	Env       map[string]string `json:"env"`
	EnvFile   *wantedEnvFile    `json:"envFile"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
}

type wantedEnvFile struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// options are those of a repository with these files.
func options(files map[string]string) Options {
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return Options{Root: "/repo", Repository: repo, GOOS: "linux"}
}

func got(set *Set) wanted {
	w := wanted{Servers: map[string]wantedServer{}, Read: set.Read, Undecided: slices.Sorted(maps.Keys(set.Undecided))}
	for _, s := range set.Servers {
		ws := wantedServer{Disabled: s.Disabled}
		for _, p := range s.Places {
			ws.At = append(ws.At, fmt.Sprintf("%s:%d", p.File, p.Line))
		}
		if s.Source != nil {
			ws.Source = flat(s.Source)
		}
		w.Servers[s.Name] = ws
	}
	for _, f := range set.Findings {
		w.Findings = append(w.Findings, line(f))
	}
	return w
}

func flat(s *source.Source) wantedSource {
	w := wantedSource{string(s.Transport), s.Command, s.Args, s.Cwd, s.Env, nil, s.URL, s.Headers}
	if s.EnvFile != nil {
		w.EnvFile = &wantedEnvFile{s.EnvFile.Path, s.EnvFile.Hash.String()}
	}
	return w
}

func line(f finding.Finding) string {
	return fmt.Sprintf("%s %s %s:%d", f.Code, f.Place.Server, f.Place.File, f.Place.Line)
}

func TestClients(t *testing.T) {
	archives, err := filepath.Glob("testdata/clients/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, name := range archives {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			var want wanted
			for _, f := range archive.Files {
				if f.Name != "want.json" {
					files[f.Name] = string(f.Data)
					continue
				}
				d := json.NewDecoder(bytes.NewReader(f.Data))
				d.DisallowUnknownFields()
				if err := d.Decode(&want); err != nil {
					t.Fatal(err)
				}
			}
			set, err := Load(t.Context(), options(files))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got(set)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
				for _, f := range set.Findings {
					t.Logf("%s: %s", line(f), f.Summary)
				}
			}
		})
	}
}

// Edge case 41: a comment or a trailing comma drops no server.
func TestCase41CommentsAndCommas(t *testing.T) {
	for _, text := range []string{
		"// first\n{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}",
		"{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}\n// last",
		"{\"mcpServers\": {\"a\": {\"command\": \"a\",},},}",
		"{\"mcpServers\": {\"a\": {\"command\": \"a\", \"args\": [\"x\", /* y */ ], // z\n},\r\n\t},}",
		"{/**/\"mcpServers\"/**/:/**/{\"a\"/* \" */:{\"command\":\"a\"/*,*/}}/***/}",
		"\xef\xbb\xbf{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}",
	} {
		set, err := Load(t.Context(), options(map[string]string{".mcp.json": text}))
		if err != nil || set.Server("a") == nil || set.Server("a").Source.Command != "a" {
			t.Errorf("%q: %v", text, err)
		}
	}
	s := one(t, `{"command": "a", "args": ["// no comment", "/* nor this */", ",]", ",}", "\"//"],}`)
	if diff := cmp.Diff([]string{"// no comment", "/* nor this */", ",]", ",}", `"//`}, s.Source.Args); diff != "" {
		t.Error(diff)
	}
}
