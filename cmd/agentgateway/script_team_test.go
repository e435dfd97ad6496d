package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgateway-lock/pkg/finding"
)

// treeFile is one file of a remembered tree.
type treeFile struct {
	mode fs.FileMode
	data string
}

// readTree reads the regular files below dir that keep chooses, by their paths.
func readTree(dir string, keep func(name string) bool) (map[string]treeFile, error) {
	files := map[string]treeFile{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || !keep(filepath.ToSlash(name)) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = treeFile{info.Mode().Perm(), string(data)}
		return err
	})
	return files, err
}

// A teamTree is what team has made once, for all scripts.
type teamTree struct {
	sync.Mutex
	files map[string]treeFile
	env   map[string]string
}

var madeTeam teamTree

// teamVariables are those that team sets.
var teamVariables = []string{"ROOT", "ROOT1", "REVIEW"}

// cmdTeam makes the repository that most scripts begin with, and goes there: Alice,
// an admin and approver, and Bob, the same, are listed; Alice has locked the servers
// notes (HTTP) and local (stdio), and Bob has approved all of it. ROOT is the trust
// root, ROOT1 the digest of version 1. Mallory has a key and is not listed.
//
//	team
func cmdTeam(ts *testscript.TestScript, _ bool, _ []string) {
	cmdUpstream(ts, false, []string{"start", "notes"})
	madeTeam.Lock()
	defer madeTeam.Unlock()
	work := ts.Getenv("WORK")
	if madeTeam.files == nil {
		makeTeam(ts, work)
		files, err := readTree(work, func(name string) bool {
			return strings.HasPrefix(name, "repo/") || strings.HasPrefix(name, ".home/")
		})
		ts.Check(err)
		env := map[string]string{}
		for _, name := range teamVariables {
			env[name] = ts.Getenv(name)
		}
		// The keys are named by their paths in what git is told.
		madeTeam.files, madeTeam.env = files, env
		return
	}
	for name, f := range madeTeam.files {
		if path := filepath.Join(work, name); filepath.Dir(path) != "" {
			ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			if _, err := os.Lstat(path); err != nil || !strings.HasPrefix(name, "repo") {
				ts.Check(os.WriteFile(path, []byte(f.data), f.mode))
			}
		}
	}
	for _, empty := range []string{"repo/.git/refs/tags", "repo/.git/objects/info", "repo/.git/objects/pack"} {
		ts.Check(os.MkdirAll(filepath.Join(work, empty), 0o755))
	}
	for name, value := range madeTeam.env {
		ts.Setenv(name, value)
	}
	ts.Check(ts.Chdir(filepath.Join(work, "repo")))
	cmdAs(ts, false, []string{"alice"})
}

func makeTeam(ts *testscript.TestScript, work string) {
	repo := filepath.Join(work, "repo")
	ts.Check(os.MkdirAll(repo, 0o755))
	ts.Check(ts.Chdir(repo))
	cmdGitInit(ts, false, nil)
	ts.Check(os.WriteFile(filepath.Join(repo, ".mcp.json"), []byte(teamConfig), 0o644))
	cmdKeygen(ts, false, []string{"alice", "bob", "mallory"})
	cmdAs(ts, false, []string{"alice"})
	run := func(args ...string) { cmdExitcode(ts, false, slices.Concat([]string{"0"}, args)) }
	run("agentgateway", "lock", "--allow-private", "notes")
	cmdGitCommit(ts, false, []string{".", "Lock the servers"})
	run("agentgateway", "trust", "init", "--as", "alice@example.com", "--person", "Alice")
	cmdLastline(ts, false, []string{"trust-root", "ROOT1"})
	run("agentgateway", "trust", "add", "bob@example.com", "--person", "Bob", "--key", keyFile(ts, "bob")+".pub", "--role", "approver", "--role", "admin")
	cmdLastline(ts, false, []string{"trust-root", "ROOT"})
	cmdAs(ts, false, []string{"bob"})
	cmdApprove(ts, false, nil)
	cmdAs(ts, false, []string{"alice"})
}

const teamConfig = `{"mcpServers": {"notes": {"url": "${NOTES_URL}"}, "local": {"command": "mockserver"}}}
`

