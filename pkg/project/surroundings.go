package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/settled"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// maxSurrounding bounds one file that counts, in bytes.
const maxSurrounding = 1 << 30

// startPlace is where this project is in its repository.
func (p *Project) startPlace() settled.Place {
	out := settled.Place{Root: filepath.ToSlash(p.top()), Project: ".", Lockfile: p.Path, Real: realPath}
	out.Lookup = func(name string) (string, bool) {
		if id, ok := strings.CutPrefix(name, "input:"); ok {
			name = config.InputVariable(id)
		}
		value, ok := p.Env.Lookup(name)
		if !ok && name == "HOME" {
			value, ok = p.Env.Lookup("USERPROFILE")
		}
		return value, ok
	}
	if folder := p.folder(); folder != "" {
		out.Project, out.Lockfile = folder, path.Join(folder, p.Path)
	}
	return out
}

// realPath is an absolute path without links, as far as it is there.
func realPath(name string) string {
	at, rest := filepath.FromSlash(name), ""
	for {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.ToSlash(filepath.Join(found, rest))
		}
		up := filepath.Dir(at)
		if up == at {
			return name
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
}

// top is the folder of the work tree; outside git that of the project.
func (p *Project) top() string {
	if p.repo == nil {
		return p.Root
	}
	return p.repo.Root()
}

// diskFiles is the repository as it is on disk.
type diskFiles struct {
	ctx   context.Context //nolint:containedctx // it lives as long as one run
	p     *Project
	known func() ([]gitrepo.WorkFile, error) // asked of git once
}

func (p *Project) diskFiles(ctx context.Context) *diskFiles {
	return &diskFiles{ctx, p, sync.OnceValues(func() ([]gitrepo.WorkFile, error) {
		if p.repo == nil {
			return nil, nil
		}
		return p.repo.WorkFiles(ctx)
	})}
}

// notThere reports whether an error says that nothing is at a path.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (d *diskFiles) at(name string) string { return filepath.Join(d.p.top(), filepath.FromSlash(name)) }

// Entry implements [settled.Files].
func (d *diskFiles) Entry(name string) (settled.Kind, string, error) {
	info, err := os.Lstat(d.at(name))
	switch {
	case notThere(err):
		return "", "", fs.ErrNotExist
	case err != nil:
		return "", "", err
	case info.Mode().IsRegular():
		return settled.File, "", nil
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(d.at(name))
		return settled.Link, filepath.ToSlash(to), err
	case !info.IsDir():
		return settled.Link, info.Mode().String(), nil // a pipe or device: no file of git's
	}
	if name == "." {
		return settled.Folder, "", nil
	}
	if id, ok := d.module(name); ok {
		return settled.Module, id, nil
	}
	return settled.Folder, "", nil
}

// module tells which commit a submodule has checked out; of one that is not checked
// out, where nothing is that could run, what the index says.
func (d *diskFiles) module(name string) (string, bool) {
	if _, err := os.Lstat(filepath.Join(d.at(name), ".git")); err == nil {
		repo, err := gitrepo.Open(d.ctx, d.at(name), gitrepo.Options{})
		if err != nil {
			return "unreadable", true
		}
		defer repo.Close() //nolint:errcheck // it was only read
		head, err := repo.Resolve(d.ctx, "HEAD")
		if err != nil {
			return "unreadable", true
		}
		return head.String(), true
	}
	if names, err := d.List(name); err != nil || len(names) > 0 {
		return "", false
	}
	files, err := d.known()
	if err != nil {
		return "", false
	}
	for _, f := range files {
		if f.Path == name && f.Mode == gitrepo.ModeSubmodule {
			return f.ID.String(), true
		}
	}
	return "", false
}

// Read implements [settled.Files].
func (d *diskFiles) Read(name string) ([]byte, error) {
	return bounded.OSFile(d.at(name), maxSurrounding)
}

// Matches implements [settled.Files].
func (d *diskFiles) Matches(name string, data []byte) (bool, error) {
	have, err := d.Read(name)
	return string(settled.LF(have)) == string(settled.LF(data)), err
}

// List implements [settled.Files].
func (d *diskFiles) List(folder string) ([]string, error) {
	entries, err := os.ReadDir(d.at(folder))
	if notThere(err) {
		return nil, fs.ErrNotExist
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Known implements [settled.Files].
func (d *diskFiles) Known() ([]string, error) {
	if d.p.repo == nil {
		return settled.Under(d, ".")
	}
	files, err := d.known()
	var names []string
	for _, f := range files {
		// In CI a change has nothing that is not tracked; what is there beside it the
		// workflow's own steps have made.
		if f.Mode != 0 || !d.p.Env.inCI() {
			names = append(names, f.Path)
		}
	}
	return names, err
}

// commitFiles is the repository in a commit.
type commitFiles struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one run
	repo *gitrepo.Repo
	id   gitrepo.Hash
}

func (c commitFiles) entry(name string) (gitrepo.Entry, error) {
	tree, err := c.repo.TreeOf(c.ctx, c.id)
	if err != nil {
		return gitrepo.Entry{}, err
	}
	if name == "." {
		name = ""
	}
	e, found, err := c.repo.Lookup(c.ctx, tree, name)
	if mode := (*gitrepo.ModeError)(nil); errors.As(err, &mode) || err == nil && !found {
		return e, fs.ErrNotExist
	}
	return e, err
}

// Entry implements [settled.Files].
func (c commitFiles) Entry(name string) (settled.Kind, string, error) {
	e, err := c.entry(name)
	switch {
	case err != nil:
		return "", "", err
	case e.Mode == gitrepo.ModeFolder:
		return settled.Folder, "", nil
	case e.Mode == gitrepo.ModeSubmodule:
		return settled.Module, e.ID.String(), nil
	case e.Mode == gitrepo.ModeSymlink:
		to, err := c.repo.Blob(c.ctx, e.ID)
		return settled.Link, string(to), err
	}
	return settled.File, "", nil
}

// Read implements [settled.Files].
func (c commitFiles) Read(name string) ([]byte, error) {
	e, err := c.entry(name)
	if err != nil {
		return nil, err
	}
	return c.repo.Blob(c.ctx, e.ID)
}

// Matches implements [settled.Files].
func (c commitFiles) Matches(name string, data []byte) (bool, error) {
	e, err := c.entry(name)
	if err != nil || gitrepo.IsBlob(e.ID, data) {
		return err == nil, err
	}
	blob, err := c.repo.Blob(c.ctx, e.ID)
	return err == nil && string(settled.LF(blob)) == string(settled.LF(data)), err
}

// List implements [settled.Files].
func (c commitFiles) List(folder string) ([]string, error) {
	e, err := c.entry(folder)
	if err != nil {
		return nil, err
	}
	if e.Mode != gitrepo.ModeFolder {
		return nil, fs.ErrNotExist
	}
	entries, err := c.repo.Tree(c.ctx, e.ID)
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name
	}
	return names, err
}

// Known implements [settled.Files].
func (c commitFiles) Known() ([]string, error) { return c.repo.TreeFiles(c.ctx, c.id) }

// elsewhere reports whether a source is started in an empty folder. What cannot be
// told is started where a client would start it.
func (p *Project) elsewhere(ctx context.Context, src *source.Source) bool {
	plan, err := settled.PlanOf(src, p.startPlace(), p.diskFiles(ctx))
	return err == nil && plan.Elsewhere
}

// surroundingsOf sums up the surroundings of a source on disk.
func (p *Project) surroundingsOf(src *source.Source, disk settled.Files) (settled.Print, error) {
	plan, err := settled.PlanOf(src, p.startPlace(), disk)
	if err != nil {
		return settled.Print{}, err
	}
	return plan.Print(p.startPlace(), disk)
}

// sinceCommit compares the surroundings of a source on disk with those of a commit.
func (p *Project) sinceCommit(ctx context.Context, src *source.Source, disk settled.Files, commit gitrepo.Hash) settled.Difference {
	then := commitFiles{ctx, p.repo, commit}
	plan, err := settled.PlanOf(src, p.startPlace(), disk, then)
	if err != nil {
		return settled.Difference{Err: err, Any: true}
	}
	return plan.Changed(p.startPlace(), disk, then)
}

// surroundings compares what a source would run with what it ran where a way settled
// its words.
func (s *settling) surroundings(way settled.Way, locked *lockfile.Server, src *source.Source) settled.Difference {
	if s.offline {
		return settled.Difference{}
	}
	switch way {
	case settled.OnDefault:
		return s.p.sinceCommit(s.ctx, src, s.disk, s.base.Head)
	case settled.OnBase:
		return s.p.sinceCommit(s.ctx, src, s.disk, s.base.Commit)
	case settled.Remembered:
		now, err := s.p.surroundingsOf(src, s.disk)
		if err != nil {
			return settled.Difference{Err: err, Any: true}
		}
		return now.Since(s.memory.Find(s.key(locked.Name), src.Digest()).Surroundings)
	case settled.Approved:
		return s.sinceApproval(locked, src)
	}
	return settled.Difference{Any: true}
}

// sinceApproval compares with the newest commit that a signer of the decision signed,
// and with the one that brought the decision into the default branch.
func (s *settling) sinceApproval(locked *lockfile.Server, src *source.Source) settled.Difference {
	commits, err := s.approvals(locked)
	if err != nil {
		return settled.Difference{Err: err, Any: true}
	}
	if plan, err := settled.PlanOf(src, s.p.startPlace(), s.disk); err == nil && plan.Nothing() {
		return settled.Difference{}
	}
	first := settled.Difference{Any: true, Err: errNoApproval}
	for i, commit := range commits {
		d := s.p.sinceCommit(s.ctx, src, s.disk, commit)
		if !d.Any {
			return d
		}
		if i == 0 {
			first = d
		}
	}
	return first
}

var errNoApproval = errors.New("it is approved, and no commit here says what was in the repository then: none is signed by an approver, and the default branch does not have the decision")

// approvals finds the commits in which the surroundings were settled with the words.
func (s *settling) approvals(locked *lockfile.Server) ([]gitrepo.Hash, error) {
	p, decision := s.p, s.judged.head.ledger.Decision(locked.SourceDecision)
	if p.repo == nil || decision == nil || s.base.Head.IsZero() {
		return nil, nil
	}
	keys := map[string]bool{}
	for _, blob := range decision.Signatures {
		if signature, err := sshsig.ParseBlob(blob); err == nil {
			keys[sshsig.FormatPublicKey(signature.PublicKey)] = true
		}
	}
	var out []gitrepo.Hash
	signed, err := audit.NewestSigned(s.ctx, p.repo, s.base.Head, keys)
	if err != nil {
		return nil, err
	}
	if !signed.IsZero() {
		out = append(out, signed)
	}
	at, err := p.gitPath(trust.DecisionPath(locked.SourceDecision))
	if err != nil || s.base.Default.Commit.IsZero() {
		return out, err
	}
	var brought gitrepo.Hash
	for node, err := range p.repo.FirstParents(s.ctx, s.base.Default.Commit) {
		if err != nil {
			return out, nil // a shallow clone: which commit brought it in is not here
		}
		if _, there := p.blobAt(s.ctx, node.ID, at); !there {
			break
		}
		brought = node.ID
	}
	if !brought.IsZero() {
		out = append(out, brought)
	}
	return out, nil
}

// listed names the files of a difference, for people, and how many more there are.
func listed(d settled.Difference, most int) []string {
	switch n := len(d.Files); {
	case n == 0:
		return []string{"some of its files; they are too many for each to be remembered"}
	case n > most:
		return append(slices.Clone(d.Files[:most]), fmt.Sprintf("and %d more", n-most))
	}
	return d.Files
}
