package project

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// TestSettledByMemory holds what this user's own lock settles.
func TestSettledByMemory(t *testing.T) {
	w := newWorld(t)
	w.configure("some-server", "--x")
	w.lock()
	w.commit("first")
	w.expect("own lock", GateOptions{}, 0, true)
	if _, dirs := w.gate(GateOptions{}); len(dirs) != 1 || dirs[0] != "/empty" {
		t.Errorf("a command that names nothing of the repository is started in %q", dirs)
	}
	remembered := w.memory
	w.memory = memoryState{}
	rep := w.expect("nobody's lock", GateOptions{}, 3, false, finding.SourceNew)
	if hint := rep.Findings[0].Hint; !strings.Contains(hint, "agentgateway allow") || strings.Contains(hint, "agentgateway lock") {
		t.Errorf("the hint is %q", hint)
	}
	w.expect("nobody's lock, offline", GateOptions{Offline: true}, 0, false)
	if _, err := w.open().Lock(t.Context(), LockOptions{}); err != nil {
		t.Fatal(err)
	}
	w.expect("a lock that found the source in the lockfile", GateOptions{}, 3, false, finding.SourceNew)
	w.memory = remembered
	w.variables["CI"] = "true"
	w.expect("memory in CI", GateOptions{}, 3, false, finding.SourceNew)
	delete(w.variables, "CI")
	w.expect("own lock again", GateOptions{}, 0, true)
	w.git("remote", "add", "origin", "https://example.com/other")
	w.git("update-ref", "refs/remotes/origin/main", "main")
	w.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	w.expect("another remote", GateOptions{}, 3, false, finding.SourceNew)
}

