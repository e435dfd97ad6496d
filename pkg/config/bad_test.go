package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Files that are refused as a whole: where, and a part of the reason.
func TestFileRefused(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		at, why          string
	}{
		{"a repeated server", ".mcp.json", "{\"mcpServers\": {\n\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}", ".mcp.json:3:1", "is there twice"},
		{"a repeated member", ".mcp.json", "{\"mcpServers\": {\n\"a\": {\"command\": \"x\",\n  \"command\": \"y\"}}}", ".mcp.json:3:3", "is there twice"},
		{"a repeated member in another spelling", ".mcp.json", `{"mcpServers": {"a": {"command": "x", "\u0063ommand": "y"}}}`, ".mcp.json:1:39", "is there twice"},
		{"a repeated container", ".mcp.json", "{\"mcpServers\": {},\n\"mcpServers\": {}}", ".mcp.json:2:1", "is there twice"},
		{"__proto__ as a server", ".mcp.json", "{\"mcpServers\": {\n\"__proto__\": {\"command\": \"x\"}}}", ".mcp.json:2:14", "__proto__"},
		{"__proto__ as a member", ".mcp.json", "{\"mcpServers\": {\"a\": {\n\"__proto__\": {\"command\": \"x\"}}}}", ".mcp.json:2:14", "__proto__"},
		{"broken JSON", ".mcp.json", "{\"mcpServers\": {\n  \"a\": {\"command\": }}}", ".mcp.json:2:20", "not a JSON value"},
		{"an open comment", ".mcp.json", "{\n/* \"mcpServers\": {}}", ".mcp.json:2:1", "a member name is missing"},
		{"two commas", ".mcp.json", `{"mcpServers": {},,}`, ".mcp.json:1:19", "a member name is missing"},
		{"a comma alone", ".mcp.json", `{,}`, ".mcp.json:1:2", "a member name is missing"},
		{"text after the value", ".mcp.json", "{}\n{}", ".mcp.json:2:1", "after the value"},
		{"no object", ".mcp.json", "[]", ".mcp.json:1", "a list in place of an object"},
		{"servers that are none", ".mcp.json", "{\n\"mcpServers\": 1}", ".mcp.json:2", "a number in place of the servers"},
		{"a list of servers without names", ".mcp.json", "{\"mcpServers\": [\n{\"command\": \"x\"}]}", ".mcp.json:2", "no name"},
		{"JSON that is nested too deeply", ".mcp.json", strings.Repeat(`{"a":`, 200), ".mcp.json:1:641", "deeper"},
		{"a file that is too large", ".mcp.json", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, ".mcp.json", "larger than the limit"},

		{"a repeated table", ".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a]\n", ".codex/config.toml:3:2", "already been defined"},
		{"a repeated key", ".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\ncommand = \"y\"\n", ".codex/config.toml:3:15", "already been defined"},
		{"__proto__ in TOML", ".codex/config.toml", "\n[mcp_servers.__proto__]\ncommand = \"x\"\n", ".codex/config.toml:2", "__proto__"},
		{"broken TOML", ".codex/config.toml", "a = 1\nb = \n", ".codex/config.toml:2:5", "expected value"},
		{"TOML that is nested too deeply", ".codex/config.toml", "a = 1\nb = " + strings.Repeat("[", 200), ".codex/config.toml:2", "deeper"},
		{"TOML with a key of many parts", ".codex/config.toml", strings.Repeat("a.", 600) + "a = 1", ".codex/config.toml:1", "too many dots"},

		{"an alias", ".continue/mcpServers/a.yaml", "a: &x {command: x}\nmcpServers:\n  b: *x\n", ".continue/mcpServers/a.yaml:1:4", "anchor or alias"},
		{"a merge key", ".continue/mcpServers/a.yaml", "mcpServers:\n  b:\n    <<: {command: x}\n", ".continue/mcpServers/a.yaml:3:5", "merge key"},
		{"a tag", ".continue/mcpServers/a.yaml", "mcpServers:\n  b:\n    command: !!str x\n", ".continue/mcpServers/a.yaml:3:14", "a tag"},
		{"a key that is no string", ".continue/mcpServers/a.yaml", "mcpServers:\n  1: {command: x}\n", ".continue/mcpServers/a.yaml:2:3", "not a plain string"},
		{"a repeated key in YAML", ".continue/mcpServers/a.yaml", "mcpServers:\n  b: {command: x}\n  b: {command: y}\n", ".continue/mcpServers/a.yaml:3:3", "is there twice"},
		{"__proto__ in YAML", ".continue/mcpServers/a.yaml", "mcpServers:\n  __proto__: {command: x}\n", ".continue/mcpServers/a.yaml:2:3", "__proto__"},
		{"a second document", ".continue/mcpServers/a.yaml", "mcpServers: {}\n---\nmcpServers: {}\n", ".continue/mcpServers/a.yaml:2", "second document"},
		{"broken YAML", ".continue/mcpServers/a.yaml", "a: b\nc: [\n", ".continue/mcpServers/a.yaml:2", "did not find"},
		{"a target without a name", "agentgateway.yaml", "mcp:\n  targets:\n  - mcp: {host: \"http://a/\"}\n", "agentgateway.yaml:3", "no name"},
		{"a gateway configuration that is broken", "config.yaml", "mcp:\n  targets: &a []\n", "config.yaml:2:12", "anchor"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(t.Context(), options(map[string]string{test.file: test.text}))
			var file *FileError
			if !errors.As(err, &file) {
				t.Fatalf("error %v, want a FileError", err)
			}
			if !strings.HasPrefix(err.Error(), test.at+": ") || !strings.Contains(file.Detail, test.why) || file.Hint == "" {
				t.Errorf("error %q\nwant %s: …%s…", err, test.at, test.why)
			}
		})
	}
}

