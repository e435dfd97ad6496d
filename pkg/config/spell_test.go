package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"agentgateway-lock/pkg/source"
)

// A description is a server as a person thinks of it.
type description struct {
	transport source.Transport
	command   string
	args      []string // a word that begins with @ is a path in the repository
	env       []string // variables that are handed on
	url       string
	headers   []string // each named X-NAME, with the variable NAME as its value
}

func randomDescription(r *rand.Rand) description {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	d := description{transport: []source.Transport{source.Stdio, source.HTTP, source.SSE}[r.IntN(3)]}
	if d.transport == source.Stdio {
		if d.command = pick("node", "npx", "uvx", "python3"); d.command == "node" || d.command == "python3" {
			d.args = append(d.args, pick("@tools/server.js", "@server.js", "@a/b/c.py"))
		} else {
			d.args = append(d.args, "-y", pick("server-x@1.0.0", "@scope/server@2.0.0-rc.1"))
			d.args[1] = strings.Replace(d.args[1], "@scope", "\x00scope", 1)
		}
		for range r.IntN(3) {
			d.args = append(d.args, pick("--verbose", "--root=@data/x", "a word with spaces", "8080", "--mode=fast"))
		}
		for _, name := range []string{"TOKEN", "LEVEL"} {
			if r.IntN(2) == 0 {
				d.env = append(d.env, name)
			}
		}
		return d
	}
	d.url = pick("https://mcp.example.com/mcp", "http://localhost:3000/sse", "https://mcp.example.com/v1?mode=fast")
	if r.IntN(2) == 0 {
		d.headers = append(d.headers, "KEY")
	}
	return d
}

