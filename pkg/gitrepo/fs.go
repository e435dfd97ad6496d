package gitrepo

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"agentgateway-lock/pkg/internal/bounded"
)

// FS returns the files in a folder of a commit (with slashes; empty for the root)
// as a read-only [fs.FS], which lists folders too and has a ReadFile with a limit.
// It follows no link: a symlink, a submodule or an entry of an odd mode, at a path or
// on the way to it, is an error. What is not there, the folder included, is
// [fs.ErrNotExist]; an object that this clone lacks never is. ctx holds for every
// read.
func (r *Repo) FS(ctx context.Context, commit Hash, folder string) (fs.FS, error) {
	tree, err := r.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	return r.TreeFS(ctx, tree, folder), nil
}

// TreeFS is [Repo.FS] for a tree.
func (r *Repo) TreeFS(ctx context.Context, tree Hash, folder string) fs.FS {
	return &treeFS{ctx, r, tree, folder}
}

type treeFS struct {
	ctx    context.Context //nolint:containedctx // methods of fs.FS have none
	repo   *Repo
	tree   Hash
	folder string
}

var (
	_ fs.ReadLinkFS      = (*treeFS)(nil)
	_ bounded.FileReader = (*treeFS)(nil)
)

// entry finds what is at a name.
func (t *treeFS) entry(op, name string) (Entry, error) {
	if !fs.ValidPath(name) {
		return Entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at := path.Join(t.folder, name)
	if at == "." {
		at = ""
	}
	entry, found, err := t.repo.Lookup(t.ctx, t.tree, at)
	if mode, ok := errors.AsType[*ModeError](err); ok {
		return Entry{}, &bounded.LinkError{Path: strings.TrimPrefix(mode.Path, t.folder+"/")}
	}
	if err == nil && !found {
		err = &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	entry.Name = path.Base(name)
	return entry, err
}

// Open implements [fs.FS].
func (t *treeFS) Open(name string) (fs.File, error) {
	entry, err := t.entry("open", name)
	if err != nil {
		return nil, err
	}
	switch {
	case entry.Mode == ModeFolder:
		list, err := t.repo.Tree(t.ctx, entry.ID)
		if err != nil {
			return nil, err
		}
		entries := make([]fs.DirEntry, len(list))
		for i := range list {
			entries[i] = treeEntry{t, list[i]}
		}
		return bounded.NewFolder(treeInfo{entry, 0}, entries), nil
	case !entry.Mode.IsFile():
		return nil, &bounded.LinkError{Path: name}
	}
	data, err := t.repo.Blob(t.ctx, entry.ID)
	if err != nil {
		return nil, err
	}
	return bounded.NewFile(treeInfo{entry, int64(len(data))}, data), nil
}

// ReadFile reads a regular file of at most limit bytes.
func (t *treeFS) ReadFile(name string, limit int64) ([]byte, error) {
	entry, err := t.entry("open", name)
	if err != nil {
		return nil, err
	}
	if !entry.Mode.IsFile() {
		return nil, &bounded.LinkError{Path: name}
	}
	data, err := t.repo.objectOf(t.ctx, entry.ID, KindBlob, limit)
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		return nil, &bounded.SizeError{Path: name, Size: large.Size, Limit: limit}
	}
	return data, err
}

// Lstat implements [fs.ReadLinkFS].
func (t *treeFS) Lstat(name string) (fs.FileInfo, error) {
	entry, err := t.entry("lstat", name)
	if err != nil {
		return nil, err
	}
	return treeEntry{t, entry}.Info()
}

// ReadLink implements [fs.ReadLinkFS]; no link is read.
func (t *treeFS) ReadLink(name string) (string, error) { return "", &bounded.LinkError{Path: name} }

// treeEntry is one entry of a folder.
type treeEntry struct {
	fs *treeFS
	Entry
}

func (e treeEntry) Name() string      { return e.Entry.Name }
func (e treeEntry) IsDir() bool       { return e.Mode == ModeFolder }
func (e treeEntry) Type() fs.FileMode { return fileMode(e.Mode).Type() }
func (e treeEntry) String() string    { return fs.FormatDirEntry(e) }

// Info implements [fs.DirEntry]. It reads a file to tell its size.
func (e treeEntry) Info() (fs.FileInfo, error) {
	if !e.Mode.IsFile() {
		return treeInfo{e.Entry, 0}, nil
	}
	data, err := e.fs.repo.Blob(e.fs.ctx, e.ID)
	return treeInfo{e.Entry, int64(len(data))}, err
}

// treeInfo describes an entry.
type treeInfo struct {
	Entry
	size int64
}

func (i treeInfo) Name() string       { return i.Entry.Name }
func (i treeInfo) Size() int64        { return i.size }
func (i treeInfo) Mode() fs.FileMode  { return fileMode(i.Entry.Mode) }
func (i treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool        { return i.Entry.Mode == ModeFolder }
func (i treeInfo) Sys() any           { return nil }

func fileMode(m Mode) fs.FileMode {
	switch m {
	case ModeFolder:
		return fs.ModeDir | 0o555
	case ModeFile:
		return 0o444
	case ModeExecutable:
		return 0o555
	case ModeSymlink:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