// Entries that leave their server undecided, in the file .mcp.json, whose entry
// stands in line 3; the server beside it goes on.
func TestEntryUndecided(t *testing.T) {
	long := strings.Repeat("n", 257)
	for _, test := range []struct {
		name, entry string
		want        string // code, line and a part of the summary
	}{
		{"two transports", `"bad": {"command": "x", "url": "https://a.example/"}`, "config-entry-invalid:3 two transports"},
		{"two urls", "\"bad\": {\"url\": \"https://a.example/\",\n\"httpUrl\": \"https://b.example/\"}", "config-entry-invalid:4 two urls"},
		{"a type against the command", `"bad": {"command": "x", "type": "http"}`, "config-entry-invalid:3 has a command, but says"},
		{"a type against the url", `"bad": {"url": "https://a.example/", "type": "stdio"}`, "config-entry-invalid:3 has a url, but says"},
		{"type against transport", "\"bad\": {\"url\": \"https://a.example/\", \"type\": \"sse\",\n\"transport\": \"http\"}", "config-entry-invalid:4 two transports, sse and http"},
		{"an unknown type", `"bad": {"url": "https://a.example/", "type": "ws"}`, `config-entry-invalid:3 "ws" is no transport`},
		{"nothing", `"bad": {}`, "config-entry-invalid:3 neither"},
		{"no object", `"bad": "npx"`, "config-entry-invalid:3 a string in place"},
		{"an empty name", `"": {"command": "x"}`, "config-entry-invalid:3 name is empty"},
		{"a long name", `"` + long + `": {"command": "x"}`, "config-entry-invalid:3 longer than 256"},
		{"a control character", `"a\u001b[2J": {"command": "x"}`, "config-entry-invalid:3 control character"},
		{"an empty command", `"bad": {"command": ""}`, "config-entry-invalid:3 command is empty"},
		{"an empty url", `"bad": {"url": ""}`, "config-entry-invalid:3 neither a command nor a url"},
		{"a command of a wrong type", `"bad": {"command": 1}`, "config-entry-invalid:3 a number where command"},
		{"args of a wrong type", "\"bad\": {\"command\": \"x\",\n\"args\": \"y\"}", "config-entry-invalid:4 args must be a list"},
		{"an argument of a wrong type", "\"bad\": {\"command\": \"x\", \"args\": [\"y\",\n8080]}", "config-entry-invalid:4 a number where args"},
		{"arguments at two places", `"bad": {"command": ["x", "y"], "args": ["z"]}`, "config-entry-invalid:3 arguments at two places"},
		{"a variable of a wrong type", "\"bad\": {\"command\": \"x\", \"env\": {\n\"PORT\": [8080]}}", "config-entry-invalid:4 a list where PORT"},
		{"a variable's bad name", `"bad": {"command": "x", "env": {"A=B": "1"}}`, "config-entry-invalid:3 is no name of a variable"},
		{"a header's bad name", `"bad": {"url": "https://a.example/", "headers": {"X Y": "1"}}`, "config-entry-invalid:3 is no name of a header"},
		{"a header in two cases", `"bad": {"url": "https://a.example/", "headers": {"X-A": "${A}", "x-a": "${B}"}}`, "config-entry-invalid:3 set twice"},
		{"a variable at two places", `"bad": {"command": "x", "env": {"A": "${A}"}, "environment": {"A": "${B}"}}`, "config-entry-invalid:3 set twice"},
		{"disabled of a wrong type", `"bad": {"command": "x", "disabled": "true"}`, "config-entry-invalid:3 disabled must be true or false"},
		{"enabled and disabled", `"bad": {"command": "x", "enabled": false, "disabled": false}`, "config-entry-invalid:3 both enabled and disabled"},
		{"an open reference", `"bad": {"command": "x", "args": ["${A"]}`, "config-entry-invalid:3 not closed"},
		{"a nested reference", `"bad": {"command": "x", "args": ["${A:-${B}}"]}`, "config-entry-invalid:3 inside another"},
		{"an unknown reference", `"bad": {"command": "x", "args": ["${command:pick}"]}`, "config-entry-invalid:3 no kind that is known"},
		{"a reference without a name", `"bad": {"command": "x", "args": ["${}"]}`, "config-entry-invalid:3 no kind that is known"},
		{"a token in place of its variable", `"bad": {"url": "https://a.example/", "bearer_token_env_var": "abc-def"}`, "config-entry-invalid:3 bearer_token_env_var holds something else"},
		{"a token that could be a variable", `"bad": {"url": "https://a.example/", "env_http_headers": {"X": "a1b2c3d4e5f6g7h8i9j0k1"}}`, "secret-in-source:3 env_http_headers holds what looks like a secret"},
		{"a command in a list in a list", `"bad": {"command": [["x"]]}`, "config-entry-invalid:3 a list where command"},
		{"headers of a wrong type", `"bad": {"url": "https://a.example/", "headers": ["A"]}`, "config-entry-invalid:3 headers must be an object"},
		{"request options of a wrong type", `"bad": {"url": "https://a.example/", "requestOptions": "A"}`, "config-entry-invalid:3 requestOptions must be an object"},
		{"names of variables of a wrong type", `"bad": {"command": "x", "env_vars": "A"}`, "config-entry-invalid:3 env_vars must be a list"},
		{"a forwarded variable without a name", `"bad": {"command": "x", "env_vars": [{"source": "local"}]}`, "config-entry-invalid:3 without a name"},
		{"names of header variables of a wrong type", `"bad": {"url": "https://a.example/", "env_http_headers": "A"}`, "config-entry-invalid:3 env_http_headers must be an object"},
		{"an env file by a variable", `"bad": {"command": "x", "envFile": "${DIR}/.env"}`, "config-entry-invalid:3 envFile may refer to"},
		{"a null character", `"bad": {"command": "x\u0000y"}`, "config-entry-invalid:3 null character"},
		{"a token in the file", `"bad": {"url": "https://a.example/", "bearer_token": "abc"}`, "config-entry-invalid:3 bearer_token_env_var"},
		{"a web socket", `"bad": {"url": "https://a.example/", "tcp": "h:1"}`, "config-entry-invalid:3 tcp is not supported"},
		{"a helper that makes headers", `"bad": {"url": "https://a.example/", "headersHelper": "./make"}`, "config-entry-invalid:3 headersHelper"},
		{"a url of another kind", `"bad": {"url": "file:///etc/passwd"}`, "config-entry-invalid:3 another kind"},
		{"a relative url", `"bad": {"url": "/mcp"}`, "config-entry-invalid:3 not absolute"},
		{"a url without a host", `"bad": {"url": "https:///mcp"}`, "config-entry-invalid:3 names no host"},
		{"a url with a line break", `"bad": {"url": "https://a.example/\n"}`, "config-entry-invalid:3 control character"},
		{"an env file that is missing", `"bad": {"command": "x", "envFile": ".env"}`, "config-entry-invalid:3 envFile names cannot be read"},
		{"an env file outside", `"bad": {"command": "x", "envFile": "/etc/passwd"}`, "config-entry-invalid:3 outside the repository"},

		{"a secret in a query", "\"bad\": {\"type\": \"http\",\n\"url\": \"https://a.example/?Api_Key=abcdefgh123\"}", "secret-in-source:4 the value of Api_Key, 11 characters"},
		{"a secret in an escaped query name", `"bad": {"url": "https://a.example/?%74oken=abcdefgh123"}`, "secret-in-source:3 the value of token, 11 characters"},
		{"a secret after a semicolon", `"bad": {"url": "https://a.example/?a=1;sig=abcdefgh123"}`, "secret-in-source:3 the value of sig, 11 characters"},
		{"a secret in a fragment", `"bad": {"url": "https://a.example/#token=abcdefgh123"}`, "secret-in-source:3 the value of token, 11 characters"},
		{"a password in a url", `"bad": {"url": "https://me:pass@a.example/"}`, "config-entry-invalid:3 user name or password"},
		{"a secret beside a reference", `"bad": {"url": "https://a.example/", "headers": {"A": "Bearer abcdefghijklmnop1234 ${X}"}}`, "secret-in-source:3 after its scheme, 20 characters"},
		{"a secret as a default", `"bad": {"command": "x", "env": {"A": "${DB_PASSWORD:-hunter2hunter2}"}}`, "secret-in-source:3 default of ${DB_PASSWORD}, 14 characters"},
		{"a secret as a default in a url", `"bad": {"url": "https://a.example/?k=${API_KEY:-abcdefgh123}"}`, "secret-in-source:3 default of ${API_KEY}, 11 characters"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "{\"mcpServers\": {\n\"good\": {\"command\": \"good\"},\n" + test.entry + "\n}}"
			set, err := Load(t.Context(), options(map[string]string{".mcp.json": text}))
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Servers) != 1 || set.Server("good") == nil {
				t.Errorf("servers %v, want good alone", set.Servers)
			}
			if len(set.Findings) != 1 || len(set.Undecided) != 1 {
				t.Fatalf("findings %v, undecided %v", set.Findings, set.Undecided)
			}
			f := set.Findings[0]
			have := fmt.Sprintf("%s:%d %s", f.Code, f.Place.Line, f.Summary)
			code, part, _ := strings.Cut(test.want, " ")
			if !strings.HasPrefix(have, code+" ") || !strings.Contains(have, part) || f.Place.File != ".mcp.json" {
				t.Errorf("finding %q in %s, want %q", have, f.Place.File, test.want)
			}
			if strings.Contains(f.Summary, "abc") || strings.Contains(f.Summary, "hunter2") {
				t.Errorf("the finding shows the secret: %q", f.Summary)
			}
		})
	}
}

