package gitrepo

import (
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
)

// withoutLocks hides the files that git writes beside the ones it is about to
// replace: a reference that is being written is v9.lock next to v9, empty at first
// and gone a moment later, and go-git would list it as a reference of its own. No
// reference may have a name that ends so (git-check-ref-format).
type withoutLocks struct{ billy.Filesystem }

// ReadDir implements billy.Dir.
func (fs withoutLocks) ReadDir(path string) ([]os.FileInfo, error) {
	files, err := fs.Filesystem.ReadDir(path)
	return slices.DeleteFunc(files, func(f os.FileInfo) bool {
		return !f.IsDir() && strings.HasSuffix(f.Name(), ".lock")
	}), err
}
