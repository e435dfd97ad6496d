package config

import (
	"strings"
	"testing"

	"agentgateway-lock/pkg/source"
)

// Commands and what to write in place of the word that leaves a version open; "" for
// those that leave none.
func TestFloating(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for command, pinned := range map[string]string{
		"npx -y server":                                 "server@VERSION",
		"npx -y @scope/server@latest":                   "@scope/server@VERSION",
		"npx -y server@next":                            "server@VERSION",
		"npx -y server@^1.2.0":                          "server@VERSION",
		"npx -y server@1":                               "server@VERSION",
		"npx -y server@1.2.3":                           "",
		"npx -y @scope/server@2026.8.31 .":              "",
		"npx -y @scope/server@1.0.0-rc.1+b":             "",
		"npx --package=server@latest server-bin x":      "server@VERSION",
		"npx -p server@1.2.3 server-bin":                "",
		"npx ./local":                                   "",
		"npx -y github:acme/x":                          "github:acme/x#COMMIT",
		"npx -y github:acme/x#" + commit:                "",
		"npx -y git+https://h/a/b.git#main":             "git+https://h/a/b.git#COMMIT",
		"npx -y ${PACKAGE}":                             "",
		"cmd /c npx.cmd -y server":                      "server@VERSION",
		"bunx server":                                   "server@VERSION",
		"bun x server":                                  "server@VERSION",
		"bun run server.ts":                             "",
		"pnpm dlx server@2":                             "server@VERSION",
		"npm exec -- server":                            "server@VERSION",
		"npm run start":                                 "",
		"uvx server":                                    "server==VERSION",
		"uvx server==1.2":                               "",
		"uvx server@1.2.3":                              "",
		"uvx server@latest":                             "server==VERSION",
		"uvx --from server>=1 server-bin":               "server==VERSION",
		"uvx --from git+https://h/a/b server":           "git+https://h/a/b@COMMIT",
		"uvx --from git+https://h/a/b@v1 server":        "git+https://h/a/b@COMMIT",
		"uvx --from git+https://h/a/b@" + commit + " s": "",
		"uvx --from git+ssh://git@h/a/b.git server":     "git+ssh://git@h/a/b.git@COMMIT",
		"uvx --python 3.12 server==1.0":                 "",
		"uv tool run server":                            "server==VERSION",
		"uv run server.py":                              "",
		"uvx @x":                                        "",
		"pipx run --spec server==1.0 x":                 "",
		"docker run -i --rm -e TOKEN image":             "image@sha256:DIGEST",
		"docker run -i --rm --name=x image:1.2.3 image": "image:1.2.3@sha256:DIGEST",
		"docker run -i --rm image@sha256:" + commit:     "",
		"docker compose up":                             "",
		"podman run -v a:b:ro ghcr.io/x/y:latest":       "ghcr.io/x/y:latest@sha256:DIGEST",
		"go run example.com/x@latest":                   "example.com/x@VERSION",
		"go run example.com/x@v1.2.3":                   "",
		"go run ./cmd/x":                                "",
		"node server.js":                                "",
		"npx":                                           "",
		"uv tool":                                       "",
		"docker run -e":                                 "",
	} {
		words := strings.Fields(command)
		e := &entry{name: "a"}
		e.noteFloating(&source.Source{Transport: source.Stdio, Command: words[0], Args: words[1:]})
		switch {
		case pinned == "" && len(e.notes) > 0:
			t.Errorf("%s: %s %s", command, e.notes[0].Summary, e.notes[0].Hint)
		case pinned != "" && (len(e.notes) != 1 || !strings.Contains(e.notes[0].Hint, `Write "`+pinned+`"; `)):
			t.Errorf("%s: %v, want %s", command, e.notes, pinned)
		}
	}
	for address, noted := range map[string]bool{
		"http://mcp.example.com/mcp": true, "http://10.0.0.1/": true, "http://127.0.0.1:1/": false, "http://localhost/": false,
		"http://[::1]:8080/": false, "https://mcp.example.com/": false, "http://${HOST}/": false, "http://app.localhost/": false,
	} {
		e := &entry{name: "a"}
		e.noteFloating(&source.Source{Transport: source.HTTP, URL: address})
		if noted != (len(e.notes) == 1) || noted && !strings.Contains(e.notes[0].Hint, `"https://`) {
			t.Errorf("%s: %v", address, e.notes)
		}
	}
}
