package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const remoteRefs = "refs/remotes/"

// Remotes gives the names of the configured remotes, sorted; where there is no git
// program to read the configuration, of those that have branches here.
func (r *Repo) Remotes(ctx context.Context) ([]string, error) {
	out, err := r.git.run(ctx, gitCall{args: []string{"config", "-z", "--name-only", "--get-regexp", `^remote\..*\.url$`}, config: true})
	var names []string
	switch {
	case errors.Is(err, ErrNoGit):
		refs, err := r.back.refs(ctx, remoteRefs)
		if err != nil {
			return nil, err
		}
		for _, ref := range refs {
			name, _, _ := strings.Cut(strings.TrimPrefix(ref.Name, remoteRefs), "/")
			names = append(names, name)
		}
	case exitCode(err) == 1:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the remotes of git's configuration: %w", err)
	}
	for key := range strings.SplitSeq(string(trimNUL(out)), "\x00") {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(key, "remote."), ".url"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// MainRemote gives the remote that a clone comes from: origin, else the only one;
// empty where there is none.
func (r *Repo) MainRemote(ctx context.Context) (string, error) {
	names, err := r.Remotes(ctx)
	switch {
	case err != nil:
		return "", err
	case slices.Contains(names, "origin"):
		return "origin", nil
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", &AmbiguousError{Name: "the remote", Of: names}
	}
	return "", nil
}

// AmbiguousError says that a name could mean several.
type AmbiguousError struct {
	Name string
	Of   []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s could be any of %s", e.Name, strings.Join(e.Of, ", "))
}

// ResolveBase turns what a person names as a base into a commit: HEAD or a full
// reference name, a local branch, REMOTE/BRANCH, that branch of a remote (where two
// remotes have it they must agree, else it is an *AmbiguousError), or a commit id, in
// that order. A tag is meant only by its full name: whoever can push one could
// otherwise take the place of a branch. ~N, ^ and ^N lead to ancestors.
func (r *Repo) ResolveBase(ctx context.Context, rev string) (Hash, error) {
	rest, parent, times, ok, err := cutAncestor(rev)
	if err != nil {
		return Hash{}, err
	}
	if ok {
		id, err := r.ResolveBase(ctx, rest)
		if err != nil {
			return Hash{}, err
		}
		return r.ancestor(ctx, id, parent, times)
	}
	if rev == "HEAD" || strings.HasPrefix(rev, "refs/") {
		return r.Resolve(ctx, rev)
	}
	for _, name := range []string{"refs/heads/" + rev, remoteRefs + rev} {
		id, err := r.Resolve(ctx, name)
		if err == nil || !errors.Is(err, ErrNotFound) && checkRefName(name) == nil {
			return id, err
		}
	}
	if id, err := r.ofRemotes(ctx, rev); err != nil || !id.IsZero() {
		return id, err
	}
	return r.commitID(ctx, rev)
}

// ofRemotes finds a branch by its name alone; zero where no remote has it.
func (r *Repo) ofRemotes(ctx context.Context, branch string) (Hash, error) {
	remotes, err := r.Remotes(ctx)
	if err != nil || checkRefName("refs/heads/"+branch) != nil {
		return Hash{}, err
	}
	var found Hash
	var of []string
	differ := false
	for _, remote := range remotes {
		id, err := r.Resolve(ctx, remoteRefs+remote+"/"+branch)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return Hash{}, err
		}
		differ = differ || len(of) > 0 && id != found
		found, of = id, append(of, remote+"/"+branch)
	}
	if differ {
		return Hash{}, &AmbiguousError{Name: branch, Of: of}
	}
	return found, nil
}

// commitID finds a commit by its id, or the first digits of it.
func (r *Repo) commitID(ctx context.Context, rev string) (Hash, error) {
	if id, ok := parseHexHash([]byte(rev)); ok {
		return r.peel(ctx, id)
	}
	if !isAbbreviation(rev) {
		return Hash{}, fmt.Errorf("%q is no branch, here or of a remote, and no commit id (a tag is named refs/tags/…): %w", rev, ErrNotFound)
	}
	id, err := r.abbreviated(ctx, rev)
	if err != nil {
		return Hash{}, err
	}
	return r.peel(ctx, id)
}

// DefaultBranchOf gives the name of the branch that a remote's HEAD leads to, as
// this clone has it; ErrNotFound where the clone does not say.
func (r *Repo) DefaultBranchOf(ctx context.Context, remote string) (string, error) {
	ref, err := r.back.ref(ctx, remoteRefs+remote+"/HEAD")
	if err != nil {
		return "", err
	}
	branch, ok := strings.CutPrefix(ref.Target, remoteRefs+remote+"/")
	if !ok {
		return "", fmt.Errorf("%s%s/HEAD leads to no branch of %[2]s: %w", remoteRefs, remote, ErrNotFound)
	}
	return branch, nil
}

// OnFirstParents reports whether a commit is tip, or on its first-parent line. Where
// the line ends early, as in a shallow clone, the error says so.
func (r *Repo) OnFirstParents(ctx context.Context, tip, commit Hash) (bool, error) {
	for node, err := range r.FirstParents(ctx, tip) {
		if err != nil {
			return false, err
		}
		if node.ID == commit {
			return true, nil
		}
	}
	return false, nil
}

// CommonDir is the folder that holds objects and references; the same for all work
// trees of a clone.
func (r *Repo) CommonDir() string { return r.commonDir }