// What looks like a secret by its name or shape and is none.
func TestNoSecret(t *testing.T) {
	for _, entry := range []string{
		`{"url": "https://a.example/?key=${KEY}&token=&page=1"}`,
		`{"url": "https://${USER}:${PASS}@a.example/"}`,
		`{"url": "${BASE_URL}/mcp"}`,
		`{"url": "${BASE_URL}"}`,
		`{"url": "https://a.example/a-long-path-of-some-words/${VERSION:-v2}"}`,
		`{"command": "x", "env": {"A": "${KEYCLOAK_URL:-http://localhost:8080}", "B": "${AUTH_MODE:-none}", "C": "Basic ${TOKEN:-}"}}`,
	} {
		set, err := Load(t.Context(), options(map[string]string{".mcp.json": `{"mcpServers": {"a": ` + entry + `}}`}))
		if err != nil {
			t.Fatal(err)
		}
		if set.Server("a") == nil || len(set.Findings) > 0 {
			t.Errorf("%s: %v", entry, set.Findings)
		}
	}
}

// Edge case 33: full paths hold on one machine only; they are said, and stay as
// spelled.
func TestCase33FullPath(t *testing.T) {
	for command, note := range map[string]bool{
		"/usr/local/bin/npx": true, `C:\\node\\npx.cmd`: true, "~/bin/x": true,
		"npx": false, "./bin/x": false, "${workspaceFolder}/bin/x": false,
	} {
		set, err := Load(t.Context(), options(map[string]string{".mcp.json": `{"mcpServers": {"a": {"command": "` + command + `"}}}`}))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if note {
			want = []string{"source-machine-path a .mcp.json:1"}
		}
		if diff := cmp.Diff(want, got(set).Findings); diff != "" || set.Server("a") == nil {
			t.Errorf("%s: %s", command, diff)
		}
	}
}

