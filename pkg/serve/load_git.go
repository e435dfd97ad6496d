package serve

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/trust"
)

const (
	tagsPrefix  = "refs/tags/"
	headsPrefix = "refs/heads/"
)

// gitReader reads policies from commits of a repository: never from a work tree.
type gitReader struct {
	origin *Origin
	now    func() time.Time
	remote bool
	dir    string // the repository, or what a remote one is fetched into
	repo   *gitrepo.Repo
}

func newGitReader(origin *Origin, now func() time.Time) (originReader, error) {
	g := &gitReader{origin: origin, now: now, dir: origin.Repo}
	if origin.Ref == "" {
		return nil, errors.New("name what to serve with --ref: a tag such as lock/v1, a pattern of tags such as 'lock/v*', or a branch")
	}
	if info, err := os.Stat(origin.Repo); err == nil && info.IsDir() {
		return g, nil
	}
	if !strings.Contains(origin.Repo, ":") {
		return nil, fmt.Errorf("the repository %q is no folder, and no URL", origin.Repo)
	}
	if u, err := url.Parse(origin.Repo); err == nil && u.User != nil {
		if _, password := u.User.Password(); password || u.Scheme != "ssh" {
			return nil, errors.New("the repository's URL holds credentials, which end up in logs; use --git-token-file or --git-ssh-key")
		}
	}
	if origin.Cache == "" {
		return nil, errors.New("a remote repository needs a folder to be fetched into")
	}
	g.remote, g.dir = true, filepath.Join(origin.Cache, "git-"+canonical.SumString(origin.Repo).Short())
	return g, nil
}

func (g *gitReader) close() {
	if g.repo != nil {
		_ = g.repo.Close()
		g.repo = nil
	}
}

// candidates implements originReader. A repository is opened anew each time, so that
// packs which came since are seen.
func (g *gitReader) candidates(ctx context.Context) ([]candidate, error) {
	if g.remote {
		err := gitrepo.Fetch(ctx, g.origin.Repo, g.refspecs(), gitrepo.FetchOptions{Dir: g.dir, TokenFile: g.origin.TokenFile, SSHKey: g.origin.SSHKey})
		if err != nil {
			return nil, err
		}
	}
	g.close()
	repo, err := gitrepo.Open(ctx, g.dir, gitrepo.Options{Bare: true})
	if err != nil {
		return nil, err
	}
	g.repo = repo
	if isPattern(g.origin.Ref) {
		return g.tags(ctx)
	}
	at, err := g.resolve(ctx)
	if err != nil {
		return nil, err
	}
	return []candidate{g.candidate(at)}, nil
}

func (g *gitReader) candidate(at position) candidate {
	return candidate{
		id: at.id(), title: at.title(), fixed: g.origin.Sigstore == nil,
		read: func(ctx context.Context, known *trust.Ledger) (*material, error) { return g.material(ctx, at, known) },
	}
}

// tags are the tags of a pattern. One that leads to no commit does not verify.
func (g *gitReader) tags(ctx context.Context) ([]candidate, error) {
	tags, err := g.repo.Tags(ctx, strings.TrimPrefix(g.origin.Ref, tagsPrefix))
	if err != nil {
		return nil, fmt.Errorf("listing the tags %s: %w", g.origin.Ref, err)
	}
	if len(tags) == 0 {
		return nil, &LoadError{RuleOrigin, fmt.Sprintf("no tag matches %q", g.origin.Ref), "seal the lockfile with a tag of such a name, or name another", nil}
	}
	candidates := make([]candidate, 0, len(tags))
	for _, tag := range tags {
		at, err := g.at(ctx, tag.Name)
		if err == nil {
			candidates = append(candidates, g.candidate(at))
			continue
		}
		broken := position{ref: tag.Name, object: tag.ID}
		candidates = append(candidates, candidate{id: broken.id(), title: broken.title(), read: func(context.Context, *trust.Ledger) (*material, error) { return nil, err }})
	}
	return candidates, nil
}

// refspecs names what is fetched of a remote repository. A wildcard after a short
// name makes that it may be missing: it can be a tag's or a branch's.
func (g *gitReader) refspecs() []string {
	ref := g.origin.Ref
	spec := func(name string) string { return "+" + name + ":" + name }
	switch {
	case isPattern(ref):
		name := strings.TrimPrefix(ref, tagsPrefix)
		return []string{spec(tagsPrefix + name[:strings.IndexAny(name, patternCharacters)] + "*")}
	case strings.HasPrefix(ref, "refs/"):
		return []string{spec(ref)}
	case g.origin.Require != seal.RequireNone:
		return []string{spec(tagsPrefix + ref)}
	}
	return []string{spec(tagsPrefix + ref + "*"), spec(headsPrefix + ref + "*")}
}

