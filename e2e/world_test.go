// Package e2e tests the command as people run it, with real MCP servers.
package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agentgateway-lock/e2e/realservers"
)

// program builds the command once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agentgateway-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "agentgateway")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/agentgateway").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the command: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// A repository is a folder with a configuration, and a folder servers in it
// whose links lead to the real servers.
type repository struct {
	t       *testing.T
	modules string // node_modules, where the servers are
	dir     string
	home    string
}

// newRepository needs the real servers; see package realservers.
func newRepository(t *testing.T) *repository {
	t.Helper()
	modules, _ := realservers.Find(t, ".")
	r := &repository{t: t, modules: modules, dir: t.TempDir(), home: t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "Test")
	r.git("config", "user.email", "test@example.com")
	if err := os.Mkdir(filepath.Join(r.dir, "servers"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

// link makes servers/NAME lead to an installed package.
func (r *repository) link(name, pkg string) {
	r.t.Helper()
	target := filepath.Join(r.modules, filepath.FromSlash(pkg))
	if _, err := os.Stat(filepath.Join(target, "package.json")); err != nil {
		r.t.Fatalf("%s is not installed: run `make e2e/node_modules/.installed`", pkg)
	}
	path := filepath.Join(r.dir, "servers", name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		r.t.Fatal(err)
	}
}

// configure writes an .mcp.json that starts each server with node.
func (r *repository) configure(servers map[string][]string) {
	r.t.Helper()
	type entry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	entries := map[string]entry{}
	for name, args := range servers {
		entries[name] = entry{"node", args}
	}
	data, err := json.MarshalIndent(map[string]any{"mcpServers": entries}, "", "  ")
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(".mcp.json", string(data))
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// run runs the command and holds it to an exit code.
func (r *repository) run(code int, args ...string) (stdout, stderr string) {
	r.t.Helper()
	path, err := program()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "XDG_STATE_HOME=" + filepath.Join(r.home, "state"), "TMPDIR=" + os.TempDir()}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		r.t.Fatalf("agentgateway %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// pinned reads the lockfile and every readable copy, by path.
func (r *repository) pinned() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	read := func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		files[strings.TrimPrefix(path, r.dir)] = string(data)
	}
	read(filepath.Join(r.dir, "agentgateway.lock"))
	err := filepath.WalkDir(filepath.Join(r.dir, ".agentgateway"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			read(path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// holds fails the test unless text has all of the words.
func holds(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in:\n%s", word, text)
		}
	}
}
