package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/settled"
)

// A Base is the commit a change is judged against, and what else says where a run is.
type Base struct {
	Commit gitrepo.Hash // zero where there is none
	Reason string       // how it was found, for people
	// Lockfile is the base's; nil where it has none.
	Lockfile *lockfile.File

	// Head is what is checked out; zero where there is no commit yet.
	Head gitrepo.Hash
	// Event is what a CI system says the run is about.
	Event settled.Event
	// HeadIsEvents holds where Head is the commit of the event.
	HeadIsEvents bool
	// Vouched holds where Commit is one that the caller or the CI system vouches for: one
	// that a flag names in a pull request is where the event's base has it in its
	// history, since a name may be that of a branch of the stranger's.
	Vouched bool
	// Default is the default branch; its Commit is zero where it cannot be found.
	Default Branch

	notes []finding.Finding
}

// A Branch is the default branch as this clone has it.
type Branch struct {
	Name     string
	Commit   gitrepo.Hash
	Lockfile *lockfile.File // of its newest commit; nil where it has none
	Err      error          // why Commit is zero
}

// Known reports whether there is a base.
func (b *Base) Known() bool { return !b.Commit.IsZero() }

// BaseOptions say what a change is judged against where the caller knows better.
type BaseOptions struct {
	Base          string // a ref, as [gitrepo.Repo.ResolveBase] takes it; empty to find it
	DefaultBranch string // its name; empty to find it
}

// findBase finds what HEAD is judged against. What cannot be found, and should be
// there, leaves the run undecided: that is the finding.
func (p *Project) findBase(ctx context.Context, opts BaseOptions) (*Base, *finding.Finding) {
	base := &Base{}
	if p.Env.inCI() {
		var err error
		if base.Event, err = settled.ReadEvent(p.Env.ci()); err != nil {
			base.Event = settled.Event{}
			return base, p.noBase(err, "the CI system's event cannot be read")
		}
	}
	judged := opts.Base != "" || base.Event.Base != "" // there must be a base
	if p.repo == nil {
		if judged {
			return base, p.noBase(errors.New("this is not a git repository"), "there is no base")
		}
		return base, nil
	}
	var err error
	if base.Head, err = p.repo.Resolve(ctx, "HEAD"); err != nil {
		if judged || !errors.Is(err, gitrepo.ErrNotFound) {
			return base, p.noBase(err, "HEAD cannot be read")
		}
		return base, nil // no commit yet
	}
	if base.HeadIsEvents, err = p.headIsEvents(ctx, base); err != nil {
		return base, p.noBase(err, "HEAD cannot be read")
	}
	base.Default = p.defaultBranch(ctx, opts.DefaultBranch, base.Event)
	commit, reason, err := p.baseCommit(ctx, opts.Base, base)
	if err == nil && !commit.IsZero() {
		base.Lockfile, err = p.lockfileAt(ctx, commit)
	}
	if err != nil {
		return base, p.noBase(err, "the base cannot be read: "+reason)
	}
	base.Commit, base.Reason = commit, reason
	base.Vouched = p.vouched(ctx, opts.Base, base)
	return base, nil
}

func (p *Project) vouched(ctx context.Context, asked string, base *Base) bool {
	if !base.Known() || asked == "" || base.Event.Base == "" {
		return base.Known()
	}
	of, err := gitrepo.ParseHash(base.Event.Base)
	if err != nil {
		return false
	}
	in, err := p.repo.IsAncestor(ctx, base.Commit, of)
	return err == nil && in
}

// noBase is the finding for a base that cannot be found or read.
func (p *Project) noBase(err error, what string) *finding.Finding {
	f := finding.New(finding.HistoryShallow, finding.Place{File: p.Path}, what)
	f.Detail = err.Error()
	var missing *gitrepo.MissingObjectError
	switch hint := finding.HintOf(err); {
	case hint != "":
		f.Hint = hint
	case !errors.As(err, &missing):
		f.Hint = "Name a commit that this clone holds with `--base REF`, or check out with `fetch-depth: 0`."
	}
	return &f
}

