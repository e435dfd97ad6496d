package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"agentgateway-lock/cmd/mockupstream/upstream"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentgateway":      main,
		"agentgateway-lock": main,
		"mockserver":        mockserver,
	})
}

// mockserver is an MCP server on standard input and output for scripts:
//
//	mockserver [--mark FILE] [--noise] [CHANGE[?QUERY]…]
//
// It notes in FILE, which stands in $HOME/started where it is no whole path, one line
// for each time that it was started, and writes noise between its messages. The changes are
// those of package upstream; body=TEXT in the query is the body.
func mockserver() {
	args := os.Args[1:]
	if len(args) > 1 && args[0] == "--mark" {
		if err := mark(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		args = args[2:]
	}
	s := upstream.New(upstream.Options{})
	if len(args) > 0 && args[0] == "--noise" {
		s.StdoutNoise("starting up", `{"level":"info"}`)
		args = args[1:]
	}
	for _, arg := range args {
		if err := applyChange(s, arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := s.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func mark(file string) error {
	if !filepath.IsAbs(file) {
		file = filepath.Join(os.Getenv("HOME"), startedFolder, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, "started"); err != nil {
		return err
	}
	return f.Close()
}

// applyChange makes the change NAME?QUERY.
func applyChange(s *upstream.Server, arg string) error {
	name, rest, _ := strings.Cut(arg, "?")
	query, err := url.ParseQuery(rest)
	if err != nil {
		return fmt.Errorf("%q: %w", arg, err)
	}
	return s.Apply(name, query, query.Get("body"))
}

// TestScripts runs testdata/script: a story of the command each. Commands of the
// scripts beside those of testscript are in commands_test.go.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts make links, modes and pipes, and call programs of a POSIX system")
	}
	vectors, err := filepath.Abs("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	mounts := canMount()
	plain := plainCommand(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		Cmds:          withSignCommands(scriptCommands),
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			git := filepath.Join(home, "gitconfig")
			if err := os.WriteFile(git, []byte(gitSettings), 0o600); err != nil {
				return err
			}
			for name, value := range map[string]string{
				"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_STATE_HOME": filepath.Join(home, "state"),
				"GIT_CONFIG_GLOBAL": git, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": "2026-11-30T12:00:00Z", "GIT_COMMITTER_DATE": "2026-11-30T12:00:00Z",
				"VECTORS": vectors, "NO_PROXY": "127.0.0.1",
			} {
				env.Setenv(name, value)
			}
			if plain != "" {
				env.Setenv("PATH", plain+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			env.Values[worldKey{}] = &world{servers: map[string]*upstream.Server{}, seen: map[string]int{}, kept: map[string]kept{}}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "mounts" {
				return mounts, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// plainCommand builds the command without the race detector and returns its
// folder, where the test has it; else the test itself is the command. Scripts
// start it a thousand times, most of that for nothing but to start the detector;
// what runs at once is held by the tests of the packages.
func plainCommand(t *testing.T) string {
	t.Helper()
	if !raceEnabled {
		return ""
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "agentgateway"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, out)
	}
	return dir
}

const gitSettings = `[user]
	name = Script
	email = script@example.com
[init]
	defaultBranch = main
[core]
	autocrlf = false
`

// canMount reports whether this user can make mounts of their own, for a full
// and a read-only file system.
func canMount() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	return exec.Command("unshare", unshareFlags(), "mount", "-t", "tmpfs", "tmpfs", os.TempDir()).Run() == nil
}

func unshareFlags() string {
	if os.Geteuid() == 0 {
		return "-m"
	}
	return "-rm"
}
