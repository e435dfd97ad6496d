package gitrepo

import (
	"errors"
	"fmt"
)

// ErrNotRepository says that neither the folder nor one above it is a git repository.
var ErrNotRepository = errors.New("not a git repository")

// ErrNotFound says that a name leads to nothing: a reference, a revision, a
// path in a tree. It says nothing about damage; see MissingObjectError for that.
var ErrNotFound = errors.New("not found")

// ErrNoGit says that the git program is needed and is not installed.
var ErrNoGit = errors.New("the git program was not found; install git, or put it on the PATH")

// UnsupportedError says that a repository has a form that cannot be read here.
type UnsupportedError struct {
	Dir string // the git folder
	Err error  // what was met, from go-git or from git
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the repository at %s has a form that cannot be read: %v", e.Dir, e.Err)
}

func (e *UnsupportedError) Unwrap() error { return e.Err }

// MissingObjectError says that an object which ought to be there is not.
// Nothing may be concluded from its absence: it is never a pass.
type MissingObjectError struct {
	ID      Hash
	Shallow bool // the repository is a shallow clone
	Partial bool // the repository is a partial clone
}

func (e *MissingObjectError) Error() string {
	msg := "git object " + e.ID.String() + " is missing"
	switch {
	case e.Shallow:
		return msg + ": this is a shallow clone; fetch the whole history (git fetch --unshallow, or fetch-depth: 0 in actions/checkout)"
	case e.Partial:
		return msg + ": this is a partial clone; fetch it whole (git fetch --refetch --no-filter, or no filter: in actions/checkout)"
	}
	return msg + ": the repository is incomplete; git fsck shows what is lost"
}

// IntegrityError says that an object could not be read as the object its id
// names: other content, damage, or a form that git itself would refuse.
type IntegrityError struct {
	ID  Hash
	Err error
}

func (e *IntegrityError) Error() string {
	return fmt.Sprintf("git object %s is not what its id says: %v; run git fsck", e.ID, e.Err)
}

func (e *IntegrityError) Unwrap() error { return e.Err }

// TooLargeError says that an object is larger than the reader allows.
type TooLargeError struct {
	ID        Hash
	Size, Max int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("git object %s has %d bytes; at most %d are read", e.ID, e.Size, e.Max)
}

// ModeError says that a path in a tree is not a regular file, or that a folder
// on the way to it is not a folder.
type ModeError struct {
	Path string
	Mode Mode
}

func (e *ModeError) Error() string {
	return fmt.Sprintf("%q is a %s in git; it must be a regular file", e.Path, e.Mode)
}

// FormatError says that a commit, tag or tree is malformed, by a named rule.
// Git itself tolerates some of these; two readers of such an object can
// disagree about it, so nothing is concluded from it.
type FormatError struct {
	Kind   Kind
	Rule   string // stable name, such as "second-signature"
	Detail string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed git %s (%s): %s", e.Kind, e.Rule, e.Detail)
}
