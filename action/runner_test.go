package action_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// runner stands in for the runner of GitHub, as far as the workflow of init needs
// one: it checks out from folders, and runs shell steps and local composite
// actions. Actions of others are taken for done.
type runner struct {
	t            *testing.T
	workspace    string
	repositories map[string]string // OWNER/NAME -> folder; empty for the workflow's own
	values       map[string]string // of expressions
	env          []string
	log          strings.Builder
}

type step struct {
	Name, Uses, Run string
	WorkingDir      string            `yaml:"working-directory"`
	Env, With       map[string]string `yaml:",omitempty"`
}

// job runs the steps of the one job of a workflow, and reports whether all passed.
func (r *runner) job(workflow string) bool {
	r.t.Helper()
	var file struct {
		Jobs map[string]struct{ Steps []step }
	}
	if err := yaml.Unmarshal([]byte(workflow), &file); err != nil || len(file.Jobs) != 1 {
		r.t.Fatalf("%d jobs: %v", len(file.Jobs), err)
	}
	for _, job := range file.Jobs {
		return r.steps(job.Steps, r.values)
	}
	return false
}

func (r *runner) steps(steps []step, values map[string]string) bool {
	r.t.Helper()
	for _, s := range steps {
		if !r.step(s, values) {
			return false
		}
	}
	return true
}

func (r *runner) step(s step, values map[string]string) bool {
	r.t.Helper()
	with := map[string]string{}
	for name, value := range s.With {
		with[name] = r.expand(value, values)
	}
	switch {
	case s.Run != "":
		cmd := exec.CommandContext(r.t.Context(), "bash", "-eo", "pipefail", "-c", r.expand(s.Run, values))
		cmd.Dir = filepath.Join(r.workspace, r.expand(s.WorkingDir, values))
		if filepath.IsAbs(r.expand(s.WorkingDir, values)) {
			cmd.Dir = r.expand(s.WorkingDir, values)
		}
		cmd.Env = r.env
		for name, value := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+r.expand(value, values))
		}
		out, err := cmd.CombinedOutput()
		fmt.Fprintf(&r.log, "== %s\n%s", s.Name, out)
		return err == nil
	case strings.HasPrefix(s.Uses, "actions/checkout@"):
		r.checkout(r.repositories[with["repository"]], with["ref"], filepath.Join(r.workspace, with["path"]))
	case strings.HasPrefix(s.Uses, "./"):
		return r.composite(filepath.Join(r.workspace, s.Uses), with)
	}
	return true
}

// composite runs a local action with its own inputs.
func (r *runner) composite(folder string, with map[string]string) bool {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "action.yml"))
	if err != nil {
		r.t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct{ Steps []step }
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		r.t.Fatal(err)
	}
	values := maps.Clone(r.values)
	values["github.action_path"] = folder
	for name, input := range action.Inputs {
		values["inputs."+name] = input.Default
		if given, ok := with[name]; ok {
			values["inputs."+name] = given
		}
	}
	return r.steps(action.Runs.Steps, values)
}

func (r *runner) checkout(from, ref, to string) {
	r.t.Helper()
	if from == "" {
		r.t.Fatal("there is no such repository to check out")
	}
	git(r.t, from, "clone", "--quiet", from, to)
	if ref != "" {
		git(r.t, to, "checkout", "--quiet", "--detach", ref)
	}
}

var expression = regexp.MustCompile(`\$\{\{ *([\w.-]+) *\}\}`)

func (r *runner) expand(text string, values map[string]string) string {
	return expression.ReplaceAllStringFunc(text, func(m string) string {
		name := expression.FindStringSubmatch(m)[1]
		value, ok := values[name]
		if !ok && !strings.HasPrefix(name, "vars.") { // what is not set is empty
			r.t.Errorf("the runner does not know %s", name)
		}
		return value
	})
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
