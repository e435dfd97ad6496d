package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// HookError says that a hook refused a commit.
type HookError struct {
	Hook string
	Err  error // what it printed
}

func (e *HookError) Error() string {
	return fmt.Sprintf("the %s hook refused the commit: %v", e.Hook, e.Err)
}

func (e *HookError) Unwrap() error { return e.Err }

// beforeCommit runs pre-commit, with an index that holds what will be
// committed, and commit-msg, and gives the message as the latter left it.
func (r *Repo) beforeCommit(ctx context.Context, inTree bool, tree Hash, message []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "gitrepo-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := r.preCommit(ctx, inTree, tree, filepath.Join(dir, "index")); err != nil {
		return nil, err
	}
	run, err := r.mayRun(ctx, "commit-msg", inTree)
	if err != nil || !run {
		return message, err
	}
	file := filepath.Join(dir, "COMMIT_EDITMSG")
	if err := os.WriteFile(file, message, 0o600); err != nil {
		return nil, err
	}
	if err := r.runHook(ctx, "commit-msg", nil, file); err != nil {
		return nil, err
	}
	edited, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return cleanMessage(string(edited))
}

func (r *Repo) preCommit(ctx context.Context, inTree bool, tree Hash, index string) error {
	run, err := r.mayRun(ctx, "pre-commit", inTree)
	if err != nil || !run {
		return err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := r.git.run(ctx, gitCall{args: []string{"read-tree", tree.String()}, env: env}); err != nil {
		return err
	}
	if err := r.runHook(ctx, "pre-commit", env); err != nil {
		return err
	}
	// What is committed was decided and may already be signed: a hook that
	// rewrites it has to be a failure.
	out, err := r.git.run(ctx, gitCall{args: []string{"write-tree"}, env: env})
	if err != nil {
		return err
	}
	if got := strings.TrimSuffix(string(out), "\n"); got != tree.String() {
		return &HookError{Hook: "pre-commit", Err: errors.New("it changed the files to be committed")}
	}
	return nil
}

// afterCommit runs post-commit. The commit is made: nothing can refuse it.
func (r *Repo) afterCommit(ctx context.Context, inTree bool) {
	if run, err := r.mayRun(ctx, "post-commit", inTree); err == nil && run {
		_ = r.runHook(ctx, "post-commit", nil)
	}
}

func (r *Repo) runHook(ctx context.Context, hook string, env []string, args ...string) error {
	call := gitCall{args: []string{"hook", "run", "--ignore-missing", hook}, env: env, hooks: true}
	if len(args) > 0 {
		call.args = append(append(call.args, "--"), args...)
	}
	if _, err := r.git.run(ctx, call); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &HookError{Hook: hook, Err: err}
	}
	return nil
}

// mayRun reports whether a hook exists and may run. One whose file, or the
// folder it lies in, is inside the work tree belongs to what is being reviewed,
// so a pull request could have brought it: it runs only on request.
func (r *Repo) mayRun(ctx context.Context, hook string, inTree bool) (bool, error) {
	out, err := r.git.run(ctx, gitCall{args: []string{"rev-parse", "--git-path", "hooks/" + hook}, config: true})
	if err != nil {
		return false, err
	}
	path := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.git.dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return inTree || !r.inWorkTree(path) && !r.inWorkTree(real), nil
}

// inWorkTree reports whether a path lies in the work tree outside the git folder.
func (r *Repo) inWorkTree(path string) bool {
	return within(r.root, path) && !within(r.gitDir, path) && !within(r.commonDir, path)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}
