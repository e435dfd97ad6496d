package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/source"
)

// environment looks variables up in a map.
func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		s, ok := values[name]
		return s, ok
	}
}

// one loads the server a of a .mcp.json with this entry.
func one(t *testing.T, entry string, files ...string) *Server {
	t.Helper()
	all := map[string]string{".mcp.json": `{"mcpServers": {"a": ` + entry + `}}`}
	for i := 0; i+1 < len(files); i += 2 {
		all[files[i]] = files[i+1]
	}
	set, err := Load(t.Context(), options(all))
	if err != nil {
		t.Fatal(err)
	}
	s := set.Server("a")
	if s == nil {
		t.Fatalf("no server: %v", set.Findings)
	}
	return s
}

func TestExpand(t *testing.T) {
	env := environment(map[string]string{"A": "1", "EMPTY": "", "HOME": "/home/me", "AGENTGATEWAY_INPUT_API_KEY_2": "in", "DOLLAR": "${A}"})
	for in, want := range map[string]string{
		"plain":                            "plain",
		"${A}":                             "1",
		"${env:A}":                         "1",
		"x${A}y${A}z":                      "x1y1z",
		"${A:-no}":                         "1",
		"${B:-no}":                         "no",
		"${B:-}":                           "",
		"${B:-a:-b}":                       "a:-b",
		"${EMPTY}":                         "",
		"${EMPTY:-no}":                     "",
		"${workspaceFolder}/x":             "/repo/x",
		"${workspaceFolderBasename}":       "repo",
		"${userHome}/x":                    "/home/me/x",
		"a${/}b${pathSeparator}c":          "a/b/c",
		"${input:api-key.2}":               "in",
		"$A $$ {env:A} $ { }":              "$A $$ {env:A} $ { }",
		"${DOLLAR}":                        "${A}", // what a variable holds is not expanded again
		"${A}:${B:-https://h:1/p?a=b&c#d}": "1:https://h:1/p?a=b&c#d",
	} {
		s := one(t, `{"command": "x", "args": ["`+in+`"]}`)
		c, err := s.Connect(env, "/repo")
		if err != nil || c.Args[0] != want {
			t.Errorf("%s: %q, %v, want %q", in, c.Args, err, want)
		}
		if s.Source.Args[0] != in {
			t.Errorf("%s is recorded as %q", in, s.Source.Args[0])
		}
		again, err := ConnectSource("a", s.Source, env, "/repo")
		if err != nil || again.Args[0] != want {
			t.Errorf("%s: from the source %q, %v, want %q", in, again.Args, err, want)
		}
	}
}

func TestConnect(t *testing.T) {
	s := one(t, `{"command": "${BIN:-npx}", "args": ["a"], "cwd": "sub", "env": {"T": "${T}", "M": "fast"}, "envFile": ".env"}`,
		".env", "# comment\nexport M=slow\nQ='a # b'\nD=\"x\\ny\" # c\nE= v # w\n\nnot a line\n1X=2\nT=\n")
	c, err := s.Connect(environment(map[string]string{"T": "secret"}), "/repo")
	if err != nil {
		t.Fatal(err)
	}
	want := Connection{Transport: source.Stdio, Command: "npx", Args: []string{"a"}, Cwd: "/repo/sub",
		Env: map[string]string{"T": "secret", "M": "fast", "Q": "a # b", "D": "x\ny", "E": "v"}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}

	s = one(t, `{"url": "https://${HOST}/mcp?k=${KEY}", "headers": {"Authorization": "Bearer ${KEY}"}}`)
	c, err = s.Connect(environment(map[string]string{"HOST": "h.example", "KEY": "k"}), "/repo")
	if err != nil {
		t.Fatal(err)
	}
	want = Connection{Transport: source.HTTP, URL: "https://h.example/mcp?k=k", Headers: map[string]string{"Authorization": "Bearer k"}}
	c.Values = nil
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
}

func TestConnectRefused(t *testing.T) {
	for _, test := range []struct{ name, entry, value, why string }{
		{"unset", `{"command": "x", "env": {"A": "${UNSET}"}}`, "", "the variable UNSET is not set, which env A of a needs"},
		{"an input that is unset", `{"command": "x", "args": ["${input:my key}"]}`, "", "the variable AGENTGATEWAY_INPUT_MY_KEY is not set"},
		{"no home", `{"command": "x", "args": ["${userHome}"]}`, "", "the variable HOME is not set"},
		{"a header with a line break", `{"url": "https://a.example/", "headers": {"A": "${V}"}}`, "a\r\nB: c", "line break"},
		{"an argument with a null", `{"command": "x", "args": ["${V}"]}`, "a\x00b", "null character"},
		{"an empty command", `{"command": "${V}"}`, "", "is empty after"},
		{"no url", `{"url": "${V}"}`, "/tmp", "not absolute"},
		{"a file url", `{"url": "${V}"}`, "file:///etc/passwd", "another kind"},
		{"a long value", `{"command": "x", "args": ["${V}"]}`, strings.Repeat("x", maxExpanded+1), "longer than"},
	} {
		_, err := one(t, test.entry).Connect(environment(map[string]string{"V": test.value}), "/repo")
		if err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %v, want …%s…", test.name, err, test.why)
		}
	}
}

// Edge case 34: a secret that is missing is named, before anything is started.
func TestCase34MissingSecret(t *testing.T) {
	_, err := one(t, `{"command": "x", "env": {"A": "${UNSET}"}}`).Connect(environment(nil), "/repo")
	var unset *UnsetError
	if !errors.As(err, &unset) {
		t.Fatalf("%v is no UnsetError", err)
	}
	f := unset.Finding()
	if unset.Variable != "UNSET" || f.Code != "variable-unset" || f.Place.File != ".mcp.json" || f.Place.Line != 1 || !f.Undecided {
		t.Errorf("%+v, finding %+v", unset, f)
	}
}

func TestConnectSource(t *testing.T) {
	none := environment(nil)
	for member, src := range map[string]*source.Source{
		"env A":    {Transport: source.Stdio, Command: "x", Env: map[string]string{"A": "sha256:" + canonical.SumString("v").String()}},
		"header A": {Transport: source.HTTP, URL: "https://a.example/", Headers: map[string]string{"A": "sha256:" + canonical.SumString("v").String()}},
		"envFile":  {Transport: source.Stdio, Command: "x", EnvFile: &source.EnvFile{Path: ".env"}},
	} {
		_, err := ConnectSource("a", src, none, "/repo")
		var literal *LiteralError
		if !errors.As(err, &literal) || literal.Member != member {
			t.Errorf("%s: %v", member, err)
		}
	}
	c, err := ConnectSource("a", &source.Source{Transport: source.SSE, URL: "http://localhost:1/", AllowPrivate: true}, none, "/repo")
	if diff := cmp.Diff(Connection{Transport: source.SSE, URL: "http://localhost:1/", AllowPrivate: true}, c); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := ConnectSource("a", &source.Source{Transport: source.Stdio, Command: "${A"}, none, "/repo"); err == nil {
		t.Error("an open reference is expanded")
	}
}

// A process gets no variable that its source does not name.
func TestVariables(t *testing.T) {
	asked := map[string]bool{}
	s := one(t, `{"command": "${B}", "args": ["$C", "${env:A}"], "env": {"E": "${H:-1}"}}`)
	if _, err := s.Connect(func(name string) (string, bool) { asked[name] = true; return "v", true }, "/repo"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"A": true, "B": true, "H": true}, asked); diff != "" {
		t.Error(diff)
	}
}
