package project

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/report"
)

// world is a repository in a folder, and everything else that a project sees of the
// world in memory: variables, files, what is remembered, processes.
type world struct {
	t         *testing.T
	dir       string
	variables map[string]string
	root      *string           // the trust root that is pinned
	files     map[string]string // of the file system, for ReadFile
	memory    memoryState
	confirm   func(lines []string, question string) (bool, error)

	change func(*upstream.Server) error // of the server that is started; its error is that of the start

	mu      sync.Mutex
	started []crawl.ProcessSpec
}

// memoryState is a State in memory.
type memoryState map[string][]byte

func (m memoryState) Read(name string) ([]byte, error) {
	data, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func (m memoryState) Update(name string, change func([]byte) ([]byte, error)) error {
	data, err := change(m[name])
	if err == nil {
		m[name] = data
	}
	return err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, variables: map[string]string{}, files: map[string]string{}, memory: memoryState{}}
	w.git("init", "-q", "-b", "main")
	return w
}

// at is the same world with another clone of its repository, and nothing remembered.
func (w *world) clone(args ...string) *world {
	w.t.Helper()
	c := &world{t: w.t, dir: filepath.Join(w.t.TempDir(), "clone"), variables: maps.Clone(w.variables), files: w.files, memory: memoryState{}}
	w.git(slices.Concat([]string{"clone", "-q"}, args, []string{w.dir, c.dir})...)
	return c
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// edit replaces a text that is in a file.
func (w *world) edit(name, old, fresh string) {
	w.t.Helper()
	text := w.read(name)
	if !strings.Contains(text, old) {
		w.t.Fatalf("%s does not hold %q:\n%s", name, old, text)
	}
	w.write(name, strings.Replace(text, old, fresh, 1))
}

func (w *world) commit(message string) string {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", message)
	return w.git("rev-parse", "HEAD")
}

// configure writes a configuration with one server, and its words.
func (w *world) configure(words ...string) {
	w.t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"notes": map[string]any{"command": words[0], "args": words[1:]}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(".mcp.json", string(data))
}

// start serves a mock server in this process, and notes what was started.
func (w *world) start(spec crawl.ProcessSpec) (*crawl.Process, error) {
	w.mu.Lock()
	w.started = append(w.started, spec)
	w.mu.Unlock()
	server := upstream.New(upstream.Options{})
	if w.change != nil {
		if err := w.change(server); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeStdio(ctx, inR, outW)
		_ = outW.Close()
	}()
	return &crawl.Process{
		Stdin: inW, Stdout: outR, Stderr: io.NopCloser(strings.NewReader("")), Done: done,
		Status: func() string { return "exit status 0" },
		Stop: func(bool) {
			_, _ = inW.Close(), outR.Close()
			cancel()
			<-done
		},
	}, nil
}

func (w *world) open() *Project {
	w.t.Helper()
	p, err := Open(w.t.Context(), Env{
		Lookup: func(name string) (string, bool) { v, ok := w.variables[name]; return v, ok },
		ReadFile: func(path string, _ int64) ([]byte, error) {
			text, ok := w.files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
		EmptyFolder: func() (string, func() error, error) { return "/empty", func() error { return nil }, nil },
		State:       w.memory, Start: w.start, Now: time.Now, Program: "agentgateway", Version: "0.1.0", GOOS: "linux", Confirm: w.confirm,
	}, Options{Dir: w.dir, TrustRoot: w.root})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = p.Close() })
	return p
}

func (w *world) lock() {
	w.t.Helper()
	if rep, err := w.open().Lock(w.t.Context(), LockOptions{}); err != nil || rep.ExitCode != 0 {
		w.t.Fatalf("lock: %v, %+v", err, rep)
	}
	w.started = nil
}

// gate runs the gate and returns its report, and the folders that commands were
// started in.
func (w *world) gate(opts GateOptions) (*report.Report, []string) {
	w.t.Helper()
	w.started = nil
	if opts.FailOn == 0 {
		opts.FailOn = finding.Info
	}
	rep, err := w.open().Gate(w.t.Context(), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	var dirs []string
	for _, s := range w.started {
		dirs = append(dirs, s.Dir)
	}
	slices.Sort(dirs)
	return rep, slices.Compact(dirs)
}

// expect runs the gate and holds its exit code, the codes that are no notes, and
// whether anything was started.
func (w *world) expect(name string, opts GateOptions, code int, started bool, codes ...finding.Code) *report.Report {
	w.t.Helper()
	rep, dirs := w.gate(opts)
	found := map[finding.Code]bool{}
	var all []string
	for _, f := range rep.Findings {
		if f.Grade != finding.Note || f.Undecided {
			found[f.Code] = true
		}
		all = append(all, fmt.Sprintf("%s %s: %s %s", f.Grade, f.Code, f.Summary, f.Detail))
	}
	slices.Sort(codes)
	if got := slices.Sorted(maps.Keys(found)); rep.ExitCode != code || (len(dirs) > 0) != started || !slices.Equal(got, codes) {
		w.t.Errorf("%s: exit code %d, started in %q, %q\nwant %d, %v, %q\n%s", name, rep.ExitCode, dirs, got, code, started, codes, strings.Join(all, "\n"))
	}
	return rep
}

// event makes the run one of a GitHub workflow.
func (w *world) event(name, ref, sha, payload string) {
	w.files["/event"] = payload
	maps.Copy(w.variables, map[string]string{
		"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": "/event", "GITHUB_EVENT_NAME": name, "GITHUB_SHA": sha, "GITHUB_REF": ref,
	})
}