// cmdPR checks a pull request out as GitHub does for its workflows: the commit that
// merges the branch into main, with the event in GITHUB_EVENT_PATH; done goes back to
// main:
//
//	pr BRANCH [fork]
//	pr done
func cmdPR(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: pr BRANCH [fork] | pr done")
	}
	if args[0] == "done" {
		noEvent(ts)
		ts.Check(ts.Exec("git", "checkout", "-q", "-f", "main"))
		return
	}
	base := revision(ts, "main")
	ts.Check(ts.Exec("git", "checkout", "-q", "--detach", "main"))
	ts.Check(ts.Exec("git", "-c", "user.name=GitHub", "-c", "user.email=noreply@github.com",
		"merge", "-q", "--no-ff", "-m", "Merge "+args[0]+" into main", args[0]))
	head := "we/project"
	if len(args) > 1 {
		head = "they/project"
	}
	setEvent(ts, "pull_request", "refs/pull/1/merge", map[string]any{"pull_request": map[string]any{
		"base": map[string]any{"sha": base, "repo": map[string]string{"full_name": "we/project"}},
		"head": map[string]any{"sha": revision(ts, args[0]), "repo": map[string]string{"full_name": head}},
	}})
}

// cmdEvent makes the run one of a workflow that a push has started, BEFORE being what
// the branch was; none goes back:
//
//	event push BEFORE
//	event none
func cmdEvent(ts *testscript.TestScript, _ bool, args []string) {
	switch {
	case len(args) == 2 && args[0] == "push":
		setEvent(ts, "push", "refs/heads/main", map[string]any{"before": args[1]})
	case len(args) == 1 && args[0] == "none":
		noEvent(ts)
	default:
		ts.Fatalf("usage: event push BEFORE | event none")
	}
}

func noEvent(ts *testscript.TestScript) {
	for _, name := range []string{"CI", "GITHUB_ACTIONS", "GITHUB_EVENT_PATH", "GITHUB_EVENT_NAME", "GITHUB_SHA", "GITHUB_REF"} {
		ts.Setenv(name, "")
	}
}

// revision is the commit that a name means.
func revision(ts *testscript.TestScript, name string) string {
	ts.Check(ts.Exec("git", "rev-parse", "--verify", name+"^{commit}"))
	return strings.TrimSpace(ts.ReadFile("stdout"))
}

// setEvent makes the run one of a GitHub workflow that an event about HEAD started.
func setEvent(ts *testscript.TestScript, name, ref string, event map[string]any) {
	event["repository"] = map[string]string{"full_name": "we/project", "default_branch": "main"}
	data, err := json.Marshal(event)
	ts.Check(err)
	path := filepath.Join(ts.Getenv("HOME"), "event.json")
	ts.Check(os.WriteFile(path, data, 0o600))
	for name, value := range map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": path,
		"GITHUB_EVENT_NAME": name, "GITHUB_SHA": revision(ts, "HEAD"), "GITHUB_REF": ref,
	} {
		ts.Setenv(name, value)
	}
}

// cmdVerdict runs the gate under the trust root of the variable ROOT and holds it
// to just those codes of findings that fail, or are undecided; none of them is a
// pass. A note is named as note:CODE and need not be:
//
//	verdict [live] [CODE…] [note:CODE…]
//
// Without live nothing is started or contacted.
func cmdVerdict(ts *testscript.TestScript, _ bool, args []string) {
	command := []string{"ci", "--format", "json"}
	if root := ts.Getenv("ROOT"); root != "" {
		command = append(command, "--trust-root", root)
	}
	if len(args) > 0 && args[0] == "live" {
		args = args[1:]
	} else {
		command = append(command, "--offline")
	}
	var fails, notes []string
	for _, arg := range args {
		if note, ok := strings.CutPrefix(arg, "note:"); ok {
			notes = append(notes, note)
		} else {
			fails = append(fails, arg)
		}
	}
	_ = ts.Exec("agentgateway", command...) // the exit code is in the report
	var report struct {
		ExitCode int
		Findings []finding.Finding
	}
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &report); err != nil {
		ts.Fatalf("there is no report: %v\n%s", err, ts.ReadFile("stderr"))
	}
	found, noted := map[string]bool{}, map[string]bool{}
	var text strings.Builder
	for _, f := range report.Findings {
		if f.Grade == finding.Note && !f.Undecided {
			noted[string(f.Code)] = true
			continue
		}
		found[string(f.Code)] = true
		fmt.Fprintf(&text, "%s %s %s: %s\n", f.Grade, f.Code, f.Place, f.Summary)
	}
	slices.Sort(fails)
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, fails) {
		ts.Fatalf("the verdict is %q, want %q:\n%s", got, fails, text.String())
	}
	if (report.ExitCode == 0) != (len(fails) == 0) {
		ts.Fatalf("the exit code is %d for %q", report.ExitCode, fails)
	}
	for _, note := range notes {
		if !noted[note] {
			ts.Fatalf("the note %s is missing; there are %q", note, slices.Sorted(maps.Keys(noted)))
		}
	}
}