// TestSettledByDefault holds what a clone's default branch settles, and what not.
func TestSettledByDefault(t *testing.T) {
	origin := newWorld(t)
	origin.write("server.sh", "serve")
	origin.configure("sh", "server.sh")
	origin.lock()
	origin.commit("first")
	w := origin.clone()
	w.expect("an unknown remote", GateOptions{}, 3, false, finding.SourceNew)
	if done, err := w.open().Allow(t.Context(), false); err != nil || !done.Changed || done.URL != origin.dir {
		t.Fatalf("allow: %+v, %v", done, err)
	}
	w.expect("a known remote", GateOptions{}, 0, true)
	if _, dirs := w.gate(GateOptions{}); len(dirs) != 1 || dirs[0] != w.dir {
		t.Errorf("code of the repository is started in %q", dirs)
	}
	w.write("server.sh", "evil")
	rep := w.expect("another script", GateOptions{}, 3, false, finding.SurroundingsChanged)
	if detail := rep.Findings[0].Detail; detail != "server.sh" {
		t.Errorf("the files are %q", detail)
	}
	w.expect("another script, offline", GateOptions{Offline: true}, 0, false)
	w.expect("another script, allowed", GateOptions{CompareOptions: CompareOptions{AllowSource: []string{"notes"}}}, 0, true)
	w.expect("the run after it", GateOptions{}, 3, false, finding.SurroundingsChanged)
	w.expect("another script, allowed until the words change", GateOptions{CompareOptions: CompareOptions{AllowSource: []string{"notes"}, Remember: true}}, 0, true)
	w.expect("the run after that", GateOptions{}, 0, true)
	w.configure("sh", "server.sh", "--more")
	w.expect("other words", GateOptions{}, 1, false, finding.SourceChanged)
	w.git("checkout", "-q", "-f", "-b", "topic")
	w.memory = memoryState{}
	if _, err := w.open().Allow(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.write("server.sh", "evil")
	w.commit("another script")
	w.expect("a branch with another script", GateOptions{}, 3, false, finding.SurroundingsChanged)
	w.git("checkout", "-q", "main")
	if done, err := w.open().Allow(t.Context(), true); err != nil || !done.Changed {
		t.Fatalf("allow --remove: %+v, %v", done, err)
	}
	w.memory = memoryState{}
	w.expect("taken back", GateOptions{}, 3, false, finding.SourceNew)
	w.variables["CI"] = "true"
	if _, err := w.open().Allow(t.Context(), false); err == nil {
		t.Error("a remote was accepted in CI")
	}
}

// TestSettledByAsking holds that the user is asked once, and that no answer is no.
func TestSettledByAsking(t *testing.T) {
	origin := newWorld(t)
	origin.write("server.sh", "serve")
	origin.configure("sh", "server.sh")
	origin.lock()
	origin.commit("first")
	w := origin.clone()
	asked := 0
	answer := func(yes bool, err error) {
		w.confirm = func([]string, string) (bool, error) { asked++; return yes, err }
	}
	answer(false, nil)
	w.expect("no", GateOptions{}, 3, false, finding.SourceNew)
	answer(true, errors.New("the terminal is gone"))
	w.expect("no answer", GateOptions{}, 3, false, finding.SourceNew)
	w.expect("offline nobody is asked", GateOptions{Offline: true}, 0, false)
	answer(true, nil)
	w.expect("yes", GateOptions{}, 0, true)
	w.expect("remembered", GateOptions{}, 0, true)
	w.write("server.sh", "changed")
	answer(false, nil)
	w.expect("other files, no", GateOptions{}, 3, false, finding.SurroundingsChanged)
	answer(true, nil)
	w.expect("other files, yes", GateOptions{}, 0, true)
	w.expect("other files, remembered", GateOptions{}, 0, true)
	if asked != 5 {
		t.Errorf("asked %d times", asked)
	}
	w.write("server.sh", "changed again")
	w.confirm = nil
	w.expect("other files again", GateOptions{}, 3, false, finding.SurroundingsChanged)
}

// TestSettledByEvent holds what a CI system's event settles.
func TestSettledByEvent(t *testing.T) {
	w := newWorld(t)
	w.write("server.sh", "serve")
	w.configure("sh", "server.sh")
	w.lock()
	base := w.commit("first")
	w.git("checkout", "-q", "-b", "topic")
	w.write("server.sh", "changed")
	w.configure("sh", "server.sh", "--more")
	w.lock()
	head := w.commit("another command")
	pull := func(repository string) string {
		return `{"pull_request":{"base":{"sha":"` + base + `","repo":{"full_name":"we/p"}},"head":{"sha":"` + head + `","repo":{"full_name":"` + repository + `"}}},"repository":{"default_branch":"main"}}`
	}
	w.event("pull_request", "refs/pull/1/merge", head, pull("we/p"))
	w.expect("a pull request of the repository", GateOptions{}, 0, true)
	w.event("pull_request", "refs/pull/1/merge", head, pull("they/p"))
	w.expect("a fork's", GateOptions{}, 3, false, finding.SourceNew)
	w.expect("a fork's, judged by a branch that it names", GateOptions{CompareOptions: CompareOptions{BaseOptions: BaseOptions{Base: "topic", DefaultBranch: "topic"}}}, 3, false, finding.SourceNew)
	w.event("pull_request_target", "refs/heads/main", base, pull("they/p"))
	w.expect("a fork's, in a workflow of the base", GateOptions{}, 3, false, finding.SourceNew)
	w.event("push", "refs/heads/topic", head, `{"before":"`+head+`","repository":{"default_branch":"main"}}`)
	w.expect("a push", GateOptions{}, 0, true)
	w.event("push", "refs/heads/topic", base, `{"before":"`+base+`","repository":{"default_branch":"main"}}`)
	w.expect("a push of another commit", GateOptions{}, 3, false, finding.SourceNew)
	w.event("issue_comment", "refs/heads/main", base, `{"repository":{"default_branch":"main"}}`)
	w.expect("a comment", GateOptions{}, 3, false, finding.SourceNew)
	w.event("push", "refs/heads/topic", head, `{`)
	w.expect("an event that cannot be read", GateOptions{}, 3, false, finding.SourceNew, finding.HistoryShallow)
	w.git("checkout", "-q", "-b", "free", "main")
	w.write(".github/free", "what no command runs")
	free := w.commit("free")
	w.write("made/by.steps", "what the workflow made")
	w.event("pull_request", "refs/pull/2/merge", free, strings.ReplaceAll(pull("they/p"), head, free))
	w.expect("a fork's that changes nothing that is run", GateOptions{}, 0, true)
	w.write("server.sh", "changed")
	w.expect("a fork's, and another file on disk", GateOptions{}, 3, false, finding.SurroundingsChanged)
	w.git("checkout", "-q", "-f", "main")
	w.event("schedule", "refs/heads/main", base, `{}`)
	w.expect("a schedule", GateOptions{}, 0, true)
	w.event("workflow_dispatch", "refs/heads/topic", base, `{"repository":{"default_branch":"main"}}`)
	w.expect("a start by hand on another branch", GateOptions{}, 3, false, finding.SourceNew)
}

// TestNotSettled holds what is no source to start whatever else is settled.
func TestNotSettled(t *testing.T) {
	w := newWorld(t)
	w.configure("some-server", "--x")
	w.lock()
	w.commit("first")
	allowed := GateOptions{CompareOptions: CompareOptions{AllowSource: []string{"notes", "more"}}}
	w.configure("some-server", "--y")
	w.expect("another command", allowed, 1, false, finding.SourceChanged)
	w.write(".mcp.json", `{"mcpServers":{"notes":{"command":"some-server","args":["--x"]},"more":{"command":"more"}}}`)
	w.expect("a server that is not locked", allowed, 1, true, finding.ServerAdded)
	for _, spec := range w.started {
		if spec.Command == "more" {
			t.Error("a server that is not locked was started")
		}
	}
	w.configure("some-server", "--x")
	w.edit("agentgateway.lock", `"source": {`, `"absent": true,
      "source": {`)
	w.commit("absent")
	w.expect("a server that is absent in the lockfile", allowed, 1, false, finding.ServerAdded, finding.LockfileOrder)
	w.git("revert", "--no-edit", "HEAD")
	w.write(".mcp.json", `{"mcpServers":{}}`)
	w.expect("a server that is gone", allowed, 1, false, finding.ServerRemoved)
	w.configure("some-server", "--x")
	w.expect("nothing may be started", GateOptions{CompareOptions: CompareOptions{NoExec: true}}, 3, false, finding.ServerNotStarted)
	// A client that obeys has it off; one that does not starts it.
	w.write(".mcp.json", `{"mcpServers":{}}`)
	w.write("opencode.json", `{"mcp":{"notes":{"type":"local","command":["some-server","--x"],"enabled":false}}}`)
	w.expect("switched off", allowed, 0, false)
	w.write("opencode.json", `{"mcp":{"notes":{"type":"local","command":["some-server","--evil"],"enabled":false}}}`)
	w.expect("switched off, with another command", allowed, 1, false, finding.SourceChanged)
}

// TestDiskIsHead holds that what the default branch settles has to be on disk.
func TestDiskIsHead(t *testing.T) {
	origin := newWorld(t)
	origin.configure("some-server", "--old")
	origin.lock()
	origin.commit("first")
	origin.configure("some-server", "--x")
	origin.lock()
	origin.commit("second")
	w := origin.clone()
	if _, err := w.open().Allow(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.expect("as merged", GateOptions{}, 0, true)
	w.git("checkout", "-q", "HEAD~1", "--", ".mcp.json", "agentgateway.lock", ".agentgateway")
	w.expect("an older state on disk", GateOptions{}, 3, false, finding.SourceNew)
	w.git("checkout", "-q", "HEAD", "--", ".")
	w.edit("agentgateway.lock", `"generatedBy": "`, `"generatedBy": "x`)
	w.expect("another lockfile on disk", GateOptions{}, 3, false, finding.SourceNew)
	w.git("checkout", "-q", "HEAD", "--", ".")
	w.git("checkout", "-q", "--detach", "HEAD~1")
	w.expect("words that were withdrawn", GateOptions{}, 3, false, finding.SourceNew)
}

// TestConfigurationIsHeads holds that a configuration on disk that fits the lockfile,
// where HEAD's does not, is not what was merged.
func TestConfigurationIsHeads(t *testing.T) {
	origin := newWorld(t)
	origin.configure("some-server", "--x")
	origin.lock()
	origin.configure("some-server", "--y")
	origin.commit("the configuration is another")
	w := origin.clone()
	if _, err := w.open().Allow(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	w.expect("as merged", GateOptions{}, 1, false, finding.SourceChanged)
	w.configure("some-server", "--x")
	w.expect("made to fit on disk", GateOptions{}, 3, false, finding.SourceNew)
}

// TestApprovedByWhom holds that the approvals of a list that nothing vouches for, as in
// a stranger's clone, settle nothing.
func TestApprovedByWhom(t *testing.T) {
	ctx := t.Context()
	r, err := approved.New(ctx, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := surface.NewList(surface.KindTool, nil)
	src := &source.Source{Transport: source.Stdio, Command: "sh", Args: []string{"server.sh"}}
	if err := r.Put(ctx, "notes", src, surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}); err != nil {
		t.Fatal(err)
	}
	if err := r.DecideEach(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(".mcp.json", []byte(`{"mcpServers":{"notes":{"command":"sh","args":["server.sh"]}}}`)); err != nil {
		t.Fatal(err)
	}
	if err := r.Write("server.sh", []byte("serve")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(ctx, "approved"); err != nil {
		t.Fatal(err)
	}
	root := r.Root().String()
	for _, c := range []struct {
		name string
		root *string
		want bool
	}{{"pinned", &root, true}, {"not pinned", nil, false}} {
		w := &world{t: t, dir: r.Dir, variables: map[string]string{}, memory: memoryState{}, root: c.root}
		rep, dirs := w.gate(GateOptions{})
		if (len(dirs) > 0) != c.want {
			t.Errorf("%s: started in %q: %+v", c.name, dirs, rep.Findings)
		}
	}
	w := &world{t: t, dir: r.Dir, variables: map[string]string{}, memory: memoryState{}, root: &root}
	w.write("server.sh", "evil")
	w.expect("pinned, and another script", GateOptions{}, 3, false, finding.SurroundingsChanged)
	w.write("server.sh", "serve")
	src.Args = []string{"server.sh", "--more"}
	if err := r.Put(ctx, "notes", src, surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}); err != nil {
		t.Fatal(err)
	}
	w.configure("sh", "server.sh", "--more")
	if _, err := r.Commit(ctx, "not approved"); err != nil {
		t.Fatal(err)
	}
	if rep, dirs := w.gate(GateOptions{}); len(dirs) > 0 {
		t.Errorf("words that nobody approved were started: %+v", rep.Findings)
	}
	rep, err := w.open().Compare(ctx, CompareOptions{FailOn: finding.Info})
	if err != nil || !slices.ContainsFunc(rep.Findings, func(f finding.Finding) bool { return f.Code == finding.SourceNew }) {
		t.Errorf("words that nobody approved: %v, %+v", err, rep)
	}
}

// TestRememberedSurroundings holds that what a lock remembers is the words in what they
// ran then, and that committing changes nothing.
func TestRememberedSurroundings(t *testing.T) {
	w := newWorld(t)
	w.write("server.sh", "serve")
	w.configure("sh", "server.sh")
	w.lock()
	w.expect("not committed", GateOptions{}, 0, true)
	w.commit("first")
	w.expect("committed", GateOptions{}, 0, true)
	w.write("new.sh", "new")
	w.expect("a new file", GateOptions{}, 3, false, finding.SurroundingsChanged)
	w.write(".git/info/exclude", "new.sh")
	w.expect("one that git ignores", GateOptions{}, 0, true)
	w.write("server.sh", "evil")
	w.expect("another script", GateOptions{}, 3, false, finding.SurroundingsChanged)
	w.lock()
	w.expect("locked again", GateOptions{}, 0, true)
}