// One name in two files.
func TestTwoFiles(t *testing.T) {
	claude := `{"mcpServers": {"a": {"command": "npx", "args": ["a"], "env": {"T": "${T}", "M": "1"}}}}`
	for _, test := range []struct {
		name, second string
		want         string // variants, or what the server has
	}{
		{"the same", claude, "same"},
		{"another spelling", `{"mcpServers": {"a": {"command": "npx", "args": ["a"], "env": {"M": "1", "T": "${env:T}"}}}}`, "same"},
		{"under cmd", `{"mcpServers": {"a": {"command": "CMD.exe", "args": ["/C", "npx.cmd", "a"], "env": {"T": "${T}", "M": "1"}}}}`, "same"},
		{"as a list", `{"mcpServers": {"a": {"command": ["npx", "a"], "env": {"T": "${T}", "M": "1"}}}}`, "same"},
		{"another literal", `{"mcpServers": {"a": {"command": "npx", "args": ["a"], "env": {"T": "${T}", "M": "2"}}}}`, "variants"},
		{"another argument", `{"mcpServers": {"a": {"command": "npx", "args": ["b"], "env": {"T": "${T}", "M": "1"}}}}`, "variants"},
		{"another default", `{"mcpServers": {"a": {"command": "npx", "args": ["a"], "env": {"T": "${T:-x}", "M": "1"}}}}`, "variants"},
		{"switched off where nobody heeds it", `{"mcpServers": {"a": {"command": "other", "disabled": true}}}`, "variants"},
		{"bad in one", `{"mcpServers": {"a": {"command": ""}}}`, "bad"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, err := Load(t.Context(), options(map[string]string{".mcp.json": claude, ".cursor/mcp.json": test.second}))
			if err != nil {
				t.Fatal(err)
			}
			have := ""
			switch s := set.Server("a"); {
			case s == nil:
				have = "bad"
			case set.Server("a@cursor") != nil:
				have = "variants"
			case len(s.Places) == 2:
				have = "same"
			case s.Source.Command == "npx":
				have = "first"
			}
			if have != test.want {
				t.Errorf("%s, want %s", have, test.want)
			}
		})
	}
}
