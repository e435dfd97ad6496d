package project

import (
	"strings"
	"testing"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// SERVER/NAME on a command line: the longest server name wins, and a name that two
// kinds have needs the kind.
func TestItemNames(t *testing.T) {
	entry := func(name string, tools ...string) *lockfile.Server {
		s := &lockfile.Server{Name: name, Source: &source.Source{Transport: source.Stdio, Command: "x"}, Lists: map[surface.Kind][]lockfile.Item{}}
		for _, tool := range tools {
			s.Lists[surface.KindTool] = append(s.Lists[surface.KindTool], lockfile.Item{Name: tool})
		}
		return s
	}
	both := entry("a", "instructions", "source", "t")
	both.Instructions = &lockfile.Instructions{}
	both.Lists[surface.KindPrompt] = []lockfile.Item{{Name: "t"}}
	file := &lockfile.File{}
	for _, s := range []*lockfile.Server{both, entry("a/source", "b/c"), entry("a/source/b", "c"), entry("bare")} {
		file.Put(s)
	}
	names := []string{"a", "a/source", "a/source/b", "bare"}
	for _, tt := range []struct {
		arg  string
		kind surface.Kind
		want string // server, kind and name; or part of the error
	}{
		{"a", "", "a server "},
		{"a/t", "", "several"},
		{"a/t", "prompt", "a prompt t"},
		{"a/t", "resource", "no item"},
		{"a/source", "", "a/source server "},
		{"a/source/source", "", "a/source source "},
		{"a/source/b", "", "a/source/b server "},
		{"a/source/b/c", "", "a/source/b tool c"},
		{"a", "source", "a source "},
		{"a/instructions", "", "several"},
		{"a/instructions", "tool", "a tool instructions"},
		{"a/instructions", "instructions", "a instructions "},
		{"a", "instructions", "a instructions "},
		{"bare/instructions", "", "no instructions"},
		{"bare/source", "", "bare source "},
		{"bare/x", "", "no item"},
		{"none/x", "", "no server"},
	} {
		got := "no server"
		if server, name, ok := SplitItem(tt.arg, names); ok {
			f := &Found{Server: file.Server(server), Kind: surface.KindServer, Name: name}
			if err := f.choose(tt.kind); err != nil {
				got = err.Error()
			} else {
				got = f.Server.Name + " " + string(f.Kind) + " " + f.Name
			}
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s of the kind %q is %q, want %q", tt.arg, tt.kind, got, tt.want)
		}
	}
}
