package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// write makes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// disk are the options of a repository on the disk.
func disk(t *testing.T, dir string) Options {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return Options{Root: dir, Repository: root.FS(), GOOS: "linux", Open: func(name string) (fs.File, error) { return os.Open(name) }}
}

const oneServer = `{"mcpServers": {"a": {"command": "a"}}}`

// What is reviewed must be what is read: a link may not lead out of the repository.
func TestLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"mcp.json": oneServer})
	write(t, dir, map[string]string{"real.json": oneServer})
	link := func(target, name string) {
		t.Helper()
		_ = os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		_, err := Load(t.Context(), disk(t, dir))
		var file *FileError
		if !errors.As(err, &file) || file.File != ".mcp.json" || file.Finding().Code != "config-invalid" {
			t.Errorf("%s: %v", what, err)
		}
	}
	link("real.json", ".mcp.json")
	if set, err := Load(t.Context(), disk(t, dir)); err != nil || set.Server("a") == nil {
		t.Errorf("a link inside: %v", err)
	}
	link(filepath.Join(outside, "mcp.json"), ".mcp.json")
	refused("a link to outside")
	up, err := filepath.Rel(dir, filepath.Join(outside, "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	link(up, ".mcp.json")
	refused("a relative link to outside")
	link(".", ".mcp.json")
	refused("a folder")
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{".mcp.json/x": ""})
	_, err := Load(t.Context(), disk(t, dir))
	var file *FileError
	if !errors.As(err, &file) || file.File != ".mcp.json" {
		t.Errorf("a folder in place of a configuration: %v", err)
	}
	dir = t.TempDir()
	write(t, dir, map[string]string{".vscode": "a file in place of a folder", ".continue/mcpServers": "likewise"})
	if set, err := Load(t.Context(), disk(t, dir)); err != nil || len(set.Servers) > 0 {
		t.Errorf("a file in place of a folder: %v", err)
	}
}

// Every file that cannot be read is said at once.
func TestAllFileErrors(t *testing.T) {
	_, err := Load(t.Context(), options(map[string]string{".mcp.json": "{", "mcp.json": "{"}))
	if err == nil || strings.Count(err.Error(), "mcp.json:1:2: ") != 2 {
		t.Errorf("%v", err)
	}
}

func TestNamedFiles(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{
		".mcp.json":             oneServer,
		"x/servers.json":        `{"servers": {"b": {"command": "b"}}}`,
		"x/.vscode/mcp.json":    `{"servers": {"c": {"command": "c"}}}`,
		"x/opencode.json":       `{"mcp": {"d": {"type": "local", "command": ["d"], "environment": {"K": "{env:K}"}}}}`,
		"x/gw.yaml":             `{mcp: {targets: [{name: e, stdio: {cmd: e, env: {A: $A}}}]}}`,
		"x/config.yaml":         `{mcpServers: [{name: f, command: f}]}`,
		"x/settings.toml":       "[mcp_servers.g]\ncommand = \"g\"\n",
		"x/none.json":           `{"a": 1}`,
		"x/none.yaml":           `a: 1`,
		"x/servers.txt":         ``,
		"packages/p/.mcp.json":  oneServer,
		"x/.gemini/settings.md": ``,
	})
	write(t, outside, map[string]string{"o.json": `{"mcpServers": {"o": {"command": "o", "env": {"K": "${K}"}}, "p": {"command": "p", "env": {"K": "literal"}}}}`})
	o := disk(t, dir)
	o.Files = []string{"x/servers.json", "x/.vscode/mcp.json", filepath.Join(dir, "x/opencode.json"), "x/gw.yaml", "x/config.yaml", "x/settings.toml",
		filepath.Join(outside, "o.json")}
	set, err := Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, s := range set.Servers {
		names.WriteString(s.Name)
	}
	if names.String() != "bcdefgo" {
		t.Errorf("servers %s: %v", names.String(), set.Findings)
	}
	if k := set.Server("d").Source.Env["K"]; k != "${K}" {
		t.Errorf("OpenCode's reference is recorded as %q", k)
	}
	if a := set.Server("e").Source.Env["A"]; a != "${A}" {
		t.Errorf("the gateway's reference is recorded as %q", a)
	}
	// A literal outside the repository is refused, and the root's own file was not read.
	name := filepath.ToSlash(filepath.Join(outside, "o.json"))
	want := []string{"secret-in-source p " + name + ":1", "config-unread  .mcp.json:0", "config-unread  packages/p/.mcp.json:0"}
	if diff := cmp.Diff(want, got(set).Findings); diff != "" {
		t.Error(diff)
	}

	for file, why := range map[string]string{
		"x/none.json": "no servers", "x/none.yaml": "no servers", "x/servers.txt": "syntax is not known", "gone.json": "does not exist", "x": "not a regular file",
	} {
		o.Files = []string{file}
		if _, err := Load(t.Context(), o); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want …%s…", file, err, why)
		}
	}
	o.Files, o.Open = []string{filepath.Join(outside, "o.json")}, nil
	if _, err := Load(t.Context(), o); !errors.Is(err, errNoAccess) {
		t.Errorf("a file outside without access: %v", err)
	}
}

