package gitrepo

import "strconv"

// Kind is the type of a git object.
type Kind string

// The four kinds of object.
const (
	KindCommit Kind = "commit"
	KindTree   Kind = "tree"
	KindBlob   Kind = "blob"
	KindTag    Kind = "tag"
)

// Mode is the mode of a tree entry, as git writes it in octal.
type Mode uint32

// The modes git writes.
const (
	ModeFolder     Mode = 0o40000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// IsFile reports whether m is a regular file, executable or not.
func (m Mode) IsFile() bool { return m == ModeFile || m == ModeExecutable }

// String names the mode for people.
func (m Mode) String() string {
	switch m {
	case ModeFolder:
		return "folder"
	case ModeFile, ModeExecutable:
		return "file"
	case ModeSymlink:
		return "symlink"
	case ModeSubmodule:
		return "submodule"
	}
	return "entry of mode " + strconv.FormatUint(uint64(m), 8)
}

// Entry is one entry of a tree. Name is one path element.
type Entry struct {
	Name string
	Mode Mode
	ID   Hash
}