// patternCharacters are those that no git reference holds.
const patternCharacters = `*?[\`

func isPattern(ref string) bool { return strings.ContainsAny(ref, patternCharacters) }

// A position is what a reference leads to.
type position struct {
	ref    string       // the full name; empty for a commit that was named by its id
	object gitrepo.Hash // the tag object, or the commit
	commit gitrepo.Hash
}

func (p position) id() string { return p.ref + " " + p.object.String() + " " + p.commit.String() }

func (p position) tag() string {
	if name, ok := strings.CutPrefix(p.ref, tagsPrefix); ok {
		return name
	}
	return ""
}

// title is how people name it.
func (p position) title() string {
	switch {
	case p.tag() != "":
		return "the tag " + p.tag()
	case p.ref == "":
		return "the commit " + p.commit.Short()
	}
	return "the branch " + strings.TrimPrefix(p.ref, headsPrefix)
}

// resolve finds what the configured reference leads to now. A tag goes before a
// branch of its name: the stricter seal is asked for.
func (g *gitReader) resolve(ctx context.Context) (position, error) {
	ref := g.origin.Ref
	names := []string{ref}
	if !strings.HasPrefix(ref, "refs/") {
		names = []string{tagsPrefix + ref, headsPrefix + ref}
	}
	for _, name := range names {
		at, err := g.at(ctx, name)
		if !errors.Is(err, gitrepo.ErrNotFound) {
			return at, err
		}
	}
	if id, err := gitrepo.ParseHash(ref); err == nil {
		return position{"", id, id}, nil
	}
	return position{}, &LoadError{RuleOrigin, fmt.Sprintf("there is no tag and no branch %q", ref), "look for it with git tag and git branch", nil}
}

func (g *gitReader) at(ctx context.Context, name string) (position, error) {
	ref, err := g.repo.Reference(ctx, name)
	if err != nil {
		return position{}, err
	}
	commit, err := g.repo.Resolve(ctx, name)
	if err != nil {
		return position{}, err
	}
	return position{name, ref.ID, commit}, nil
}

// material proves the seal of what a reference leads to, and reads what belongs to
// the lockfile.
func (g *gitReader) material(ctx context.Context, at position, known *trust.Ledger) (*material, error) {
	origin := seal.OriginBranch
	if at.tag() != "" {
		origin = seal.OriginTag
	}
	sealed, err := g.seal(ctx, at, origin, known)
	if err != nil {
		return nil, sealError(err)
	}
	folder, name := folderOf(g.origin.Path), path.Base(g.origin.Path)
	files, err := g.repo.FS(ctx, at.commit, folder)
	if err != nil {
		return nil, err
	}
	read := lockfile.CopyReader(files)
	m := &material{tag: at.tag(), sealed: sealed, path: name, folder: folder}
	m.instruction = func(c *lockfile.Copy, digest canonical.Digest) (string, bool) {
		for _, p := range []string{c.Path, c.Approved} {
			data, err := read(p)
			if err != nil {
				continue // without its text, instructions in force are not recognised
			}
			if text, err := lockfile.ParseInstructions(data); err == nil && canonical.SumString(text) == digest {
				return text, true
			}
		}
		return "", false
	}
	m.descends = func(ctx context.Context, id string) (bool, error) { return g.descends(ctx, at.commit, id) }
	return m, nil
}

// descends reports whether a commit comes after another. It is asked later than
// the commit was read, so it opens the repository by itself.
func (g *gitReader) descends(ctx context.Context, commit gitrepo.Hash, from string) (bool, error) {
	repo, err := gitrepo.Open(ctx, g.dir, gitrepo.Options{Bare: true})
	if err != nil {
		return false, err
	}
	defer func() { _ = repo.Close() }()
	floor, err := repo.Resolve(ctx, from)
	if err != nil {
		return false, err
	}
	return repo.IsAncestor(ctx, floor, commit)
}

// seal proves the seal that the origin asks for.
func (g *gitReader) seal(ctx context.Context, at position, origin seal.Origin, known *trust.Ledger) (*seal.Sealed, error) {
	require, err := g.origin.Require.For(origin)
	if err != nil {
		return nil, err
	}
	options := seal.Options{Require: require, Root: g.origin.TrustRoot, Known: known}
	folder, name := folderOf(g.origin.Path), path.Base(g.origin.Path)
	if require == seal.RequireTag {
		subject, err := seal.Tag(ctx, g.repo, at.ref, folder, name)
		if err != nil {
			return nil, err
		}
		sealed, err := seal.Verify(subject, options)
		if err == nil && (sealed.Commit != at.commit || sealed.Tag != at.object) {
			err = fmt.Errorf("%s was moved while it was read", at.ref)
		}
		return sealed, err
	}
	subject, err := seal.Commit(ctx, g.repo, at.commit, origin, folder, name)
	if err != nil {
		return nil, err
	}
	if require == seal.RequireSigstore {
		if err := g.origin.Sigstore.fill(&options, g.now()); err != nil {
			return nil, err
		}
		if options.Seal, err = g.origin.Sigstore.apart(); err != nil {
			return nil, err
		}
	}
	return seal.Verify(subject, options)
}