func TestUserConfigs(t *testing.T) {
	files := map[string]string{
		"/home/me/.claude.json":                          `{"mcpServers": {"a": {"command": "a"}}, "projects": {"/repo": {"mcpServers": {"b": {"command": "b"}}}, "/other": {"mcpServers": {"no": {"command": "no"}}}}}`,
		"/home/me/.cursor/mcp.json":                      `{"mcpServers": {"c": {"command": "c"}}}`,
		"/home/me/.gemini/settings.json":                 `{"mcpServers": {"d": {"command": "d"}}}`,
		"/home/me/.codex/config.toml":                    "[mcp_servers.e]\ncommand = \"e\"\n",
		"/home/me/.kiro/settings/mcp.json":               `{"mcpServers": {"f": {"command": "f"}}}`,
		"/home/me/.continue/config.yaml":                 "mcpServers: [{name: g, command: g}]",
		"/home/me/.continue/mcpServers/x.yaml":           "mcpServers: [{name: h, command: h}]",
		"LINUX/home/me/.config/Code/User/mcp.json":       `{"servers": {"i": {"command": "i"}}}`,
		"LINUX/home/me/.config/opencode/opencode.json":   `{"mcp": {"j": {"command": ["j"]}}}`,
		"LINUX/home/me/.config/zed/settings.json":        `{"context_servers": {"k": {"command": "k"}}}`,
		"LINUX/home/me/.config/agentgateway/config.yaml": "mcp: {targets: [{name: l, stdio: {cmd: l}}]}",
		"MAC/home/me/.config/zed/settings.json":          `{"context_servers": {"k": {"command": "k"}}}`,
		"MAC/home/me/.config/opencode/opencode.jsonc":    `{"mcp": {"j": {"command": ["j"]}}}`,
		"MAC/home/me/Library/App/Code/User/mcp.json":     `{"servers": {"i": {"command": "i"}}}`,
		"WIN/appdata/Zed/settings.json":                  `{"context_servers": {"k": {"command": "k"}}}`,
		"WIN/appdata/Code/User/mcp.json":                 `{"servers": {"i": {"command": "i"}}}`,
		"WIN/appdata/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json": `{"mcpServers": {"m": {"command": "m"}}}`,
	}
	for _, test := range []struct{ system, goos, configHome, want string }{
		{"LINUX", "linux", "/home/me/.config", "abcdefghijkl"},
		{"MAC", "darwin", "/home/me/Library/App", "abcdefghijk"},
		{"WIN", "windows", "/appdata", "abcdefghikm"},
	} {
		user := fstest.MapFS{}
		for name, text := range files {
			system, path, _ := strings.Cut(name, "/")
			if system == "" || system == test.system {
				user[path] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
			}
		}
		o := options(nil)
		o.UserConfigs, o.Home, o.ConfigHome, o.GOOS = true, "/home/me", test.configHome, test.goos
		o.Open = func(name string) (fs.File, error) { return user.Open(strings.TrimPrefix(filepath.ToSlash(name), "/")) }
		set, err := Load(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var names strings.Builder
		for _, s := range set.Servers {
			names.WriteString(s.Name)
		}
		if names.String() != test.want {
			t.Errorf("%s: servers %s, want %s: %v", test.system, names.String(), test.want, set.Findings)
		}
		if p := set.Server("c").Places[0]; p.File != "/home/me/.cursor/mcp.json" || p.Line != 1 {
			t.Errorf("place %v", p)
		}
	}
}

func TestDirect(t *testing.T) {
	o := options(map[string]string{".mcp.json": `{"mcpServers": {"same": {"url": "https://a.example/"}, "other": {"url": "https://a.example/"}}}`})
	o.Direct = map[string]string{"same": "https://a.example/", "other": "https://b.example/", "new": "https://c.example/", "bad": "ftp://x", "secret": "https://a.example/?key=abcdefgh12345678"}
	set, err := Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"secret-in-source secret :0", "config-entry-invalid bad :0", "config-conflict other :0"}
	if diff := cmp.Diff(want, got(set).Findings); diff != "" {
		t.Error(diff)
	}
	if s := set.Server("new"); s == nil || len(s.Places) > 0 || s.Source.URL != "https://c.example/" || s.Source.Transport != "http" {
		t.Errorf("new: %+v", s)
	}
	if s := set.Server("same"); s == nil || len(s.Places) != 1 {
		t.Errorf("same: %+v", s)
	}
	if _, ok := set.Undecided["other"]; !ok || set.Server("other") != nil {
		t.Error("other is decided")
	}
}

