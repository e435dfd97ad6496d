package bounded

import (
	"fmt"
	"os"
	"path/filepath"
)

// NoLinkInWorkTree refuses the absolute path of a folder on which a link is below the
// root of a work tree of git: whoever committed the link chose where it leads. A link
// above all work trees is the user's own. The error is a [*LinkError], or one of the
// operating system.
func NoLinkInWorkTree(folder string) error {
	link := ""
	for at := folder; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", at, err)
		case !info.IsDir():
			link = at
		case link != "" && isWorkTree(at):
			return &LinkError{link}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// isWorkTree reports whether a folder is the root of a work tree.
func isWorkTree(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, ".git"))
	return err == nil
}
