package action_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// adopted is a repository that has run init: one server, locked and committed,
// with the workflow of the gate.
func adopted(t *testing.T, bin string) (dir, workflow string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	config := `{"mcpServers": {"notes": {"command": "mockupstream", "args": ["--stdio"]}}}`
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "agentgateway"), "init")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "adopt agentgateway-lock")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "work on something else")
	text, err := os.ReadFile(filepath.Join(dir, ".github", "workflows", "agentgateway.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, string(text)
}

// tool is a repository with the action of this work tree in one commit.
func tool(t *testing.T) (dir, commit string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "--work-tree="+root, "add", "--", "action", "action.yml", "cmd", "pkg", "schema", "internal", "go.mod", "go.sum")
	git(t, dir, "commit", "-q", "-m", "agentgateway-lock")
	return dir, git(t, dir, "rev-parse", "HEAD")
}

// The workflow that init writes runs as it is, where two variables say what it
// takes the tool from; without them it fails and names both.
func TestWorkflowOfInit(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "../cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repository, workflow := adopted(t, bin)
	action, commit := tool(t)
	run := func(vars map[string]string) (*runner, bool) {
		workspace, temp := filepath.Join(t.TempDir(), "workspace"), t.TempDir()
		event := filepath.Join(temp, "event.json")
		text := fmt.Sprintf(`{"ref": "refs/heads/main", "before": %q, "after": %q, "repository": {"full_name": "team/agents", "default_branch": "main"}}`,
			git(t, repository, "rev-parse", "HEAD^"), git(t, repository, "rev-parse", "HEAD"))
		if err := os.WriteFile(event, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r := &runner{
			t: t, workspace: workspace, values: vars,
			repositories: map[string]string{"": repository, "owner/tool": action},
			env: []string{
				"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GOFLAGS=" + os.Getenv("GOFLAGS"), "CI=true", "GITHUB_ACTIONS=true",
				"GITHUB_WORKSPACE=" + workspace, "GITHUB_EVENT_NAME=push", "GITHUB_EVENT_PATH=" + event,
				"GITHUB_REPOSITORY=team/agents", "GITHUB_REF=refs/heads/main", "GITHUB_SHA=" + git(t, repository, "rev-parse", "HEAD"), "RUNNER_TEMP=" + temp, "GITHUB_OUTPUT=" + filepath.Join(temp, "output"),
				"GITHUB_STEP_SUMMARY=" + filepath.Join(temp, "summary"),
			},
		}
		return r, r.job(workflow)
	}

	r, passed := run(nil)
	log := r.log.String()
	if passed || !strings.Contains(log, "AGENTGATEWAY_LOCK_REPOSITORY") || !strings.Contains(log, "AGENTGATEWAY_LOCK_COMMIT") {
		t.Errorf("without variables: passed %v\n%s", passed, log)
	}
	r, passed = run(map[string]string{"vars.AGENTGATEWAY_LOCK_REPOSITORY": "owner/tool", "vars.AGENTGATEWAY_LOCK_COMMIT": commit[:12]})
	if passed {
		t.Errorf("an abbreviated commit is taken\n%s", r.log.String())
	}
	r, passed = run(map[string]string{"vars.AGENTGATEWAY_LOCK_REPOSITORY": "owner/tool", "vars.AGENTGATEWAY_LOCK_COMMIT": commit})
	if !passed || !strings.Contains(r.log.String(), "notes") {
		t.Errorf("with variables: passed %v\n%s", passed, r.log.String())
	}
}
