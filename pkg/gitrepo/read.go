package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Object gives the kind and the exact bytes of an object, after its id was
// recomputed from them. It fails with *MissingObjectError, *TooLargeError or
// *IntegrityError.
func (r *Repo) Object(ctx context.Context, id Hash) (Kind, []byte, error) {
	return r.object(ctx, id, r.maxObject)
}

func (r *Repo) object(ctx context.Context, id Hash, max int64) (Kind, []byte, error) {
	kind, body, err := r.back.object(ctx, id, min(max, r.maxObject))
	if err != nil {
		var missing *MissingObjectError
		if errors.As(err, &missing) {
			missing.Shallow, missing.Partial = r.IsShallow(), r.isPartial()
		}
		return "", nil, err
	}
	if got := objectID(kind, body, id.Size()); got != id {
		return "", nil, &IntegrityError{ID: id, Err: fmt.Errorf("the content stored under it is that of %s %s", kind, got)}
	}
	return kind, body, nil
}

func (r *Repo) objectOf(ctx context.Context, id Hash, want Kind, max int64) ([]byte, error) {
	kind, body, err := r.object(ctx, id, max)
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, fmt.Errorf("git object %s is a %s, not a %s", id, kind, want)
	}
	return body, nil
}

// Blob gives the bytes of a file by its id.
func (r *Repo) Blob(ctx context.Context, id Hash) ([]byte, error) {
	return r.objectOf(ctx, id, KindBlob, r.maxObject)
}

// Tree gives the entries of a folder by its id. The slice is shared: do not
// change it.
func (r *Repo) Tree(ctx context.Context, id Hash) ([]Entry, error) {
	r.mu.Lock()
	entries, ok := r.trees.get(id)
	r.mu.Unlock()
	if ok {
		return entries, nil
	}
	body, err := r.objectOf(ctx, id, KindTree, r.maxObject)
	if err != nil {
		return nil, err
	}
	entries, err = ParseTree(body, id.Size())
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	r.mu.Lock()
	r.trees.put(id, entries, len(body))
	r.mu.Unlock()
	return entries, nil
}

// ReadCommit reads a commit and holds it to the strict form of ParseCommit.
func (r *Repo) ReadCommit(ctx context.Context, id Hash) (*Commit, error) {
	body, err := r.objectOf(ctx, id, KindCommit, r.maxObject)
	if err != nil {
		return nil, err
	}
	c, err := ParseCommit(body)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", id, err)
	}
	return c, nil
}

// ReadTag reads an annotated tag and holds it to the strict form of ParseTag.
func (r *Repo) ReadTag(ctx context.Context, id Hash) (*Tag, error) {
	body, err := r.objectOf(ctx, id, KindTag, r.maxObject)
	if err != nil {
		return nil, err
	}
	t, err := ParseTag(body)
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", id, err)
	}
	return t, nil
}

// TreeOf gives the id of the root folder of a commit, without judging the rest
// of the commit.
func (r *Repo) TreeOf(ctx context.Context, commit Hash) (Hash, error) {
	node, err := r.node(ctx, commit)
	return node.Tree, err
}

// Lookup finds a path (elements joined by "/"; empty for the root) below a
// tree. found is false where nothing has that name. A step through something
// that is no folder is a *ModeError: a symlink is never followed.
func (r *Repo) Lookup(ctx context.Context, tree Hash, path string) (entry Entry, found bool, err error) {
	entry = Entry{Mode: ModeFolder, ID: tree}
	if path == "" {
		return entry, true, nil
	}
	if err := checkPath(path); err != nil {
		return Entry{}, false, err
	}
	for rest, done := path, 0; rest != ""; {
		if entry.Mode != ModeFolder {
			return Entry{}, false, &ModeError{Path: path[:done-1], Mode: entry.Mode}
		}
		entries, err := r.Tree(ctx, entry.ID)
		if err != nil {
			return Entry{}, false, err
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		done += len(name) + 1
		if entry, found = findEntry(entries, name); !found {
			return Entry{}, false, nil
		}
	}
	return entry, true, nil
}

// checkPath refuses what is no path inside a repository.
func checkPath(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		if checkTreeName([]byte(name)) != nil || strings.ContainsRune(name, 0) {
			return fmt.Errorf("%q is not a path inside a repository", path)
		}
	}
	return nil
}

// File gives a file's bytes, at most maxBytes of them, and its entry, from a
// commit's tree. It fails with ErrNotFound, *ModeError where the path is not a
// regular file (nor reached through folders alone), and *TooLargeError.
func (r *Repo) File(ctx context.Context, commit Hash, path string, maxBytes int64) ([]byte, Entry, error) {
	entry, err := r.fileEntry(ctx, commit, path)
	if err != nil {
		return nil, entry, err
	}
	body, err := r.objectOf(ctx, entry.ID, KindBlob, maxBytes)
	if err != nil {
		return nil, entry, fmt.Errorf("reading %q from commit %s: %w", path, commit.Short(), err)
	}
	return body, entry, nil
}

func (r *Repo) fileEntry(ctx context.Context, commit Hash, path string) (Entry, error) {
	tree, err := r.TreeOf(ctx, commit)
	if err != nil {
		return Entry{}, err
	}
	entry, found, err := r.Lookup(ctx, tree, path)
	switch {
	case err != nil:
		return Entry{}, err
	case !found:
		return Entry{}, fmt.Errorf("%q in commit %s: %w", path, commit.Short(), ErrNotFound)
	case !entry.Mode.IsFile():
		return entry, &ModeError{Path: path, Mode: entry.Mode}
	}
	return entry, nil
}

// Dir lists a folder of a commit's tree (empty path for the root), with modes
// and ids. The slice is shared: do not change it.
func (r *Repo) Dir(ctx context.Context, commit Hash, path string) ([]Entry, error) {
	tree, err := r.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	entry, found, err := r.Lookup(ctx, tree, path)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("%q in commit %s: %w", path, commit.Short(), ErrNotFound)
	case entry.Mode != ModeFolder:
		return nil, fmt.Errorf("%q in commit %s is a %s, not a folder: %w", path, commit.Short(), entry.Mode, &ModeError{Path: path, Mode: entry.Mode})
	}
	return r.Tree(ctx, entry.ID)
}

// treeCacheBytes bounds the raw size of the trees in each of two generations.
const treeCacheBytes = 16 << 20

// treeCache keeps parsed trees by id. When the young generation is full the old
// one is dropped: what is used again survives, and memory is bounded.
type treeCache struct {
	young, old map[Hash][]Entry
	size       int
}

func (c *treeCache) get(id Hash) ([]Entry, bool) {
	if e, ok := c.young[id]; ok {
		return e, true
	}
	e, ok := c.old[id]
	if ok {
		c.put(id, e, 32*len(e))
	}
	return e, ok
}

func (c *treeCache) put(id Hash, entries []Entry, size int) {
	if c.young == nil || c.size+size > treeCacheBytes {
		c.old, c.young, c.size = c.young, map[Hash][]Entry{}, 0
	}
	c.young[id] = entries
	c.size += size
}
