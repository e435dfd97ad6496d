// Package atomicfile writes files that somebody has named: reports, bundles, what is
// remembered. What belongs to a lockfile is written by pkg/lockfile, through a folder
// that is held open.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"agentgateway-lock/pkg/internal/bounded"
)

// Write puts a whole file in the place of the one before, in one step: a run that is
// killed leaves the old or the new one. It is on the disk when Write returns.
//
// Nothing is written through a link: what a pull request has committed must not lead
// out of its tree. At name is a regular file or nothing, and where the name is in a
// work tree, all folders from there on are folders. The error is a
// [*bounded.LinkError], or one of the operating system.
func Write(name string, data []byte, mode fs.FileMode) (err error) {
	if err := check(name); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".agentgateway-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// Append adds to a file, which is made where there is none. It follows no link either.
func Append(name string, data []byte, mode fs.FileMode) error {
	if err := check(name); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// check refuses a name at which, or on the way to which, a link is.
func check(name string) error {
	info, err := os.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return &bounded.LinkError{Path: name}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return err
	}
	if !filepath.IsAbs(name) { // the folder we are in may be reached through a link
		if folder, err = fromHere(name); err != nil {
			return err
		}
	}
	return bounded.NoLinkInWorkTree(folder)
}

// fromHere is the folder of a relative name, from the true path of the working folder.
func fromHere(name string) (string, error) {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	return filepath.Join(here, filepath.Dir(name)), err
}

// syncFolder makes a rename last. Windows cannot sync a folder, and need not.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