// spelledPath is a path of the repository as one client may have it.
func spelledPath(r *rand.Rand, name string) string {
	ways := []string{"./" + name, "${workspaceFolder}/" + name}
	if strings.Contains(name, "/") {
		ways = append(ways, `.\`+strings.ReplaceAll(name, "/", `\`), strings.ReplaceAll(name, "/", `\`))
	}
	return ways[r.IntN(len(ways))]
}

func (d description) words(r *rand.Rand) []string {
	out := []string{}
	for _, a := range d.args {
		if before, name, ok := strings.Cut(a, "@"); ok && (before == "" || before == "--root=") {
			way := spelledPath(r, name)
			if before == "" && r.IntN(2) == 0 {
				way = name // what an interpreter is given is a path anyway
			}
			a = before + way
		}
		out = append(out, strings.Replace(a, "\x00", "@", 1))
	}
	return out
}

// spell is the entry of a description as a client has it, or nil where it cannot be
// said there.
func (c *client) spell(r *rand.Rand, d description) map[string]any {
	s, entry := c.spelled, map[string]any{}
	set := func(member string, value any) {
		if member != "" {
			entry[member] = value
		}
	}
	values := func(names []string, as func(string) string) map[string]string {
		m := map[string]string{}
		for _, name := range names {
			m[as(name)] = fmt.Sprintf(c.variable, name)
		}
		return m
	}
	plain := func(s string) string { return s }
	header := func(s string) string { return "X-" + s }
	codex := c.id == "codex"
	if c.variable == "" && !codex && len(d.env)+len(d.headers) > 0 {
		return nil
	}
	address, kind := "", ""
	switch d.transport {
	case source.Stdio:
		words := d.words(r)
		if kind = s.stdioKind; s.list {
			entry[s.command] = append([]string{d.command}, words...)
		} else {
			entry[s.command], entry[s.args] = d.command, words
		}
		switch {
		case codex && len(d.env) > 0:
			entry["env_vars"] = d.env
		case len(d.env) > 0 || r.IntN(2) == 0 && !codex:
			set(s.env, values(d.env, plain))
		}
	case source.HTTP:
		address, kind = s.http, s.httpKind
	case source.SSE:
		address, kind = s.sse, s.sseKind
	}
	if d.transport != source.Stdio {
		if address == "" {
			return nil
		}
		entry[address] = d.url
		switch {
		case codex && len(d.headers) > 0:
			entry["env_http_headers"] = map[string]string{"X-KEY": "KEY"}
		case len(d.headers) > 0:
			set(s.headers, values(d.headers, header))
		}
	}
	if kind != "" {
		set(s.kind, kind)
	}
	return entry
}

// file is the text of a client's file with one server, by the syntax of its name.
func (c *client) file(name string, container []string, entry map[string]any) string {
	value := any(map[string]any{"a": entry})
	if c.id == "continue" {
		entry["name"] = "a"
		value = []any{entry}
	}
	for _, member := range slices.Backward(container) {
		value = map[string]any{member: value}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	if path.Ext(name) != ".toml" {
		return string(text) // YAML holds JSON
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.a]\n", container[0])
	for member, v := range entry {
		if m, ok := v.(map[string]string); ok {
			var parts []string
			for k, v := range m {
				parts = append(parts, fmt.Sprintf("%s = %q", k, v))
			}
			fmt.Fprintf(&b, "%s = {%s}\n", member, strings.Join(parts, ", "))
			continue
		}
		text, _ := json.Marshal(v)
		fmt.Fprintf(&b, "%s = %s\n", member, text)
	}
	return b.String()
}

// One server that is spelled by every row of the table reads back as the same
// source: alone, and as one server where all rows have it.
func TestEveryClientSpellsOneServer(t *testing.T) {
	r, most := rand.New(rand.NewPCG(9, 1)), 0
	for range 40 {
		d := randomDescription(r)
		text := (&clients[0]).file("x.json", mcpServers, (&clients[0]).spell(r, d))
		set, err := Load(t.Context(), options(map[string]string{".mcp.json": text}))
		if err != nil || set.Server("a") == nil {
			t.Fatalf("%s: %v %v", text, err, set)
		}
		want := set.Server("a").Source

		files, rows, user := map[string]string{}, 0, fstest.MapFS{}
		for i := range clients {
			c := &clients[i]
			if c.gateway {
				continue
			}
			entry := c.spell(r, d)
			if entry == nil {
				continue
			}
			var name string
			container := c.containers[r.IntN(len(c.containers))]
			if len(container) > 1 && container[1] == "{root}" {
				container = c.containers[0]
			}
			alone := fstest.MapFS{}
			o := options(nil)
			if len(c.repository) > 0 {
				name = strings.Replace(c.repository[r.IntN(len(c.repository))], "*", "x", 1)
				text = c.file(name, container, entry)
				alone[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
				if files[name] == "" {
					files[name] = text
					rows++
				}
				o.Repository = alone
			} else {
				o.UserConfigs, o.Home, o.ConfigHome = true, "/home/me", "/home/me/.config"
				folder, rest, _ := strings.Cut(c.user[0], "/")
				name = userFolders(&o)[folder] + "/" + rest
				text = c.file(name, container, entry)
				user[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
				o.Open = func(name string) (fs.File, error) {
					return user.Open(strings.TrimPrefix(filepath.ToSlash(name), "/"))
				}
			}
			set, err := Load(t.Context(), o)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, text, err)
			}
			s := set.Server("a")
			if s == nil {
				t.Fatalf("%s: %s: no server: %v", name, text, set.Findings)
			}
			have := *s.Source
			if d.transport == source.SSE && have.Transport == source.HTTP && c.spelled.sseKind == "" && c.urlTransport == "" {
				have.Transport = source.SSE
			}
			if !Same(want, &have) {
				t.Errorf("%s: %s\nreads as %s\nwant %s", name, text, source.Describe(s.Source), source.Describe(want))
			}
		}
		most = max(most, rows)
		set, err = Load(t.Context(), options(files))
		if err != nil {
			t.Fatal(err)
		}
		if s := set.Server("a"); s == nil || len(set.Servers) != 1 || len(s.Places) < rows {
			t.Errorf("%d files make %d servers: %v\n%v", rows, len(set.Servers), files, set.Findings)
		}
	}
	if most < 20 {
		t.Errorf("at most %d files had the server", most)
	}
}

// Of what looks alike only what runs the same is the same.
func TestNotTheSame(t *testing.T) {
	stdio := func(command string, args ...string) *source.Source {
		return &source.Source{Transport: source.Stdio, Command: command, Args: args}
	}
	for _, test := range []struct {
		a, b *source.Source
		same bool
	}{
		{stdio("npx", "x"), stdio("npx", "./x"), false},
		{stdio("npx", "a/b"), stdio("npx", "./a/b"), false},
		{stdio("npx", "${workspaceFolder}/x"), stdio("npx", "./x"), true},
		{stdio("server"), stdio("./server"), false},
		{stdio("bin/server"), stdio("./bin/server"), true},
		{stdio(`bin\server.exe`), stdio("./bin/server"), true},
		{stdio("node", "x.js"), stdio("node", "./x.js"), true},
		{stdio("node", "--import", "x.js", "y.js"), stdio("node", "--import", "./x.js", "y.js"), false},
		{stdio("go", "run", "x/y"), stdio("go", "run", "./x/y"), false},
		{stdio("uvx", "x"), stdio("uvx", "x "), false},
		{stdio("node", "../x.js"), stdio("node", "x.js"), false},
		{stdio("node", "./a/../x.js"), stdio("node", "x.js"), true},
		{stdio("node", "${userHome}/x.js"), stdio("node", "./x.js"), false},
		{stdio("node", "x.js", "--a=./b"), stdio("node", "x.js", "--a=${workspaceFolder}/b"), true},
		{&source.Source{Transport: source.Stdio, Command: "node", Args: []string{"./x.js"}, Cwd: "sub"},
			&source.Source{Transport: source.Stdio, Command: "node", Args: []string{"${workspaceFolder}/x.js"}, Cwd: "sub"}, false},
		{&source.Source{Transport: source.Stdio, Command: "x", Cwd: "."}, stdio("x"), true},
		{&source.Source{Transport: source.Stdio, Command: "x", Cwd: "${workspaceFolder}"}, stdio("x"), true},
	} {
		if Same(test.a, test.b) != test.same || Same(test.b, test.a) != test.same {
			t.Errorf("%s and %s: same is not %v", source.Describe(test.a), source.Describe(test.b), test.same)
		}
	}
}
