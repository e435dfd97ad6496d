package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

func TestDenyLines(t *testing.T) {
	file := &lockfile.File{}
	for _, s := range []*lockfile.Server{{Name: "files"}, {Name: "files/archive"}, {Name: "web", Target: "www"}, {Name: "tool box"}} {
		file.Put(s)
	}
	for text, want := range map[string][]processor.Ref{
		"files":                          {{Server: "files"}},
		"  files \n":                     {{Server: "files"}},
		"files/read":                     {{Server: "files", Name: "read"}},
		"files/archive":                  {{Server: "files/archive"}}, // a server wins over an item of another
		"files/archive/read":             {{Server: "files/archive", Name: "read"}},
		"files/mock://readme":            {{Server: "files", Name: "mock://readme"}},
		"www":                            {{Server: "web"}},
		"www/get":                        {{Server: "web", Name: "get"}},
		"tool files/read":                {{Server: "files", Kind: surface.KindTool, Name: "read"}},
		"tool box":                       {{Server: "tool box"}},
		"tool box/read":                  {{Server: "tool box", Name: "read"}},
		"server files":                   {{Server: "files"}},
		"instructions files":             {{Server: "files", Kind: surface.KindInstructions}},
		"resourceTemplate files/a://{b}": {{Server: "files", Kind: surface.KindResourceTemplate, Name: "a://{b}"}},
		"# files\n\nfiles/a\nfiles/b\n":  {{Server: "files", Name: "a"}, {Server: "files", Name: "b"}},
		"\ufefffiles\nweb/get":           {{Server: "files"}, {Server: "web", Name: "get"}}, // an editor's mark
		"\xff\xfef\x00i\x00":             nil,                                               // UTF-16 is none of it
		"":                               nil,
		"none":                           nil,
		"none/read":                      nil,
		"files/":                         nil,
		"instructions files/read":        nil,
		"tool files":                     nil,
		"word files/read":                nil,
	} {
		lines := ParseDeny([]byte(text))
		got, unknown := resolveDeny(lines, file)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if len(got)+len(unknown) != len(lines) {
			t.Errorf("%q: a line is neither found nor unknown", text)
		}
	}
}
