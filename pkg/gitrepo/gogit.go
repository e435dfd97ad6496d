package gitrepo

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// objectCacheSize is what go-git may keep of delta bases. Trees have a cache of
// their own above it.
const objectCacheSize = 48 << 20

// maxSymbolicRefs bounds a chain of symbolic references, as git does.
const maxSymbolicRefs = 5

// goGit reads a repository through go-git, but for loose objects.
type goGit struct {
	objects string     // the folder of objects
	mu      sync.Mutex // go-git's storage is not safe for concurrent readers
	storage *filesystem.Storage
}

// errAlternates stands for a gap of go-git v5: it looks for the size of an object
// in no alternate, and reads relative ones wrongly.
var errAlternates = errors.New("objects are borrowed from another repository (objects/info/alternates)")

func openGoGit(p place, maxObject int64) (*goGit, error) {
	if exists(filepath.Join(p.commonDir, "objects", "info", "alternates")) {
		return nil, errAlternates
	}
	var fs billy.Filesystem = withoutLocks{osfs.New(p.gitDir)}
	if p.commonDir != p.gitDir {
		fs = dotgit.NewRepositoryFilesystem(fs, withoutLocks{osfs.New(p.commonDir)})
	}
	storage := filesystem.NewStorageWithOptions(fs, cache.NewObjectLRU(objectCacheSize), filesystem.Options{
		KeepDescriptors:      true,
		LargeObjectThreshold: maxObject,
	})
	// Open refuses the extensions of the repository format that go-git lacks.
	if _, err := git.Open(storage, nil); err != nil {
		_ = storage.Close()
		return nil, err
	}
	return &goGit{objects: filepath.Join(p.commonDir, "objects"), storage: storage}, nil
}

func (g *goGit) object(ctx context.Context, id Hash, max int64) (Kind, []byte, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, context.Cause(ctx)
	}
	if id.Size() != len(plumbing.Hash{}) {
		return "", nil, &MissingObjectError{ID: id}
	}
	if kind, body, found, err := readLoose(g.objects, id, max); found {
		return kind, body, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kind, body, err := g.read(id, max)
	var missing *MissingObjectError
	if errors.As(err, &missing) {
		// A pack may have come since the indexes were read.
		g.storage.Reindex()
		kind, body, err = g.read(id, max)
	}
	return kind, body, err
}

// read turns a panic of the pack reader into an error: packs are hostile input.
func (g *goGit) read(id Hash, max int64) (kind Kind, body []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			kind, body, err = "", nil, &IntegrityError{ID: id, Err: fmt.Errorf("reading it failed: %v", r)}
		}
	}()
	var h plumbing.Hash
	copy(h[:], id.b[:])
	// Only small objects are in memory after this; a larger one is opened. (Asking
	// for the size first would look for a loose object before looking in packs.)
	obj, err := g.storage.EncodedObject(plumbing.AnyObject, h)
	if err != nil {
		return "", nil, storageError(id, err)
	}
	size := obj.Size()
	if size > max {
		return "", nil, &TooLargeError{ID: id, Size: size, Max: max}
	}
	r, err := obj.Reader()
	if err != nil {
		return "", nil, storageError(id, err)
	}
	defer func() { _ = r.Close() }()
	// One byte more than announced, so that a longer body is seen as other content.
	body = make([]byte, size+1)
	n, err := io.ReadFull(r, body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", nil, storageError(id, err)
	}
	return Kind(obj.Type().String()), body[:n], nil
}

func storageError(id Hash, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return &MissingObjectError{ID: id}
	}
	return &IntegrityError{ID: id, Err: err}
}

func (g *goGit) ref(_ context.Context, name string) (Ref, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := Ref{Name: name}
	for range maxSymbolicRefs {
		ref, err := g.storage.Reference(plumbing.ReferenceName(name))
		switch {
		case errors.Is(err, plumbing.ErrReferenceNotFound) && out.Target != "":
			return out, nil
		case errors.Is(err, plumbing.ErrReferenceNotFound):
			return Ref{}, fmt.Errorf("reference %q: %w", name, ErrNotFound)
		case err != nil:
			return Ref{}, fmt.Errorf("reference %q: %w", name, err)
		case ref.Type() != plumbing.SymbolicReference:
			h := ref.Hash()
			out.ID = rawHash(h[:])
			return out, nil
		}
		name = string(ref.Target())
		out.Target = name
	}
	return Ref{}, fmt.Errorf("reference %q: more than %d symbolic references in a row", out.Name, maxSymbolicRefs)
}

func (g *goGit) refs(ctx context.Context, prefix string) ([]Ref, error) {
	g.mu.Lock()
	iter, err := g.storage.IterReferences()
	if err != nil {
		g.mu.Unlock()
		return nil, fmt.Errorf("listing references: %w", err)
	}
	var names []string
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		if name := string(ref.Name()); strings.HasPrefix(name, prefix) && strings.HasPrefix(name, "refs/") {
			names = append(names, name)
		}
		return nil
	})
	g.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("listing references: %w", err)
	}
	sort.Strings(names)
	out := make([]Ref, 0, len(names))
	for _, name := range names {
		ref, err := g.ref(ctx, name)
		if err != nil {
			return nil, err
		}
		out = append(out, ref)
	}
	return out, nil
}

func (g *goGit) expand(_ context.Context, digits string) ([]Hash, error) {
	prefix, err := hex.DecodeString(digits[:len(digits)&^1])
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	hashes, err := g.storage.HashesWithPrefix(prefix)
	if err != nil {
		return nil, fmt.Errorf("looking for objects %q: %w", digits, err)
	}
	var out []Hash
	for _, h := range hashes {
		if id := rawHash(h[:]); strings.HasPrefix(id.String(), digits) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (g *goGit) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.storage.Close()
}
