package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/settled"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/trust"
)

// OriginalName is the name of the lockfile in the original format.
const OriginalName = "agentgate.lock"

// Env is the outside world of a project.
type Env struct {
	Lookup     func(name string) (string, bool) // environment variables
	Environ    []string                         // the same as KEY=value, for child processes
	Home       string                           // for user-level configurations
	ConfigHome string                           // the operating system's folder for settings
	State      State                            // what is remembered; nil to remember nothing
	GOOS       string
	Machine    Machine       // for what texts of servers repeat of it
	Start      crawl.Starter // starts a server's process; nil means a real one
	// ReadFile reads a file that is no part of the repository, such as the event of a
	// CI system, within a limit.
	ReadFile func(path string, limit int64) ([]byte, error)
	// EmptyFolder makes an empty folder of this user's alone, outside every
	// repository, and tells how to remove it.
	EmptyFolder func() (dir string, remove func() error, err error)
	Now         func() time.Time
	Program     string // the command's name, for hints
	Version     string // of this program, for generatedBy
	// Confirm asks the user a question that ends in a question mark, after lines that
	// are shown escaped, and returns whether the answer is yes; nil where nobody is there
	// to ask.
	Confirm func(lines []string, question string) (bool, error)
	// Progress is told what happens to the servers of a run, from several goroutines at
	// a time; may be nil.
	Progress func(Step)
}

// ci is where the event of a run is read from.
func (e Env) ci() settled.Environment {
	return settled.Environment{Lookup: e.Lookup, ReadFile: e.ReadFile}
}

// inCI reports whether the run is one of an automatic check.
func (e Env) inCI() bool { return e.ci().InCI() }

// Options say which repository and which servers a run is about.
type Options struct {
	Dir      string // where to start looking for the repository
	Lockfile string // relative to the root; empty for the default

	Configs     []string          // read just these
	UserConfigs bool              // also the user-level ones
	Direct      map[string]string // further servers by URL

	// TrustRoot is the digest of the trust version that is pinned; nil for none.
	TrustRoot *string
}

// Listing says how servers are listed.
type Listing struct {
	Timeout      time.Duration // for each answer; 0 for the default
	StartTimeout time.Duration // until a stdio server's first answer
	Jobs         int           // servers at a time
}

// A Project is one repository.
type Project struct {
	Env  Env
	Root string // absolute
	Path string // of the lockfile, relative to Root, with slashes

	options  Options
	root     *canonical.Digest // the pinned trust root; nil for none
	original bool              // the lockfile is one of the original format, by its name
	repo     *gitrepo.Repo     // nil outside git
	verifier trust.Verifier    // which verifies each signature once
	dir      *lockfile.Dir
	store    *lockfile.Store
	previous *lockfile.Store // of the original format, where init starts from one
}

// Open finds the repository that opts.Dir stands in: the nearest folder upwards
// that holds the lockfile, else the root of the git work tree, else opts.Dir.
func Open(ctx context.Context, env Env, opts Options) (*Project, error) {
	dir, err := realDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	p := &Project{Env: env, Path: lockfile.DefaultName, options: opts, verifier: trust.Once(nil)}
	if p.root, err = parseRoot(opts.TrustRoot); err != nil {
		return nil, err
	}
	if opts.Lockfile != "" {
		p.Path = filepath.ToSlash(filepath.Clean(opts.Lockfile))
	}
	repo, err := gitrepo.Open(ctx, dir, gitrepo.Options{})
	switch {
	case err == nil:
		p.repo = repo
	case errors.Is(err, gitrepo.ErrNotRepository):
	default:
		return nil, err
	}
	p.Root = p.findRoot(dir)
	if filepath.IsAbs(filepath.FromSlash(p.Path)) {
		folder, err := realDir(filepath.Dir(filepath.FromSlash(p.Path)))
		if err != nil {
			return nil, fmt.Errorf("--lockfile %s: %w", opts.Lockfile, err)
		}
		rel, err := filepath.Rel(p.Root, filepath.Join(folder, filepath.Base(p.Path)))
		if err != nil {
			return nil, fmt.Errorf("--lockfile %s: %w", opts.Lockfile, err)
		}
		p.Path = filepath.ToSlash(rel)
	}
	if !filepath.IsLocal(filepath.FromSlash(p.Path)) {
		return nil, fmt.Errorf("--lockfile %s: the lockfile must be inside the repository %s", opts.Lockfile, p.Root)
	}
	if opts.Lockfile == "" && !p.exists(p.Path) && p.exists(OriginalName) {
		p.Path = OriginalName
	}
	p.original = filepath.Base(p.Path) == OriginalName
	if p.dir, err = lockfile.OpenDir(p.Root); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.store = lockfile.NewStore(p.dir, p.Path)
	return p, nil
}

