// Package action_test runs the script of the GitHub Action against a stand-in for
// the command.
package action_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGate(t *testing.T) {
	tests := []struct {
		name     string
		env      []string
		exit     string // of the command
		wantArgs string
		wantOut  string // of the step; empty where the script refuses
		wantCode int
	}{
		{"pass", nil, "0", "ci --fail-on=info", "verdict=pass\nexit-code=0\n", 0},
		{"findings", nil, "1", "ci --fail-on=info", "verdict=fail\nexit-code=1\n", 1},
		{"a run that could not begin is a failure", nil, "2", "ci --fail-on=info", "verdict=fail\nexit-code=2\n", 2},
		{"undecided", nil, "3", "ci --fail-on=info", "verdict=undecided\nexit-code=3\n", 3},
		{"every input", []string{"INPUT_COMMAND=offline", "INPUT_FAIL_ON=critical", "INPUT_NO_EXEC=true", "INPUT_BASE_REF=main", "INPUT_SARIF_FILE=a b.sarif", "INPUT_JSON_FILE=r.json"},
			"0", "ci --fail-on=critical --offline --no-exec --base=main --report=sarif=a b.sarif --report=json=r.json", "verdict=pass\nexit-code=0\n", 0},
		{"an input is data", []string{"INPUT_BASE_REF=$(touch pwned); --help"}, "0", "ci --fail-on=info --base=$(touch pwned); --help", "verdict=pass\nexit-code=0\n", 0},
		{"unknown command", []string{"INPUT_COMMAND=lock"}, "0", "", "", 2},
		{"unknown grade", []string{"INPUT_FAIL_ON=note"}, "0", "", "", 2},
	}
	script, err := filepath.Abs("gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			command := filepath.Join(dir, "agentgateway")
			body := "#!/usr/bin/env bash\nprintf '%s' \"$*\" >\"" + dir + "/args\"\nexit " + tt.exit + "\n"
			if err := os.WriteFile(command, []byte(body), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "bash", script, command)
			cmd.Dir = dir
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + dir + "/output",
				"INPUT_COMMAND=ci", "INPUT_FAIL_ON=info", "INPUT_NO_EXEC=false"}, tt.env...)
			out, err := cmd.CombinedOutput()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != tt.wantCode {
				t.Errorf("exit code %d, want %d\n%s", code, tt.wantCode, out)
			}
			for name, want := range map[string]string{"args": tt.wantArgs, "output": tt.wantOut} {
				have, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil && want != "" {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, string(have)); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
				t.Error("an input was run as a command")
			}
		})
	}
}

// TestInputs holds that the script reads just the inputs that action.yml declares,
// and that no expression stands inside a run step.
func TestInputs(t *testing.T) {
	text, err := os.ReadFile("../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"command", "base-ref", "fail-on", "no-exec", "sarif-file", "json-file"} {
		variable := "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if !strings.Contains(string(text), variable+": ${{ inputs."+name+" }}") || !strings.Contains(string(script), variable) {
			t.Errorf("the input %s does not reach the script as %s", name, variable)
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "run:") && strings.Contains(line, "${{") {
			t.Errorf("an expression is in a run step: %s", line)
		}
	}
}
