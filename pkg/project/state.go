package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agentgateway-lock/pkg/internal/atomicfile"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/settled"
)

// A State keeps what a user's machine remembers, outside every repository. Names are
// relative paths with slashes.
type State interface {
	// Read returns a file; the error is [fs.ErrNotExist] where there is none.
	Read(name string) ([]byte, error)
	// Update puts what change makes of a file in its place, in one step and one at a
	// time. old is nil where there is none.
	Update(name string, change func(old []byte) ([]byte, error)) error
}

// folderState is a State in a folder.
type folderState string

// NewState keeps a state in a folder, which is made when something is kept.
func NewState(dir string) State { return folderState(dir) }

func (s folderState) path(name string) string {
	return filepath.Join(string(s), filepath.FromSlash(name))
}

// Read implements [State].
func (s folderState) Read(name string) ([]byte, error) {
	return bounded.OSFile(s.path(name), settled.MaxMemory)
}

// Update implements [State].
func (s folderState) Update(name string, change func([]byte) ([]byte, error)) (err error) {
	folder := filepath.Dir(s.path(name))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	unlock, err := lockFolder(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	old, err := s.Read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := change(old)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(name), data, 0o600)
}

// lockTime is how long another process may hold a lock of the state.
const lockTime = 5 * time.Second

// lockFolder keeps other processes out of a folder of the state for a moment.
func lockFolder(folder string) (unlock func() error, err error) {
	dir, err := lockfile.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	var held *lockfile.LockedError
	for end := time.Now().Add(lockTime); ; time.Sleep(5 * time.Millisecond) {
		unlock, err := dir.Lock(".lock")
		if err == nil {
			return func() error { return errors.Join(unlock(), dir.Close()) }, nil
		}
		if !errors.As(err, &held) || time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("%s: %w", folder, err), dir.Close())
		}
	}
}

// SystemFile reads a regular file of the file system, for [Env].
func SystemFile(path string, limit int64) ([]byte, error) { return bounded.OSFile(path, limit) }

// SystemEmptyFolder makes an empty folder where the system has temporary files, for
// [Env].
func SystemEmptyFolder() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "agentgateway-empty-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
