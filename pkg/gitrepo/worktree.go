package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentgateway-lock/pkg/internal/bounded"
)

// ErrBare says that an operation needs a work tree and the repository has none.
var ErrBare = errors.New("a bare repository has no work tree")

// Problem says in what way a checked-out file is not the committed one.
type Problem string

// The ways a checkout can differ.
const (
	Differs     Problem = "differs from what is committed"
	LineEndings Problem = "has other line endings than what is committed; mark it -text in .gitattributes and check it out again"
	Absent      Problem = "is not checked out"
	NotRegular  Problem = "is not a regular file, or is reached through a symlink"
)

// WorktreeError says that a file of the work tree is not the committed one.
type WorktreeError struct {
	Path    string
	Problem Problem
}

func (e *WorktreeError) Error() string {
	return fmt.Sprintf("%s in the work tree %s", e.Path, e.Problem)
}

// CheckWorktreeFile compares the checked-out file with the one in a commit's
// tree, by the id that its bytes have. nil means that they are the same regular file; a
// *WorktreeError says how they differ; the errors of File may come as well.
func (r *Repo) CheckWorktreeFile(ctx context.Context, commit Hash, path string) error {
	entry, err := r.fileEntry(ctx, commit, path)
	if err != nil {
		return err
	}
	have, _, err := r.workFile(path, r.maxObject)
	if err != nil {
		return err
	}
	if objectID(KindBlob, have, entry.ID.Size()) == entry.ID {
		return nil
	}
	want, err := r.Blob(ctx, entry.ID)
	switch {
	case err != nil:
		return err
	case bytes.Equal(bytes.ReplaceAll(have, []byte("\r\n"), []byte("\n")), want):
		return &WorktreeError{Path: path, Problem: LineEndings}
	}
	return &WorktreeError{Path: path, Problem: Differs}
}

// workFile reads a file of the work tree, following no symlink.
func (r *Repo) workFile(path string, max int64) ([]byte, Mode, error) {
	if r.root == "" {
		return nil, 0, ErrBare
	}
	if err := checkPath(path); err != nil {
		return nil, 0, err
	}
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	for i := range path {
		if path[i] != '/' {
			continue
		}
		if info, err := root.Lstat(path[:i]); err != nil || !info.IsDir() {
			return nil, 0, workError(path, err)
		}
	}
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, workError(path, err)
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, 0, workError(path, err)
	}
	defer func() { _ = f.Close() }()
	opened, err := f.Stat()
	if err != nil || !os.SameFile(info, opened) {
		return nil, 0, workError(path, err)
	}
	body, err := bounded.Read(f, path, opened.Size(), max)
	mode := ModeFile
	if opened.Mode()&0o100 != 0 {
		mode = ModeExecutable
	}
	return body, mode, err
}

func workError(path string, err error) error {
	switch {
	case err == nil:
		return &WorktreeError{Path: path, Problem: NotRegular}
	case errors.Is(err, fs.ErrNotExist):
		return &WorktreeError{Path: path, Problem: Absent}
	}
	return err
}

// State is a condition of a repository in which no commit should be made.
type State string

// The states that Busy finds.
const (
	StateMerge      State = "merge"
	StateRebase     State = "rebase"
	StateCherryPick State = "cherry-pick"
	StateRevert     State = "revert"
	StateBisect     State = "bisect"
	StateLocked     State = "locked"   // another git holds the index
	StateDetached   State = "detached" // HEAD is on no branch
	StateUnborn     State = "unborn"   // the branch has no commit yet
)

// BusyError says why no commit should be made now.
type BusyError struct {
	State State
	Name  string // the branch without a commit, or the lock file
}

func (e *BusyError) Error() string {
	switch e.State {
	case StateLocked:
		return "another git program is at work in this repository; wait for it to end, or, if none runs, delete " + e.Name
	case StateDetached:
		return "HEAD is detached: a commit made now would be on no branch; switch to a branch first (git switch BRANCH)"
	case StateUnborn:
		return fmt.Sprintf("branch %s has no commit yet", strings.TrimPrefix(e.Name, "refs/heads/"))
	case StateBisect:
		return "a bisect is under way; end it first (git bisect reset)"
	}
	return fmt.Sprintf("a %s is under way; finish it (git %s --continue) or give it up (git %s --abort) first", e.State, e.State, e.State)
}

// stateFiles are the files of the git folder that tell what is under way.
var stateFiles = [...]struct {
	file  string
	state State
}{
	{"rebase-merge", StateRebase}, {"rebase-apply", StateRebase},
	{"MERGE_HEAD", StateMerge}, {"CHERRY_PICK_HEAD", StateCherryPick},
	{"REVERT_HEAD", StateRevert}, {"BISECT_LOG", StateBisect}, {"index.lock", StateLocked},
}

// Busy returns a *BusyError where something is under way, or HEAD is detached
// or unborn, in that order; nil where a commit can be made on a branch.
func (r *Repo) Busy(ctx context.Context) error {
	for _, s := range stateFiles {
		if path := filepath.Join(r.gitDir, s.file); exists(path) {
			return &BusyError{State: s.state, Name: path}
		}
	}
	if exists(filepath.Join(r.gitDir, "sequencer")) {
		return &BusyError{State: StateCherryPick}
	}
	head, err := r.back.ref(ctx, "HEAD")
	switch {
	case err != nil:
		return err
	case head.Target == "":
		return &BusyError{State: StateDetached}
	case head.ID.IsZero():
		return &BusyError{State: StateUnborn, Name: head.Target}
	}
	return nil
}
