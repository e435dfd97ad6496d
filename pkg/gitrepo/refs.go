package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Resolve turns a revision into the id of a commit: "HEAD", a full reference
// name (refs/…), a short tag, branch or remote branch (origin/main,
// origin/HEAD), in that order, a full object id, or a unique abbreviation of at
// least four digits. An annotated tag is peeled. ~N, ^ and ^N after it lead to
// ancestors, as in git. It fails with ErrNotFound where nothing has that name.
func (r *Repo) Resolve(ctx context.Context, rev string) (Hash, error) {
	rest, parent, times, ok, err := cutAncestor(rev)
	if err != nil {
		return Hash{}, err
	}
	if ok {
		id, err := r.Resolve(ctx, rest)
		if err != nil {
			return Hash{}, err
		}
		return r.ancestor(ctx, id, parent, times)
	}
	id, err := r.resolve(ctx, rev)
	if err != nil {
		return Hash{}, err
	}
	return r.peel(ctx, id)
}

// refPatterns are the places a short name is looked for, in git's order.
var refPatterns = [...]string{"refs/tags/", "refs/heads/", "refs/remotes/"}

func (r *Repo) resolve(ctx context.Context, rev string) (Hash, error) {
	if id, ok := parseHexHash([]byte(rev)); ok {
		return id, nil
	}
	names := []string{rev}
	if rev != "HEAD" && !strings.HasPrefix(rev, "refs/") {
		names = names[:0]
		for _, pattern := range refPatterns {
			names = append(names, pattern+rev)
		}
	}
	if err := checkRefName(names[0]); err != nil && rev != "HEAD" {
		return Hash{}, fmt.Errorf("revision %q: %w", rev, err)
	}
	for _, name := range names {
		ref, err := r.back.ref(ctx, name)
		switch {
		case err == nil && ref.ID.IsZero():
			return Hash{}, fmt.Errorf("%q points to %q, which has no commit yet: %w", rev, ref.Target, ErrNotFound)
		case err == nil:
			return ref.ID, nil
		case !errors.Is(err, ErrNotFound):
			return Hash{}, err
		}
	}
	if !isAbbreviation(rev) {
		return Hash{}, fmt.Errorf("revision %q: no such branch, tag or commit: %w", rev, ErrNotFound)
	}
	return r.abbreviated(ctx, rev)
}

func isAbbreviation(s string) bool {
	return len(s) >= 4 && len(s) < 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// maxCandidates bounds the objects looked at for one abbreviation.
const maxCandidates = 64

func (r *Repo) abbreviated(ctx context.Context, digits string) (Hash, error) {
	ids, err := r.back.expand(ctx, digits)
	if err != nil {
		return Hash{}, err
	}
	if len(ids) > maxCandidates {
		return Hash{}, fmt.Errorf("%q begins the ids of %d objects; give more digits", digits, len(ids))
	}
	var found []Hash
	for _, id := range ids {
		kind, _, err := r.Object(ctx, id)
		if err != nil {
			return Hash{}, err
		}
		if kind == KindCommit || kind == KindTag {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return Hash{}, fmt.Errorf("revision %q: no such branch, tag or commit: %w", digits, ErrNotFound)
	case 1:
		return found[0], nil
	}
	return Hash{}, fmt.Errorf("%q begins the ids of %d commits; give more digits", digits, len(found))
}

// maxPeel bounds tags that point to tags.
const maxPeel = 8

func (r *Repo) peel(ctx context.Context, id Hash) (Hash, error) {
	for range maxPeel {
		kind, body, err := r.Object(ctx, id)
		if err != nil {
			return Hash{}, err
		}
		if kind == KindCommit {
			return id, nil
		}
		if kind != KindTag {
			return Hash{}, fmt.Errorf("git object %s is a %s, not a commit", id, kind)
		}
		tag, err := ParseTag(body)
		if err != nil {
			return Hash{}, fmt.Errorf("tag %s: %w", id, err)
		}
		id = tag.Target
	}
	return Hash{}, fmt.Errorf("more than %d tags in a row point to each other", maxPeel)
}

// Reference reads one reference by its full name, or "HEAD", without peeling.
func (r *Repo) Reference(ctx context.Context, name string) (Ref, error) {
	if name != "HEAD" {
		if err := checkRefName(name); err != nil {
			return Ref{}, err
		}
	}
	return r.back.ref(ctx, name)
}

// checkRefName holds a full reference name to the rules of git check-ref-format.
func checkRefName(name string) error {
	bad := !strings.HasPrefix(name, "refs/") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.ContainsAny(name, " ~^:?*[\\\x7f")
	for _, c := range []byte(name) {
		bad = bad || c < 0x20
	}
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return fmt.Errorf("%q is not a valid reference name", name)
	}
	return nil
}
