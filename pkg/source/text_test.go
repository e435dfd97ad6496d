package source

import (
	"testing"

	"agentgateway-lock/pkg/canonical"
)

func TestText(t *testing.T) {
	hash := canonical.SumString("x")
	for _, tt := range []struct {
		name  string
		terms Terms
		want  string
	}{
		{"stdio", Terms{Source: &Source{Transport: Stdio, Command: "npx", Args: []string{"-y", "a b", "", "x\u202ey\n"}, Cwd: "sub",
			Env: map[string]string{"B": "2", "A": "${A}"}, EnvFile: &EnvFile{Path: ".env", Hash: hash}}, Target: "t", Covers: []string{"prompts", "tools"}},
			"transport: stdio\ncommand: npx\nargs:\n  -y\n  a b\n  \"\"\n  x\\u202ey\\u000a\ncwd: sub\nenv:\n  A: ${A}\n  B: 2\nenvFile: .env\nenvFile hash: " +
				hash.String() + "\ntarget: t\ncovers:\n  prompts\n  tools\n"},
		{"url", Terms{Source: &Source{Transport: HTTP, URL: "https://example.com/mcp", Headers: map[string]string{"X": "${X}"}, AllowPrivate: true, AllowLiteral: []canonical.Digest{hash}}},
			"transport: http\nurl: https://example.com/mcp\nheaders:\n  X: ${X}\nallowPrivate: true\nallowLiteral:\n  " + hash.String() + "\n"},
		{"skipped", Terms{Source: &Source{Transport: SSE, URL: "https://example.com"}, Skipped: "OAuth only"}, "transport: sse\nurl: https://example.com\nskipped: OAuth only\n"},
	} {
		if got := tt.terms.Text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