// realDir is a folder by its one true path, as git has it: reached through a link
// it would not seem to lie in its repository. A link within a work tree is refused:
// a pull request that turns the folder into one chooses what is judged in its place.
func realDir(name string) (string, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if err := bounded.NoLinkInWorkTree(dir); err != nil {
		if _, ok := errors.AsType[*lockfile.LinkError](err); ok {
			err = &codedError{&hintError{err, "where the link is your own, name the folder itself with -C"}, finding.LockfileSymlink}
		}
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// Close releases what the project holds open.
func (p *Project) Close() error {
	var err error
	if p.dir != nil {
		err = p.dir.Close()
	}
	if p.repo != nil {
		err = errors.Join(err, p.repo.Close())
	}
	return err
}

// findRoot looks upwards for the lockfile, as far as the work tree reaches;
// outside git it looks in dir alone.
func (p *Project) findRoot(dir string) string {
	top := dir
	if p.repo != nil && p.repo.Root() != "" {
		top = p.repo.Root()
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, filepath.FromSlash(p.Path))); err == nil {
			return at
		}
		if at == top || at == filepath.Dir(at) {
			return top
		}
	}
}

func (p *Project) abs(path string) string { return filepath.Join(p.Root, filepath.FromSlash(path)) }

func (p *Project) exists(path string) bool {
	_, err := os.Lstat(p.abs(path))
	return err == nil
}

// gitPath is the path of a file in git's trees: the project may stand in a folder
// of its repository.
func (p *Project) gitPath(path string) (string, error) {
	rel, err := filepath.Rel(p.repo.Root(), p.abs(path))
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}

// ErrNoLockfile says that there is no lockfile.
var ErrNoLockfile = errors.New("there is no lockfile")

// Load reads the lockfile of the work tree. The error is [ErrNoLockfile], a
// [*lockfile.Error], a [*lockfile.LinkError], or one of reading.
func (p *Project) Load() (*lockfile.File, error) {
	file, err := p.store.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.noLockfile()
	}
	return file, unreadable(err)
}

func (p *Project) noLockfile() error {
	err := fmt.Errorf("%w: %s", ErrNoLockfile, p.Path)
	return &codedError{&hintError{err, fmt.Sprintf("run `%s init`", p.Env.Program)}, finding.LockfileMissing}
}

// unreadable gives the error of reading a lockfile its code and its hint.
func unreadable(err error) error {
	var (
		invalid *lockfile.Error
		link    *lockfile.LinkError
	)
	switch {
	case errors.As(err, &invalid):
		return &codedError{err, finding.LockfileInvalid}
	case errors.As(err, &link):
		return &codedError{err, finding.LockfileSymlink}
	}
	return err
}

// hintError is an error that knows what to do next.
type hintError struct {
	error
	hint string
}

func (e *hintError) Unwrap() error { return e.error }

// Hint returns the advice.
func (e *hintError) Hint() string { return e.hint }

// codedError is an error that the code of a finding names.
type codedError struct {
	error
	code finding.Code
}

func (e *codedError) Unwrap() error { return e.error }

// Code returns the code.
func (e *codedError) Code() finding.Code { return e.code }

// configured reads the configurations. Servers come by name; what could not be
// decided is among the findings of the set. What looks like a secret is accepted
// where the lockfile says so, and in the servers that accept names.
func (p *Project) configured(ctx context.Context, file *lockfile.File, accept []string) (*config.Set, error) {
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return p.configuredIn(ctx, root.FS(), file, accept)
}

// configuredIn is configured for some state of the repository.
func (p *Project) configuredIn(ctx context.Context, repository fs.FS, file *lockfile.File, accept []string) (*config.Set, error) {
	set, err := config.Load(ctx, config.Options{
		Root: p.Root, Repository: repository, Files: p.options.Configs, UserConfigs: p.options.UserConfigs,
		Open: func(name string) (fs.File, error) { return os.Open(name) },
		Home: p.Env.Home, ConfigHome: p.Env.ConfigHome, GOOS: p.Env.GOOS, Direct: p.options.Direct,
		AllowLiteral: accept,
		Locked: func(server string) *source.Source {
			if locked := file.Server(server); locked != nil {
				return locked.Source
			}
			return nil
		},
	})
	var invalid *config.FileError
	if errors.As(err, &invalid) {
		return nil, &codedError{err, finding.ConfigInvalid}
	}
	return set, err
}

// lister makes what lists servers.
func (p *Project) lister(how Listing, servers int) *crawl.Lister {
	return crawl.New(crawl.Options{
		Limits:  crawl.Limits{Timeout: how.Timeout, StartTimeout: how.StartTimeout},
		Environ: p.Env.Environ, Start: p.Env.Start, Proxy: crawl.ProxyFromEnviron(p.Env.Environ),
		ClientName: "agentgateway-lock", ClientVersion: p.Env.Version,
		Progress: p.follow(servers),
	})
}

// newReport starts the report of a command.
func (p *Project) newReport(command, subject string, failOn finding.Grade) *report.Report {
	return &report.Report{
		Command: command, Program: p.Env.Program, Version: p.Env.Version, Lockfile: p.Path, Folder: p.folder(), Subject: subject, FailOn: failOn,
	}
}

// generatedBy is what the lockfile says it was written by.
func (p *Project) generatedBy() string {
	return "agentgateway-lock@" + strings.TrimPrefix(p.Env.Version, "v")
}
