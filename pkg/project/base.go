package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
)

// A Base is the commit a change is judged against.
type Base struct {
	Commit gitrepo.Hash // zero where there is none
	Reason string       // how it was found, for people
	// Own holds where an event says that the change is of this same repository: no
	// pull request of another one, nor a commit that is not the event's.
	Own bool
	// Unreadable holds where there should be a base and it cannot be read: then
	// nothing is settled by the want of one.
	Unreadable bool
	// Lockfile is the base's; nil where it has none.
	Lockfile *lockfile.File
}

// Known reports whether there is a base.
func (b *Base) Known() bool { return !b.Commit.IsZero() }

// event is what is read of a GitHub event.
type event struct {
	Before      string `json:"before"`
	PullRequest *struct {
		Base struct {
			SHA  string `json:"sha"`
			Repo repo   `json:"repo"`
		} `json:"base"`
		Head struct {
			SHA  string `json:"sha"`
			Repo repo   `json:"repo"`
		} `json:"head"`
	} `json:"pull_request"`
	MergeGroup *struct {
		BaseSHA string `json:"base_sha"`
	} `json:"merge_group"`
}

// own reports whether the commit that is checked out comes from the event's own
// repository. A pull request that does not name both repositories, as where a
// fork was deleted, does not; nor does a commit that is not the event's own, as
// where a comment or another workflow made this one check a pull request out.
func (e event) own(isEvents bool) bool {
	if e.PullRequest == nil {
		return isEvents
	}
	head, base := e.PullRequest.Head.Repo.FullName, e.PullRequest.Base.Repo.FullName
	return head != "" && head == base
}

type repo struct {
	FullName string `json:"full_name"`
}

// maxEvent bounds the event file.
const maxEvent = 16 << 20

// findBase finds the base by the rules of the design: the ref asked for; in a
// pull request or merge queue the first parent of the checked-out merge commit,
// or the event's base commit; on a push the event's before; else the merge base
// with origin/HEAD, main or master where that is not HEAD. The error is a
// finding's: a base that cannot be read leaves the run undecided.
func (p *Project) findBase(ctx context.Context, ref string) (*Base, *finding.Finding) {
	base := &Base{}
	fail := func(err error, what string) (*Base, *finding.Finding) {
		base.Unreadable = true
		return base, p.noBase(err, what)
	}
	e, err := p.readEvent()
	if err != nil {
		return fail(err, "the event of GITHUB_EVENT_PATH")
	}
	judged := ref != "" || e.PullRequest != nil || e.MergeGroup != nil // there must be a base
	if p.repo == nil {
		if judged {
			return fail(errors.New("this is not a git repository"), cmp.Or(ref, "the base commit of the event"))
		}
		return base, nil
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		if judged || !errors.Is(err, gitrepo.ErrNotFound) {
			return fail(err, "HEAD")
		}
		return base, nil // no commit yet
	}
	events := p.Env.env("GITHUB_SHA")
	base.Own = e.own(events == head.String())
	find := []func() (gitrepo.Hash, string, error){
		func() (gitrepo.Hash, string, error) { return p.askedBase(ctx, ref) },
		func() (gitrepo.Hash, string, error) { return p.eventBase(ctx, e, head) },
		func() (gitrepo.Hash, string, error) { return p.branchBase(ctx, head) },
	}
	for _, f := range find {
		commit, reason, err := f()
		if err != nil {
			return fail(err, reason)
		}
		if !commit.IsZero() {
			base.Commit, base.Reason = commit, reason
			break
		}
	}
	if !base.Known() && events != "" && events != head.String() {
		return fail(errors.New("another commit is checked out than the event is about, so nothing says where it comes from"), "HEAD")
	}
	if !base.Known() {
		return base, nil
	}
	if base.Lockfile, err = p.lockfileAt(ctx, base.Commit); err != nil {
		return fail(err, base.Reason)
	}
	return base, nil
}

// noBase is the finding for a base that cannot be read.
func (p *Project) noBase(err error, what string) *finding.Finding {
	f := finding.New(finding.HistoryShallow, finding.Place{File: p.Path}, "the base cannot be read: "+what)
	f.Detail = err.Error()
	var missing *gitrepo.MissingObjectError
	if !errors.As(err, &missing) {
		f.Hint = "Name a commit that this clone holds with `--base REF`, or check out with `fetch-depth: 0`."
	}
	return &f
}

func (p *Project) askedBase(ctx context.Context, ref string) (gitrepo.Hash, string, error) {
	if ref == "" {
		return gitrepo.Hash{}, "", nil
	}
	commit, err := p.repo.Resolve(ctx, ref)
	return commit, "--base " + ref, err
}

func (p *Project) readEvent() (event, error) {
	var e event
	path := p.Env.env("GITHUB_EVENT_PATH")
	if path == "" {
		return e, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return e, err
	}
	if info.Size() > maxEvent {
		return e, fmt.Errorf("%s is larger than %d MiB", path, maxEvent>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// eventBase takes the base from the event of the run. In a pull request the tree
// that is judged is GitHub's merge commit, whose first parent is the base as it is
// now. Any other merge commit is one that the pull request brings, and its first
// parent what its author chose.
func (p *Project) eventBase(ctx context.Context, e event, head gitrepo.Hash) (gitrepo.Hash, string, error) {
	sha, reason := e.Before, "the commit before the push"
	switch {
	case e.PullRequest != nil:
		commit, err := p.repo.ReadCommit(ctx, head)
		if err != nil {
			return gitrepo.Hash{}, "HEAD", err
		}
		if p.mergedByGitHub(e, head, commit.Parents) {
			return commit.Parents[0], "the first parent of the merge commit", p.mustHave(ctx, commit.Parents[0])
		}
		sha, reason = e.PullRequest.Base.SHA, "the base commit of the event"
	case e.MergeGroup != nil:
		sha, reason = e.MergeGroup.BaseSHA, "the base commit of the event"
	case strings.Trim(sha, "0") == "":
		return gitrepo.Hash{}, "", nil
	}
	base, err := p.eventCommit(ctx, sha)
	return base, reason, err
}

// mergedByGitHub reports whether HEAD is the commit that merges the head of the
// event's pull request into its base. The runner says which commit that is; in a
// workflow of the base it says which commit the base is.
func (p *Project) mergedByGitHub(e event, head gitrepo.Hash, parents []gitrepo.Hash) bool {
	if len(parents) != 2 || parents[1].String() != e.PullRequest.Head.SHA {
		return false
	}
	given := p.Env.env("GITHUB_SHA")
	return given == head.String() || given == parents[0].String()
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

// mainBranches are where the main branch may be found, the first that is there.
var mainBranches = []string{
	"refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/remotes/origin/main", "refs/remotes/origin/master",
}

// branchBase is the merge base with the main branch, where HEAD is not on it.
func (p *Project) branchBase(ctx context.Context, head gitrepo.Hash) (gitrepo.Hash, string, error) {
	for _, ref := range mainBranches {
		tip, err := p.repo.Resolve(ctx, ref)
		if err != nil {
			continue // not every repository has each
		}
		if tip == head {
			return gitrepo.Hash{}, "", nil // no history is needed to tell
		}
		base, err := p.repo.MergeBase(ctx, head, tip)
		if err != nil {
			return gitrepo.Hash{}, "the merge base with " + ref, err
		}
		if base.IsZero() || base == head {
			return gitrepo.Hash{}, "", nil
		}
		return base, "the merge base with " + strings.TrimPrefix(ref, "refs/"), nil
	}
	return gitrepo.Hash{}, "", nil
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
