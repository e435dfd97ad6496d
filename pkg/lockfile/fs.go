package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"agentgateway-lock/pkg/internal/bounded"
)

// FS is the folder of a lockfile, as a [Store] needs it. Names are relative to
// the folder and have slashes.
type FS interface {
	// Lstat describes a file and does not follow a symbolic link.
	Lstat(name string) (fs.FileInfo, error)
	// ReadFile reads a regular file of at most limit bytes. Where a link or a file
	// that is not regular stands at name or on the way to it, the error is a
	// [*LinkError].
	ReadFile(name string, limit int64) ([]byte, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Mkdir makes one folder.
	Mkdir(name string) error
	// Create writes a file that is not there; sync makes it durable.
	Create(name string, data []byte, sync bool) error
	// Rename puts a file in the place of another, at once.
	Rename(from, to string) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// SyncDir makes what happened in a folder durable.
	SyncDir(name string) error
	// Lock takes the exclusive lock whose file is name, for as long as the process
	// lives. Where another holds it the error is a [*LockedError].
	Lock(name string) (unlock func() error, err error)
}

// A LockedError says that another process is writing.
type LockedError struct {
	Path string // of the lock
	PID  int    // of the process, or 0 where it is not known
}

// Error implements error.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("the process %d", e.PID)
	}
	return fmt.Sprintf("%s is writing the lockfile (it holds %s); wait for it to end, then run again", who, e.Path)
}

// A Dir is an [FS] in the file system, and an [fs.FS] of what is there. Nothing
// outside the folder is reached, whatever links are in it.
type Dir struct {
	root *os.Root
	self *os.File // the folder itself
}

// OpenDir opens a folder. Close the Dir after use.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{root, self}, nil
}

// Close releases the folder.
func (d *Dir) Close() error { return errors.Join(d.self.Close(), d.root.Close()) }

// Lstat implements [FS].
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// ReadLink makes a Dir an [fs.ReadLinkFS]; no link is read.
func (d *Dir) ReadLink(name string) (string, error) { return "", &LinkError{Path: name} }

// Open implements [fs.FS]. It follows no link.
func (d *Dir) Open(name string) (fs.File, error) {
	info, err := d.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = bounded.NoLink(d.root.Lstat, name)
	}
	if err != nil {
		return nil, err
	}
	return d.root.Open(name)
}

// ReadFile implements [FS].
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	data, err := readNoLinks(d.self, name, limit)
	if !errors.Is(err, errors.ErrUnsupported) {
		return data, err
	}
	if err := bounded.NoLink(d.root.Lstat, name); err != nil {
		return nil, err
	}
	file, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		data, err = bounded.Read(file, name, info.Size(), limit)
	}
	return data, errors.Join(err, file.Close())
}

// ReadDir implements [FS].
func (d *Dir) ReadDir(name string) (entries []fs.DirEntry, err error) {
	folder, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if entries, err = folder.ReadDir(-1); err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Mkdir implements [FS].
func (d *Dir) Mkdir(name string) error { return d.root.Mkdir(name, 0o777) }

// Create implements [FS].
func (d *Dir) Create(name string, data []byte, sync bool) error {
	file, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil && sync {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Rename implements [FS].
func (d *Dir) Rename(from, to string) error { return d.root.Rename(from, to) }

// Remove implements [FS].
func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// SyncDir implements [FS]. On Windows a folder cannot be synced.
func (d *Dir) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	file, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Lock implements [FS]. The operating system ends the lock with the process, so a
// file that a killed process left does no harm.
func (d *Dir) Lock(name string) (unlock func() error, err error) {
	for {
		file, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := tryLock(file); err != nil {
			if isHeld(err) {
				err = &LockedError{filepath.ToSlash(name), holder(file)}
			}
			return nil, errors.Join(err, file.Close())
		}
		if d.isFile(name, file) {
			unlock = func() error { return errors.Join(d.root.Remove(name), file.Close()) }
			if err := sign(file); err != nil {
				return nil, errors.Join(err, unlock())
			}
			return unlock, nil
		}
		// The one that held the lock removed the file before it let go.
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

// isFile reports whether the open file still stands at name.
func (d *Dir) isFile(name string, file *os.File) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := d.root.Lstat(name)
	return err == nil && os.SameFile(open, there)
}

// sign writes the process id into the lock, for the message of another.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}
