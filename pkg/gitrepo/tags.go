package gitrepo

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// TagsPrefix begins the full name of every tag.
const TagsPrefix = "refs/tags/"

// Tags lists the tags whose names after refs/tags/ match a pattern of
// path.Match ("*" does not cross a slash), newest first by CompareVersions.
func (r *Repo) Tags(ctx context.Context, pattern string) ([]Ref, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("tag pattern %q: %w", pattern, err)
	}
	all, err := r.back.refs(ctx, TagsPrefix)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(ref Ref) bool {
		ok, _ := path.Match(pattern, strings.TrimPrefix(ref.Name, TagsPrefix))
		return !ok
	})
	slices.SortFunc(all, func(a, b Ref) int { return CompareVersions(b.Name, a.Name) })
	return all, nil
}

// References lists the references whose full names begin with prefix, which
// itself begins with "refs/", by name.
func (r *Repo) References(ctx context.Context, prefix string) ([]Ref, error) {
	if !strings.HasPrefix(prefix, "refs/") {
		return nil, fmt.Errorf("reference prefix %q does not begin with refs/", prefix)
	}
	return r.back.refs(ctx, prefix)
}

// CompareVersions orders names as versions: runs of digits by their value,
// everything else by bytes. Of two names one of which begins with the other the
// longer is newer, unless it goes on with "-": v1.0-rc1 comes before v1.0.
func CompareVersions(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digitRun(x), digitRun(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return compareEnds(x, y)
			}
			x, y = x[1:], y[1:]
			continue
		}
		if c := compareNumbers(x[:dx], y[:dy]); c != 0 {
			return c
		}
		x, y = x[dx:], y[dy:]
	}
	if x == "" && y == "" {
		return strings.Compare(a, b) // v01 and v1
	}
	return compareEnds(x, y)
}

// compareEnds compares two remainders that differ at once. A pre-release
// ("-…") is older than the end of the name, and than any other continuation.
func compareEnds(x, y string) int {
	rank := func(s string) int {
		switch {
		case s == "":
			return 0
		case s[0] == '-':
			return -1
		}
		return int(s[0])
	}
	return cmp.Compare(rank(x), rank(y))
}

func digitRun(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

// AnnotatedTag reads the tag that a full name ("refs/tags/…") points to, as one
// whose words can be relied on: annotated, named inside as its reference is,
// and pointing to a commit, which it also gives. Anything else is a
// *FormatError. Whether the signature is good is for the caller.
func (r *Repo) AnnotatedTag(ctx context.Context, name string) (*Tag, Hash, error) {
	short, ok := strings.CutPrefix(name, TagsPrefix)
	if !ok {
		return nil, Hash{}, fmt.Errorf("%q is not the full name of a tag (refs/tags/…)", name)
	}
	ref, err := r.Reference(ctx, name)
	if err != nil {
		return nil, Hash{}, err
	}
	if ref.Target != "" {
		return nil, Hash{}, tagError("symbolic", fmt.Sprintf("%s is a symbolic reference to %s", name, ref.Target))
	}
	kind, body, err := r.Object(ctx, ref.ID)
	if err != nil {
		return nil, Hash{}, err
	}
	if kind != KindTag {
		return nil, Hash{}, tagError("lightweight", fmt.Sprintf("%s points to a %s; only annotated tags can be signed", name, kind))
	}
	tag, err := ParseTag(body)
	switch {
	case err != nil:
		return nil, Hash{}, fmt.Errorf("%s: %w", name, err)
	case tag.Name != short:
		return nil, Hash{}, tagError("renamed", fmt.Sprintf("%s holds a tag made under the name %q", name, tag.Name))
	case tag.Kind != KindCommit:
		return nil, Hash{}, tagError("target", fmt.Sprintf("%s points to a %s, not to a commit", name, tag.Kind))
	}
	if _, err := r.node(ctx, tag.Target); err != nil {
		return nil, Hash{}, err
	}
	return tag, tag.Target, nil
}