// headIsEvents reports whether the commit that is checked out is the event's: the one
// that the system says, the head of a pull request, or the commit that merges it.
func (p *Project) headIsEvents(ctx context.Context, base *Base) (bool, error) {
	head, e := base.Head.String(), &base.Event
	if head == e.Commit || e.Kind == settled.PullRequest && head == e.Head {
		return true, nil
	}
	if e.Kind != settled.PullRequest {
		return false, nil
	}
	merged, err := p.mergedBySystem(ctx, base)
	return !merged.IsZero(), err
}

// mergedBySystem returns the first parent of HEAD where HEAD is the commit that
// merges the head of a pull request into its base; else zero. The system says which
// commit that is; in a workflow of the base it says which commit the base is. Any
// other merge commit is one that the pull request brings, and its first parent what
// its author chose.
func (p *Project) mergedBySystem(ctx context.Context, base *Base) (gitrepo.Hash, error) {
	e := &base.Event
	parents, err := p.repo.Parents(ctx, base.Head)
	if err != nil || len(parents) != 2 || parents[1].String() != e.Head {
		return gitrepo.Hash{}, err
	}
	if e.Commit == base.Head.String() || e.Commit == parents[0].String() {
		return parents[0], nil
	}
	return gitrepo.Hash{}, nil
}

// baseCommit finds the base: what the caller names, what the event says, else the
// merge base with the default branch. Zero where there is none; reason is for people.
func (p *Project) baseCommit(ctx context.Context, asked string, base *Base) (commit gitrepo.Hash, reason string, err error) {
	e := &base.Event
	switch {
	case asked != "":
		commit, err = p.repo.ResolveBase(ctx, asked)
		return commit, "--base " + asked, err
	case e.Kind == settled.PullRequest, e.Kind == settled.MergeQueue:
		return p.changeBase(ctx, base)
	case e.Kind == settled.Push && (e.OnDefault() || e.Branch == "" && base.Default.Commit == base.Head):
		return p.pushBase(ctx, base)
	}
	return p.branchBase(ctx, base)
}

// changeBase is the base of a pull request or merge queue.
func (p *Project) changeBase(ctx context.Context, base *Base) (gitrepo.Hash, string, error) {
	merged, err := p.mergedBySystem(ctx, base)
	if err != nil {
		return merged, "the parents of HEAD", err
	}
	if !merged.IsZero() {
		return merged, "the first parent of the merge commit", p.mustHave(ctx, merged)
	}
	commit, err := p.eventCommit(ctx, base.Event.Base)
	return commit, "the base commit of the event", err
}

// pushBase is the base of a push to the default branch: what it was before. Where
// that is no part of its history any more nothing of it counts.
func (p *Project) pushBase(ctx context.Context, base *Base) (gitrepo.Hash, string, error) {
	const reason = "the commit before the push"
	if strings.Trim(base.Event.Before, "0") == "" {
		return gitrepo.Hash{}, "", nil
	}
	before, err := p.eventCommit(ctx, base.Event.Before)
	if err != nil {
		return before, reason, err
	}
	inside, err := p.repo.IsAncestor(ctx, before, base.Head)
	if err != nil || inside {
		return before, reason, err
	}
	f := finding.New(finding.HistoryRewritten, finding.Place{File: p.Path}, fmt.Sprintf("the push took %s out of the branch, so there is no base: the state is judged by itself", before.Short()))
	if p.sameAt(ctx, before, base.Head, p.Path) && p.sameAt(ctx, before, base.Head, lockfile.Folder) {
		f.Grade = finding.Note
		f.Summary += "; lockfile and decisions are what they were"
	}
	base.notes = append(base.notes, f)
	return gitrepo.Hash{}, "", nil
}

// sameAt reports whether two commits have the same file or folder at a path.
func (p *Project) sameAt(ctx context.Context, a, b gitrepo.Hash, path string) bool {
	at, err := p.gitPath(path)
	if err != nil {
		return false
	}
	was, inA := p.blobAt(ctx, a, at)
	is, inB := p.blobAt(ctx, b, at)
	return inA == inB && was == is
}

