package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// obeyed is a text with all that a terminal or a runner obeys: colours, a title, an
// override of the direction, what a workflow runs.
const obeyed = "evil\x1b[31m\x1b]0;t\x07\u202e\u200b\u0085\n::stop-commands::x\r\n  ::error::y ##[error]z ##vso[task.x]w\u2028"

// hostileStates are what a pull request can have made of a tree, each with obeyed
// wherever it fits.
var hostileStates = []struct {
	name string
	make func(w *oddWorld)
}{
	{"names, texts, copies and reasons", hostileNames},
	{"a stray trust version", func(w *oddWorld) { w.write(".agentgateway/trust/"+fileName(obeyed), "{}") }},
	{"a stray decision", func(w *oddWorld) { w.write(".agentgateway/decisions/"+fileName(obeyed), "{}") }},
	{"a stray link", func(w *oddWorld) {
		w.ts.Check(os.Symlink(fileName(obeyed), w.path(".agentgateway/decisions/"+fileName(obeyed))))
	}},
	{"a broken lockfile", func(w *oddWorld) {
		w.write("agentgateway.lock", fmt.Sprintf("{\"lockfileVersion\": 1, %q: 1}", strings.ToValidUTF8(obeyed, "")))
	}},
	{"a raw lockfile", func(w *oddWorld) { w.write("agentgateway.lock", "{\""+obeyed+"\": 1}") }},
	{"a raw configuration", func(w *oddWorld) { w.write(".mcp.json", "{\"mcpServers\": {\""+obeyed+"\": 1}}") }},
	{"a raw decision", func(w *oddWorld) { w.write(w.decision, "{\""+obeyed+"\": 1}") }},
}

// fileName is a text as one element of a path.
func fileName(text string) string { return strings.ReplaceAll(text, "/", "-") }

// hostileNames locks a server and a tool of hostile names and words, and leaves a copy
// that is not escaped.
func hostileNames(w *oddWorld) {
	dir, err := lockfile.OpenDir(w.path("."))
	w.ts.Check(err)
	defer func() { _ = dir.Close() }()
	store := lockfile.NewStore(dir, lockfile.DefaultName)
	old, err := store.Read()
	w.ts.Check(err)
	fresh := *old
	fresh.Servers = slices.Clone(old.Servers)
	list, _ := surface.NewList(surface.KindTool, [][]byte{
		fmt.Appendf(nil, `{"name":%s,"description":%s,"inputSchema":{"type":"object","properties":{%[1]s:{"description":%[2]s}}}}`, jsonText(obeyed), jsonText(obeyed)),
		[]byte(`{"name":"tool","inputSchema":{"type":"object"}}`),
	})
	seen := surface.Surface{Instructions: surface.NewInstructions(obeyed), Lists: map[surface.Kind]surface.List{surface.KindTool: list}}
	for _, name := range []string{obeyed, "plain"} {
		fresh.Put(lockfile.FromSurface(name, &source.Source{Transport: source.HTTP, URL: "https://example.com/mcp"}, surface.AllCovers(), seen))
	}
	_, err = store.Write(context.Background(), lockfile.Change{Old: old, New: &fresh, Surfaces: map[string]surface.Surface{obeyed: seen, "plain": seen}})
	w.ts.Check(err)
	found, err := filepath.Glob(w.path(".agentgateway/definitions/plain/tool/tool.json"))
	w.ts.Check(err)
	w.ts.Check(os.WriteFile(found[0], []byte("{\""+obeyed+"\": 1}\n"), 0o600))
}

func jsonText(s string) string {
	return string(textcheck.EscapeUnicode(nil, fmt.Sprintf("%q", strings.NewReplacer("\x1b", "", "\x07", "", "\u0085", "").Replace(s)), 0))
}

