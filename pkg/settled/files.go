package settled

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// A Kind is what is at a path.
type Kind string

// The kinds.
const (
	File   Kind = "file"
	Folder Kind = "folder"
	Link   Kind = "link"
	Module Kind = "submodule"
)

// Files are the files of a repository on one side: on disk, or in a commit. Paths
// are relative to the top of the work tree, with slashes; "." is the top.
type Files interface {
	// Entry tells what is at a path, following no link; [fs.ErrNotExist] where
	// nothing is. For a link text is where it leads, for a submodule its commit.
	Entry(path string) (kind Kind, text string, err error)
	// Read returns the bytes of a file, and Matches reports whether they are data, with
	// either line endings.
	Read(path string) ([]byte, error)
	Matches(path string, data []byte) (bool, error)
	// List returns the names in a folder.
	List(folder string) ([]string, error)
	// Known returns the paths of all files, links and submodules that git does not
	// ignore, tracked or not; of a commit all that it has.
	Known() ([]string, error)
}

// maxLinks bounds how many links are followed for one path.
const maxLinks = 40

// walk follows a path through links. It returns the links on the way, and where the
// path ends: end is empty, and kind none, where nothing is there or the way leads out
// of the repository.
func walk(files Files, name string) (links []string, end string, kind Kind, err error) {
	rest, at := name, "."
	for rest != "" && rest != "." {
		first, after, _ := strings.Cut(rest, "/")
		at, rest = path.Join(at, first), after
		if !inside(at) {
			return links, "", "", nil
		}
		var text string
		kind, text, err = files.Entry(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return links, "", "", nil
		case err != nil:
			return links, "", "", err
		case kind == Link:
			if links = append(links, at); len(links) > maxLinks || path.IsAbs(text) {
				return links, "", "", nil
			}
			// Clean as a whole, so that .. leaves the folder that the link is in.
			rest, at = path.Join(path.Dir(at), text, rest), "."
			if !inside(rest) {
				return links, "", "", nil
			}
		case rest != "" && kind != Folder:
			return links, "", "", nil
		}
	}
	if at == "." {
		kind = Folder
	}
	return links, at, kind, nil
}

// inside reports whether a clean path is in the repository.
func inside(p string) bool { return p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(p) }

// isThere reports whether a path leads to something on a side, or through a link.
func isThere(files Files, name string) (bool, error) {
	links, end, _, err := walk(files, name)
	return len(links) > 0 || end != "", err
}

// anyThere is isThere for several sides.
func anyThere(sides []Files, name string) (bool, error) {
	for _, files := range sides {
		if ok, err := isThere(files, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// maxInFolder bounds what is looked at in one folder, and in those in it.
const maxInFolder = 20_000

// Under lists the paths of everything in a folder that is no folder.
func Under(files Files, folder string) ([]string, error) {
	var out []string
	todo := []string{folder}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		names, err := files.List(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			full := path.Join(at, name)
			kind, _, err := files.Entry(full)
			switch {
			case err != nil:
				return nil, err
			case kind == Folder && name != ".git":
				todo = append(todo, full)
			case kind != Folder:
				out = append(out, full)
			}
		}
		if len(out)+len(todo) > maxInFolder {
			return nil, fmt.Errorf("%s holds more than %d files", folder, maxInFolder)
		}
	}
	return out, nil
}