// branchBase is the merge base with the default branch, where HEAD is not contained
// in it.
func (p *Project) branchBase(ctx context.Context, base *Base) (gitrepo.Hash, string, error) {
	d := &base.Default
	if d.Err != nil {
		if errors.Is(d.Err, errNoBranch) && !p.Env.inCI() {
			return gitrepo.Hash{}, "", nil // nor a remote: there is nothing else than this branch
		}
		return gitrepo.Hash{}, "the default branch", d.Err
	}
	if d.Commit == base.Head {
		return gitrepo.Hash{}, "", nil // no history is needed to tell
	}
	reason := "the merge base with " + d.Name
	commit, err := p.repo.MergeBase(ctx, base.Head, d.Commit)
	switch {
	case err != nil:
		return commit, reason, err
	case commit == base.Head:
		return gitrepo.Hash{}, "", nil
	}
	return commit, reason, nil
}

// eventCommit finds a commit that an event names by its whole id. A name that is
// no id could be that of a branch or tag.
func (p *Project) eventCommit(ctx context.Context, sha string) (gitrepo.Hash, error) {
	commit, err := gitrepo.ParseHash(sha)
	if err != nil {
		return gitrepo.Hash{}, fmt.Errorf("the event names the commit %q: %w", sha, err)
	}
	return commit, p.mustHave(ctx, commit)
}

// mustHave reports an error where a commit's tree is not in this clone.
func (p *Project) mustHave(ctx context.Context, commit gitrepo.Hash) error {
	_, err := p.repo.TreeOf(ctx, commit)
	return err
}

// errNoBranch says that a repository without a remote has no main branch.
var errNoBranch = errors.New("there is no branch main or master, and no remote")

// defaultBranch finds the default branch and its newest commit: the remote's as this
// clone has it, and a local branch only where there is no remote. What a stranger's
// branch is called has no part in it.
func (p *Project) defaultBranch(ctx context.Context, asked string, e settled.Event) Branch {
	remote, err := p.repo.MainRemote(ctx)
	if err != nil {
		return Branch{Err: &hintError{fmt.Errorf("the default branch cannot be found: %w", err), "Name one of them origin."}}
	}
	b := Branch{Name: asked}
	if b.Name == "" && e.Kind != settled.NoEvent {
		b.Name = e.DefaultBranch
	}
	if b.Name == "" && remote != "" {
		if b.Name, err = p.repo.DefaultBranchOf(ctx, remote); err != nil {
			hint := fmt.Sprintf("Run `git remote set-head %s --auto`, or name it with `--default-branch NAME`.", remote)
			return Branch{Err: &hintError{fmt.Errorf("this clone does not know the default branch of %s: %w", remote, err), hint}}
		}
	}
	prefix := "refs/heads/"
	if remote != "" {
		prefix = "refs/remotes/" + remote + "/"
	}
	names := []string{b.Name}
	if b.Name == "" {
		names = []string{"main", "master"}
	}
	for _, name := range names {
		b.Name = name
		b.Commit, b.Err = p.repo.Resolve(ctx, prefix+name)
		if b.Err == nil {
			b.Lockfile, b.Err = p.lockfileAt(ctx, b.Commit)
			break
		}
	}
	switch {
	case b.Err == nil:
	case len(names) > 1 && errors.Is(b.Err, gitrepo.ErrNotFound):
		b = Branch{Err: errNoBranch}
	default:
		b = Branch{Err: fmt.Errorf("the default branch %s: %w", b.Name, b.Err)}
	}
	return b
}

// lockfileAt reads the lockfile of a commit; nil where it has none.
func (p *Project) lockfileAt(ctx context.Context, commit gitrepo.Hash) (*lockfile.File, error) {
	data, err := p.fileAt(ctx, commit, p.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, gitrepo.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lockfile.Parse(data)
}

// fileAt reads a regular file of a commit's tree; fs.ErrNotExist where there is
// none.
func (p *Project) fileAt(ctx context.Context, commit gitrepo.Hash, path string) ([]byte, error) {
	at, err := p.gitPath(path)
	if err != nil {
		return nil, err
	}
	data, _, err := p.repo.File(ctx, commit, at, lockfile.MaxSize)
	return data, err
}
