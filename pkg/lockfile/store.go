package lockfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"agentgateway-lock/pkg/internal/bounded"
)

// A Store reads and writes one lockfile and the readable copies beside it.
//
// A write is one step for whoever reads the lockfile: first all new bytes are
// written to temporary files, then the copies are put in place, then the lockfile
// is renamed into place, which is the commit point, and then copies that nothing
// uses are removed. A run that ends before the commit point leaves the old
// lockfile, one that ends after it the new; a copy that does not fit is found by
// [CheckCopies] and mended by the next write.
type Store struct {
	fs   FS
	name string

	// Wait is how long a write waits for another that is going on; NewStore sets
	// five seconds.
	Wait time.Duration
}

// NewStore returns the Store of the lockfile name in fsys; "" stands for
// [DefaultName]. The folder [Folder] in fsys belongs to it.
func NewStore(fsys FS, name string) *Store {
	if name == "" {
		name = DefaultName
	}
	return &Store{fs: fsys, name: path.Clean(name), Wait: 5 * time.Second}
}

// The files of a write that are not there between two.
const (
	lockName  = Folder + "/write.lock"
	stageName = Folder + "/stage"
)

func (s *Store) tempName() string { return s.name + ".tmp" }

// ErrChanged says that the lockfile is not any more what was read.
var ErrChanged = errors.New("the lockfile was changed while this run went on; run again")

// A LinkError says that something is a symbolic link, or not a regular file or
// folder, where a lockfile or what belongs to it is read or written: what is behind
// it is not what is committed.
type LinkError = bounded.LinkError

// A WriteError says what could not be written.
type WriteError struct {
	Path      string
	Committed bool // the new lockfile stands; only cleaning up failed
	Err       error
}

// Error implements error.
func (e *WriteError) Error() string {
	after := "the lockfile is as it was; fix the cause, then run again"
	if e.Committed {
		after = "the new lockfile is written; run again to clean up"
	}
	return fmt.Sprintf("cannot write %s: %v (%s)", e.Path, cause(e.Err), after)
}

// cause leaves out the path of a system call, which is a temporary one.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Unwrap returns Err.
func (e *WriteError) Unwrap() error { return e.Err }

// Read reads the lockfile: see [Read].
func (s *Store) Read() (*File, error) {
	return parseNamed(s.name, func() ([]byte, error) { return s.fs.ReadFile(s.name, MaxSize) })
}

// Read reads the lockfile of that name in a work tree or a commit. The error is
// [fs.ErrNotExist] where there is none, an [*Error] where it does not parse, a
// [*LinkError] where it is a link, or one of reading.
func Read(fsys fs.FS, name string) (*File, error) {
	return parseNamed(name, func() ([]byte, error) { return bounded.File(fsys, name, MaxSize) })
}

func parseNamed(name string, read func() ([]byte, error)) (*File, error) {
	src, err := read()
	if err != nil {
		return nil, err
	}
	f, err := Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Path = name
	return f, nil
}

// ReadCopy reads a readable copy; it serves as the read of [CheckCopies].
func (s *Store) ReadCopy(name string) ([]byte, error) { return s.fs.ReadFile(name, MaxCopySize) }

// CopyReader reads the readable copies of a work tree or a commit; it serves as the
// read of [CheckCopies].
func CopyReader(fsys fs.FS) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) { return bounded.File(fsys, name, MaxCopySize) }
}

// Files lists all files below the definitions folder, for [StrayCopies].
func (s *Store) Files() ([]string, error) { return s.list(DefinitionsFolder, 0) }

// maxFolders is how deep the definitions folder is read: server, kind, file, and
// one more to find what does not belong there.
const maxFolders = 4

func (s *Store) list(folder string, depth int) ([]string, error) {
	info, err := s.fs.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &LinkError{Path: folder}
	}
	entries, err := s.fs.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		name := folder + "/" + entry.Name()
		switch {
		case entry.Type().IsRegular():
			files = append(files, name)
		case !entry.IsDir():
			return nil, &LinkError{Path: name}
		case depth < maxFolders:
			below, err := s.list(name, depth+1)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
		}
	}
	return files, nil
}

// lock takes the lock and waits for it.
func (s *Store) lock(ctx context.Context) (unlock func() error, err error) {
	if err := bounded.NoLink(s.fs.Lstat, lockName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Wait)
	defer cancel()
	for {
		unlock, err := s.fs.Lock(lockName)
		var held *LockedError
		if !errors.As(err, &held) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// current returns the bytes of the lockfile, nil where there is none.
func (s *Store) current() ([]byte, error) {
	src, err := s.fs.ReadFile(s.name, MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return src, err
}

// unchanged checks that the lockfile is still what old was read from.
func (s *Store) unchanged(old *File) error {
	src, err := s.current()
	if err != nil {
		return err
	}
	if old == nil && src == nil || old != nil && src != nil && bytes.Equal(src, old.src) {
		return nil
	}
	return ErrChanged
}
