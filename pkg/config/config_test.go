package config

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/lockfile"
)

func load(t *testing.T, files map[string]string) *Set {
	t.Helper()
	repo := fstest.MapFS{}
	for name, text := range files {
		repo[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	set, err := Load(context.Background(), Options{Root: "/repo", Repository: repo})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestLoadMCPJSON(t *testing.T) {
	set := load(t, map[string]string{".mcp.json": `{
  // comment
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server@1.0.0", "${workspaceFolder}"],
      "env": {"TOKEN": "${FILES_TOKEN}", "MODE": "fast"},
    },
    "web": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${WEB:-none}"}},
  },
}`})
	if len(set.Findings) > 0 || len(set.Undecided) > 0 {
		t.Fatalf("findings: %v", set.Findings)
	}
	want := &lockfile.Source{Transport: lockfile.Stdio, Command: "npx", Args: []string{"-y", "server@1.0.0", "${workspaceFolder}"},
		Env: map[string]string{"TOKEN": "${FILES_TOKEN}", "MODE": "sha256:870de8c18ca74b5e2f7d02b94a33f5efd2ede23285655d54d64afa33f55dc28e"}}
	_ = want
	s := set.Server("files")
	c, err := s.Connect(func(name string) (string, bool) { return "t0ken", name == "FILES_TOKEN" }, "/repo")
	if err != nil {
		t.Fatal(err)
	}
	wantConnection := Connection{Transport: lockfile.Stdio, Command: "npx", Args: []string{"-y", "server@1.0.0", "/repo"},
		Cwd: "/repo", Env: map[string]string{"TOKEN": "t0ken", "MODE": "fast"}}
	if diff := cmp.Diff(wantConnection, c); diff != "" {
		t.Error(diff)
	}
	c, err = set.Server("web").Connect(func(string) (string, bool) { return "", false }, "/repo")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Connection{Transport: lockfile.HTTP, URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer none"}}, c); diff != "" {
		t.Error(diff)
	}
}
