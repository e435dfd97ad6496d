package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fiveServers are the packages of the real servers and how node starts each.
var fiveServers = []struct{ name, pkg, entry string }{
	{"everything", "@modelcontextprotocol/server-everything", "dist/index.js"},
	{"filesystem", "@modelcontextprotocol/server-filesystem", "dist/index.js"},
	{"memory", "@modelcontextprotocol/server-memory", "dist/index.js"},
	{"sequential-thinking", "@modelcontextprotocol/server-sequential-thinking", "dist/index.js"},
	{"playwright", "@playwright/mcp", "cli.js"},
}

func realRepository(t *testing.T) *repository {
	t.Helper()
	r := newRepository(t)
	servers := map[string][]string{}
	for _, s := range fiveServers {
		r.link(s.name, s.pkg)
		servers[s.name] = []string{"servers/" + s.name + "/" + s.entry}
	}
	servers["filesystem"] = append(servers["filesystem"], ".")
	r.configure(servers)
	return r
}

// The real servers are locked, compared and gated, twice: nothing differs, and
// not a byte changes.
func TestRealServers(t *testing.T) {
	r := realRepository(t)
	out, _ := r.run(0, "init")
	for _, s := range fiveServers {
		holds(t, out, s.name)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "pin")
	first := r.pinned()
	var lock struct {
		Servers map[string]struct{ Tools []any }
	}
	if err := json.Unmarshal([]byte(first["/agentgateway.lock"]), &lock); err != nil {
		t.Fatal(err)
	}
	// The numbers of tools are those that a client of a few lines lists.
	tools := map[string]int{}
	for name, s := range lock.Servers {
		tools[name] = len(s.Tools)
	}
	want := map[string]int{"everything": 13, "filesystem": 14, "memory": 9, "sequential-thinking": 1, "playwright": 25}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		out, _ = r.run(0, "diff")
		holds(t, out, "nothing has changed")
		r.run(0, "ci")
		out, _ = r.run(0, "lock")
		holds(t, out, "agentgateway.lock is as it was")
	}
	if diff := cmp.Diff(first, r.pinned()); diff != "" {
		t.Error(diff)
	}
}

// A server that is upgraded under an unchanged command: the gate fails and shows
// the changed words with their grades.
func TestUpgradeUnderAnUnchangedCommand(t *testing.T) {
	r := newRepository(t)
	r.link("everything", "everything-2025")
	r.configure(map[string][]string{"everything": {"servers/everything/dist/index.js"}})
	r.run(0, "init")
	r.run(0, "ci")
	r.link("everything", "@modelcontextprotocol/server-everything")
	// What the command runs is not what it was: nobody but its user can say that the
	// new program may start.
	out, _ := r.run(3, "ci")
	holds(t, out, "surroundings-changed", "servers/everything")
	out, _ = r.run(1, "ci", "--allow-source", "everything")
	holds(t, out, "fail", "everything", "warning    tool echo", "Echoes back the input", "Echoes back the input string", "tool printEnv removed", "tool get-env added")
	before := r.pinned()
	r.run(1, "diff", "--allow-source", "everything")
	r.run(0, "lock", "--dry-run")
	if diff := cmp.Diff(before, r.pinned()); diff != "" {
		t.Error(diff)
	}
	r.run(0, "lock")
	r.run(0, "ci")
}

// A version that is raised inside the command: the gate fails, shows both
// commands, starts neither, and says how to look at the new one.
func TestRaisedVersion(t *testing.T) {
	r := newRepository(t)
	r.link("everything@2025.9.25", "everything-2025")
	r.link("everything@2026.8.31", "@modelcontextprotocol/server-everything")
	started := filepath.Join(r.dir, "started")
	r.write("start.mjs", `import { appendFileSync } from "node:fs";
appendFileSync("started", process.argv[2] + "\n");
const entry = new URL("servers/everything@" + process.argv[2] + "/dist/index.js", import.meta.url);
process.argv.splice(2, 1);
await import(entry);
`)
	r.configure(map[string][]string{"everything": {"start.mjs", "2025.9.25"}})
	r.run(0, "init")
	if data, err := os.ReadFile(started); err != nil || !strings.Contains(string(data), "2025.9.25") {
		t.Fatalf("the first lock started %q (%v)", data, err)
	}
	if err := os.Remove(started); err != nil {
		t.Fatal(err)
	}
	r.configure(map[string][]string{"everything": {"start.mjs", "2026.8.31"}})
	for _, command := range []string{"ci", "diff"} {
		out, errs := r.run(1, command)
		holds(t, out, "critical", "source-changed", "node start.mjs 2025.9.25", "node start.mjs 2026.8.31", "lock --dry-run")
		if strings.Contains(errs, "starting") {
			t.Errorf("%s says that it starts something:\n%s", command, errs)
		}
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("a server was started")
	}
	out, errs := r.run(0, "lock", "--dry-run")
	holds(t, errs, "starting node start.mjs 2026.8.31")
	holds(t, out, "nothing was written", "tool echo")
	r.run(1, "ci")
	r.run(0, "lock")
	r.run(0, "ci")
}