// printedRuns are what is run of every command; FORMAT stands for each format.
var printedRuns = map[string][]string{
	"init": {"init --no-workflow"}, "lock": {"lock --dry-run --format FORMAT"},
	"diff":    {"diff --no-exec --format FORMAT", "diff --no-exec --full", "diff --from HEAD~1"},
	"ci":      {"ci --offline --format FORMAT", "ci --offline --base main --format FORMAT", "ci --offline --base NAME"},
	"allow":   {"allow --remove"},
	"review":  {"review", "review --format json", "review --format markdown", "review NAME"},
	"approve": {"approve --review NAME", "approve plain/tool --hash NAME", "approve NAME --hash 0123456789abcdef", "approve --reason NAME"},
	"reject":  {"reject NAME", "reject plain/NAME --no-commit"}, "disable": {"disable plain/NAME --no-commit --reason NAME"},
	"enable": {"enable NAME"}, "pause": {"pause NAME --no-commit"}, "resume": {"resume NAME"}, "rollback": {"rollback NAME --to NAME"},
	"trust":  {"trust show", "trust add NAME --key NAME --role approver", "trust set NAME=NAME", "trust sign"},
	"audit":  {"audit verify", "audit log", "audit log --format json", "audit log NAME", "audit show NAME", "audit show ID", "audit show ID --statement", "audit show ID --signature 1"},
	"revert": {"revert NAME"},
	"seal":   {"seal", "seal --tag NAME"}, "verify": {"verify", "verify --tag NAME", "verify --signature NAME"}, "bundle": {"bundle -", "bundle NAME/x"},
	"serve": {"serve --repo NAME --ref NAME"},
	"list":  {"list", "list --format json"}, "show": {"show NAME", "show plain --full", "show plain/tool", "show plain/NAME", "show plain/instructions"},
	"explain": {"explain NAME"}, "hash": {"hash NAME", "hash .mcp.json", "hash --format text agentgateway.lock"},
	"version": {"version", "version NAME"}, "completion": {"completion bash"}, "complete": {"complete servers", "complete items"}, "man": {"man"},
	"demo": nil, // of texts of its own alone
}

// runnerCommand is what a runner would obey of a hostile text.
var runnerCommand = regexp.MustCompile(`(?m)^ *::(stop-commands|error::y)|(?i)##\[|##vso\[`)

// cmdPrinted runs every command over trees with hostile words in every place and
// holds that nothing of them is obeyed:
//
//	printed
func cmdPrinted(ts *testscript.TestScript, _ bool, _ []string) {
	for _, c := range commands {
		if _, ok := printedRuns[c.name]; !ok {
			ts.Fatalf("the command %s is not run", c.name)
		}
	}
	for i, state := range hostileStates {
		ts.Check(ts.Exec("git", "checkout", "-q", "-f", "-B", "evil", "main"))
		w := &oddWorld{ts: ts, decision: aDecision(ts)}
		id := strings.TrimSuffix(filepath.Base(w.decision), ".json")
		state.make(w)
		ts.Check(ts.Exec("git", "add", "-A"))
		ts.Check(ts.Exec("git", "-c", "user.name="+obeyed, "-c", "user.email="+fileName(obeyed), "commit", "-q", "-m", obeyed))
		for _, c := range commands {
			lines, formats := printedRuns[c.name], []string{"text", "json", "markdown", "sarif", "github"}
			if i > 0 && len(lines) > 0 { // a tree that is read no further than to what is odd
				lines, formats = lines[:1], []string{"text", "github"}
			}
			for _, line := range lines {
				for _, format := range formats {
					if format != "text" && !strings.Contains(line, "FORMAT") {
						continue
					}
					args := strings.Fields(line)
					for i, arg := range args {
						args[i] = strings.NewReplacer("FORMAT", format, "NAME", obeyed, "ID", id).Replace(arg)
					}
					printsSafely(ts, state.name, args)
				}
			}
		}
	}
}

func printsSafely(ts *testscript.TestScript, state string, args []string) {
	err := ts.Exec("agentgateway", args...)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		ts.Check(err)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		out := ts.ReadFile(stream)
		i := strings.IndexFunc(out, func(r rune) bool {
			tab := r == '\t' && (args[0] == "completion" || args[0] == "man")
			return r != '\n' && !tab && textcheck.Invisible(r) || r == '\ufffd'
		})
		if i >= 0 {
			ts.Fatalf("%s: %q prints %q on %s", state, args, out[max(0, i-60):min(len(out), i+60)], stream)
		}
		if at := runnerCommand.FindStringIndex(out); at != nil {
			ts.Fatalf("%s: %q prints %q on %s", state, args, out[max(0, at[0]-60):min(len(out), at[1]+60)], stream)
		}
	}
	ts.Check(ts.Exec("git", "reset", "-q", "--hard"))
	ts.Check(ts.Exec("git", "clean", "-qfdx"))
}
