// Package bounded reads files that somebody else wrote: regular files alone,
// reached through folders alone, and never more of one than its reader allows.
//
// What is committed and what is checked out is read by the same functions, over an
// [fs.FS]: pkg/gitrepo gives one of a commit, pkg/lockfile one of a folder. So that
// a link, a pipe or a file of a gigabyte is refused the same way in both.
package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A LinkError says that something is a link, or no regular file or folder, where
// one of those must be: what is behind it is not what is committed.
type LinkError struct{ Path string }

// Error implements error.
func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a link or another special file; replace it with a regular one", e.Path)
}

// A SizeError says that a file is longer than is read.
type SizeError struct {
	Path  string
	Size  int64 // bytes; 0 where only the limit is known to be passed
	Limit int64 // bytes
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("%s is longer than the limit of %d bytes", e.Path, e.Limit)
	}
	return fmt.Sprintf("%s has %d bytes; the limit is %d", e.Path, e.Size, e.Limit)
}

// A CountError says that a folder holds more than is read.
type CountError struct {
	Path  string
	Limit int // entries
}

// Error implements error.
func (e *CountError) Error() string {
	return fmt.Sprintf("%s holds more than %d entries", e.Path, e.Limit)
}

// A FileReader is a file system with a way of its own to do what [File] does, with
// the same errors.
type FileReader interface {
	ReadFile(name string, limit int64) ([]byte, error)
}

// File reads a regular file of at most limit bytes. The error is [fs.ErrNotExist]
// where nothing has the name, a [*LinkError] where it, or a part of the path to it,
// is a link or a special file, a [*SizeError], or one of reading.
func File(fsys fs.FS, name string, limit int64) ([]byte, error) {
	if own, ok := fsys.(FileReader); ok {
		return own.ReadFile(name, limit)
	}
	lstat := func(name string) (fs.FileInfo, error) { return fs.Lstat(fsys, name) }
	if err := NoLink(lstat, name); err != nil {
		return nil, err
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := opened(file, name, limit)
	return data, errors.Join(err, file.Close())
}

// opened reads an open file.
func opened(file fs.File, name string, limit int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &LinkError{name}
	}
	return Read(file, name, info.Size(), limit)
}

// OSFile reads at most limit bytes of what the user has named: links are followed,
// and a pipe is read to its end.
func OSFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	var data []byte
	if err == nil {
		data, err = Read(file, name, info.Size(), limit)
	}
	return data, errors.Join(err, file.Close())
}

// Read reads at most limit bytes of what is thought to have size.
func Read(r io.Reader, name string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, &SizeError{name, size, limit}
	}
	buffer := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	if int64(buffer.Len()) > limit {
		return nil, &SizeError{Path: name, Limit: limit}
	}
	return buffer.Bytes(), nil
}

// Folder lists a folder of at most limit entries, by name; nothing where there is
// none. The error is a [*LinkError] where it, or a part of the path to it, is
// anything else than a folder, a [*CountError], or one of reading.
func Folder(fsys fs.FS, name string, limit int) (entries []fs.DirEntry, err error) {
	lstat := func(name string) (fs.FileInfo, error) { return fs.Lstat(fsys, name) }
	if err := folders(lstat, name); err != nil {
		return nil, err
	}
	file, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	list, ok := file.(fs.ReadDirFile)
	if !ok {
		return nil, &LinkError{name}
	}
	entries, err = list.ReadDir(limit + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > limit:
		return nil, &CountError{name, limit}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// NoLink refuses a path of which a part is a link, or a folder that is none, and
// one that leads to anything else than a regular file. The error is
// [fs.ErrNotExist] where nothing is there.
func NoLink(lstat func(name string) (fs.FileInfo, error), name string) error {
	if err := folders(lstat, path.Dir(name)); err != nil {
		return err
	}
	info, err := lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return &LinkError{name}
	}
	return err
}

// folders refuses a path of which a part that is there is no folder.
func folders(lstat func(name string) (fs.FileInfo, error), name string) error {
	for ; name != "." && name != "/"; name = path.Dir(name) {
		info, err := lstat(name)
		if err == nil && !info.IsDir() {
			return &LinkError{name}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