func TestWalkIsBounded(t *testing.T) {
	repo := fstest.MapFS{}
	for i := range maxWalk + 10 {
		repo[fmt.Sprintf("many/%05d", i)] = &fstest.MapFile{}
	}
	repo["zz/.mcp.json"] = &fstest.MapFile{Data: []byte(oneServer)}
	repo["a/b/c/d/e/f/g/h/i/.mcp.json"] = &fstest.MapFile{Data: []byte(oneServer)}
	set, err := Load(t.Context(), Options{Root: "/repo", Repository: repo})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Findings) != 1 || !strings.Contains(set.Findings[0].Summary, "more than 20000 entries") || set.Findings[0].Undecided {
		t.Errorf("findings %v", set.Findings)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ctx, Options{Root: "/repo", Repository: repo}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Edge case 42: reading a configuration starts nothing and asks for no variable,
// so one that a pull request brings is read like any other, always the same.
func TestCase42ReadingOnly(t *testing.T) {
	files := map[string]string{".mcp.json": `{"mcpServers": {"b": {"command": "b"}, "a": {"command": ""}, "c": {"url": "https://${X}/"}}}`, "p/.mcp.json": oneServer}
	first, err := Load(t.Context(), options(files))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := Load(t.Context(), options(files))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got(first), got(again)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Older and newer versions of OpenCode find servers at different places: none that
// either would start is missed.
func TestOpenCodeVersions(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": {"type": "local", "command": ["x"]}}`:                                                              "a",
		`{"servers": {"a": {"type": "local", "command": ["x"]}}, "timeout": 5, "defaults": {"x": 1}}`:             "a",
		`{"servers": {"type": "local", "command": ["x"], "environment": {"K": "${K}"}}}`:                          "servers",
		`{"servers": {"a": {"command": ["x"]}}, "b": {"type": "local", "command": ["x"]}}`:                        "a b",
		`{"servers": {"command": ["x"], "a": {"command": ["x"]}}, "b": {"command": ["x"]}, "c": {"settings": 1}}`: "a b servers",
		`{"servers": {"command": {"command": ["x"]}}}`:                                                            "command",
		`{"servers": {}}`:   "",
		`{"servers": null}`: "",
	} {
		set, err := Load(t.Context(), options(map[string]string{"opencode.json": `{"mcp": ` + text + `}`}))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range set.Servers {
			names = append(names, s.Name)
		}
		if have := strings.Join(names, " "); have != want || len(set.Findings) > 0 {
			t.Errorf("%s: %s, want %s: %v", text, have, want, set.Findings)
		}
	}
}

// A configuration of the gateway under a common name is found by what it says, not
// by how it spells it.
func TestCommonNames(t *testing.T) {
	for text, servers := range map[string]int{
		"\"m\\u0063p\": {\"t\\u0061rgets\": [{name: a, stdio: {cmd: x}}]}": 1,
		"- mcp\n- targets\n":           0,
		"mcp: {targets: {}}":           0,
		"a: {b: &x 1}\nmcp: other\n":   0,
		"# mcp targets\n[1, 2":         -1,
		"":                             0,
		"mcp: {targets: []}\nother: 1": 0,
	} {
		set, err := Load(t.Context(), options(map[string]string{"config.yaml": text}))
		if servers < 0 != (err != nil) || err == nil && len(set.Servers) != servers {
			t.Errorf("%q: %v, %v", text, set, err)
		}
	}
}
