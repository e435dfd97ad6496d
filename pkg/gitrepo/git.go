package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// maxGitOutput bounds what is kept of one git command's output.
const maxGitOutput = 64 << 20

// keptGitVars are the GIT_* variables that a call to git inherits: where the
// user's own configuration is, and who they are. Everything else of that name
// is dropped: it is left over from a hook or an alias we may be running in, and
// points git at another repository, index, object store or program.
var keptGitVars = map[string]bool{
	"GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true,
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true, "GIT_AUTHOR_DATE": true,
	"GIT_COMMITTER_NAME": true, "GIT_COMMITTER_EMAIL": true, "GIT_COMMITTER_DATE": true,
	"GIT_EXEC_PATH": true, "GIT_CEILING_DIRECTORIES": true,
}

// fixedGitVars hold for every call: no replacement, no grafts, no prompt, no
// lazy fetch (which would run what the repository's configuration names), and
// no lock taken for the sake of a refreshed index.
var fixedGitVars = []string{
	"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "GIT_TERMINAL_PROMPT=0",
	"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0",
	"GIT_PAGER=cat", "GIT_EDITOR=:", "LC_ALL=C", "LANGUAGE=",
}

// gitProgram runs the git program on one repository, whatever that
// repository's configuration says.
type gitProgram struct {
	path string   // the executable
	env  []string // the caller's environment
	dir  string   // where it runs: the work tree, or the git folder
	git  string   // the git folder
	work string   // the work tree; empty for a bare repository
}

func cleanGitEnv(env []string) []string {
	out := make([]string, 0, len(env)+len(fixedGitVars)+4)
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") || keptGitVars[name] {
			out = append(out, kv)
		}
	}
	return out
}

// gitCall is one run of git.
type gitCall struct {
	args  []string
	stdin []byte
	env   []string // added last
	hooks bool     // run as the user would, hooks and all; only for git hook
	// config leaves the configuration as it is, for calls that only read it.
	config bool
}

// hardening switches off what a repository's configuration could start.
var hardening = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gpg.program=false",
	"-c", "gpg.ssh.program=false", "-c", "core.pager=cat", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "advice.graftFileDeprecated=false",
}

// command prepares a call. The repository and the work tree are named, so that
// neither discovery nor core.worktree can lead anywhere else.
func (g *gitProgram) command(ctx context.Context, call gitCall) *exec.Cmd {
	var args []string
	env := append(cleanGitEnv(g.env), fixedGitVars...)
	if call.hooks {
		env = append(cleanGitEnv(g.env), "GIT_EDITOR=:")
	} else {
		args = append(args, "--no-replace-objects", "--git-dir="+g.git)
		if g.work != "" {
			args = append(args, "--work-tree="+g.work)
		}
		if !call.config {
			args = append(args, hardening...)
		}
	}
	cmd := exec.CommandContext(ctx, g.path, append(args, call.args...)...)
	cmd.Dir = g.dir
	cmd.Env = append(env, call.env...)
	cmd.WaitDelay = 5 * time.Second
	if call.stdin != nil {
		cmd.Stdin = bytes.NewReader(call.stdin)
	}
	return cmd
}

func (g *gitProgram) run(ctx context.Context, call gitCall) ([]byte, error) {
	if g.path == "" {
		return nil, ErrNoGit
	}
	cmd := g.command(ctx, call)
	out, diag := &boundedBuffer{max: maxGitOutput}, &boundedBuffer{max: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, diag
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return out.buf.Bytes(), &gitError{args: call.args, stderr: strings.TrimSpace(diag.buf.String()), err: err}
	case out.over:
		return nil, fmt.Errorf("git %s: more than %d bytes of output", call.args[0], maxGitOutput)
	}
	return out.buf.Bytes(), nil
}

// line runs git and gives the one line it prints.
func (g *gitProgram) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, gitCall{args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// gitError is a run of git that failed.
type gitError struct {
	args   []string
	stderr string
	err    error
}

func (e *gitError) Error() string {
	args := e.args
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", args[0], e.err)
	}
	return fmt.Sprintf("git %s: %s", args[0], e.stderr)
}

func (e *gitError) Unwrap() error { return e.err }

// exitCode is the exit status inside err; -1 where there is none.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// boundedBuffer keeps the first max bytes and swallows the rest, so that a
// talkative program neither blocks nor fills memory.
type boundedBuffer struct {
	buf  bytes.Buffer
	max  int
	over bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if room := b.max - b.buf.Len(); room < len(p) {
		b.over = true
		b.buf.Write(p[:room])
		return len(p), nil
	}
	return b.buf.Write(p)
}
