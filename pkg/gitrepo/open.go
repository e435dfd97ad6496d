package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// DefaultMaxObject is the largest object read where Options.MaxObject is zero.
const DefaultMaxObject = 64 << 20

// Backend says how a repository is read.
type Backend int

// The ways to read a repository.
const (
	Automatic  Backend = iota // go-git where it can, else the git program
	GoGit                     // go-git only
	GitProgram                // the git program only
)

// Options say how a repository is opened. The zero value is what most want.
type Options struct {
	Backend   Backend
	MaxObject int64    // bytes of the largest object read; 0 is DefaultMaxObject
	Git       string   // the git program; empty looks for "git" on the PATH
	Env       []string // environment of the git program; nil is the process's own
	// Bare also opens a bare repository, which dir must be itself, and one of another
	// user. It is for a folder that a flag names: any folder of a work tree can be made
	// to look like a repository, and so can one that anybody may write above it.
	Bare bool
}

// Repo is an open repository. It is safe for concurrent use. Close it.
type Repo struct {
	place
	back      backend
	git       *gitProgram
	maxObject int64

	mu    sync.Mutex
	trees treeCache
	nodes map[Hash]Node
}

// place is where a repository lies.
type place struct {
	gitDir    string // HEAD and the index; one per work tree
	commonDir string // objects and references; equal to gitDir except in a linked work tree
	root      string // the work tree; empty for a bare repository
}

// Open opens the repository that dir belongs to: dir itself (a work tree or a git
// folder; with Options.Bare a bare repository) or the nearest folder above it. It fails with
// ErrNotRepository, *OwnerError where it is another user's, or *UnsupportedError where neither go-git nor the git
// program can read it.
func Open(ctx context.Context, dir string, opts Options) (*Repo, error) {
	p, err := findRepository(dir, opts.Bare)
	if err != nil {
		return nil, err
	}
	if opts.Env == nil {
		opts.Env = os.Environ()
	}
	if opts.MaxObject == 0 {
		opts.MaxObject = DefaultMaxObject
	}
	r := &Repo{place: p, maxObject: opts.MaxObject}
	r.git = &gitProgram{env: opts.Env, dir: p.gitDir, git: p.gitDir, work: p.root}
	if p.root != "" {
		r.git.dir = p.root
	}
	name := opts.Git
	if name == "" {
		name = "git"
	}
	if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
		r.git.path = found
	}
	if !opts.Bare { // a folder that a flag names is the caller's choice
		if err := checkOwner(ctx, p, r.git, isOwn); err != nil {
			return nil, err
		}
	}
	r.back, err = openBackend(ctx, p, r.git, opts)
	if err != nil {
		return nil, &UnsupportedError{Dir: p.gitDir, Err: err}
	}
	return r, nil
}

func openBackend(ctx context.Context, p place, g *gitProgram, opts Options) (backend, error) {
	if opts.Backend == GitProgram {
		return openCatFile(ctx, g)
	}
	b, err := openGoGit(p, opts.MaxObject)
	if err == nil {
		return b, nil
	}
	if opts.Backend == GoGit {
		return nil, err
	}
	c, gitErr := openCatFile(ctx, g)
	if gitErr != nil {
		return nil, errors.Join(err, gitErr)
	}
	return c, nil
}

// Close frees what the repository holds: open packs, a running git.
func (r *Repo) Close() error { return r.back.close() }

// Root is the folder of the work tree; empty for a bare repository.
func (r *Repo) Root() string { return r.root }

// GitDir is the folder that holds this work tree's HEAD and index.
func (r *Repo) GitDir() string { return r.gitDir }

// IsShallow reports whether history ends early by design (a clone of limited
// depth). It is a hint for messages: what is read never depends on it.
func (r *Repo) IsShallow() bool {
	info, err := os.Stat(filepath.Join(r.commonDir, "shallow"))
	return err == nil && info.Size() > 0
}

// isPartial reports whether objects were left out by a filter.
func (r *Repo) isPartial() bool {
	found, err := filepath.Glob(filepath.Join(globEscape(r.commonDir), "objects", "pack", "*.promisor"))
	return err == nil && len(found) > 0
}

func globEscape(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// findRepository looks in dir and in each folder above it for ".git" (a folder
// or a file that names one). A bare repository is taken only where it is asked for
// and dir itself: HEAD, objects and refs can come with a pull request as ordinary
// files.
func findRepository(dir string, bare bool) (place, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return place{}, err
	}
	if start, err = filepath.EvalSymlinks(start); err != nil {
		return place{}, fmt.Errorf("opening the repository at %s: %w", dir, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil && info.IsDir() && isGitDir(dotGit):
			return placeOf(dotGit, at)
		case err == nil && info.Mode().IsRegular():
			target, err := readGitFile(dotGit)
			if err != nil {
				return place{}, err
			}
			return placeOf(target, at)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return place{}, err
		case filepath.Base(at) == ".git" && isGitDir(at):
			return placeOf(at, filepath.Dir(at))
		case bare && at == start && isGitDir(at):
			return placeOf(at, "")
		}
		if at == filepath.Dir(at) {
			return place{}, fmt.Errorf("%s: %w (nor is any folder above it)", dir, ErrNotRepository)
		}
	}
}

// isGitDir applies git's own test of a git folder.
func isGitDir(dir string) bool {
	if !exists(filepath.Join(dir, "HEAD")) {
		return false
	}
	return exists(filepath.Join(dir, "commondir")) ||
		exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// maxPointer bounds ".git" and "commondir" files: a path and its label.
const maxPointer = 64 << 10

func readPointer(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxPointer {
		return "", fmt.Errorf("%s: %d bytes where a path was expected", path, info.Size())
	}
	raw, err := os.ReadFile(path)
	return strings.TrimRight(string(raw), "\r\n"), err
}

func readGitFile(path string) (string, error) {
	text, err := readPointer(path)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s: %w: the file does not begin with \"gitdir: \"", path, ErrNotRepository)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if !isGitDir(target) {
		return "", fmt.Errorf("%s names %s: %w", path, target, ErrNotRepository)
	}
	return target, nil
}

func placeOf(gitDir, root string) (place, error) {
	p := place{gitDir: gitDir, commonDir: gitDir, root: root}
	text, err := readPointer(filepath.Join(gitDir, "commondir"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return place{}, err
	case filepath.IsAbs(text):
		p.commonDir = filepath.Clean(text)
	default:
		p.commonDir = filepath.Join(gitDir, text)
	}
	return p, nil
}
