package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// OwnerError says that a repository is another user's: whoever owns it can have
// written anything into it, its configuration included.
type OwnerError struct {
	Path string // that is another user's
	Root string // of the repository
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("%s belongs to another user, so the repository is not read", e.Path)
}

// Hint gives the line that makes an exception.
func (e *OwnerError) Hint() string {
	return "Where you trust that user, run: git config --global --add safe.directory " + e.Root
}

// checkOwner refuses a repository of another user that git's own safe.directory, in
// the user's or the system's configuration, does not name. own is [isOwn].
func checkOwner(ctx context.Context, p place, g *gitProgram, own func(path string, env []string) (bool, error)) error {
	root := p.root
	if root == "" {
		root = p.gitDir
	}
	for _, path := range []string{p.root, p.gitDir, filepath.Join(p.root, ".git")} {
		if path == "" || p.root == "" && path == ".git" {
			continue
		}
		if mine, err := own(path, g.env); err != nil || !mine {
			if err == nil && g.safe(ctx, root) {
				return nil
			}
			return errors.Join(err, &OwnerError{Path: path, Root: root})
		}
	}
	return nil
}

// safe reports whether the user's or the system's configuration names a folder as
// safe. An empty value forgets those before it, as in git.
func (g *gitProgram) safe(ctx context.Context, root string) bool {
	named := false
	for _, scope := range []string{"--system", "--global"} {
		out, err := g.run(ctx, gitCall{args: []string{"config", scope, "-z", "--get-all", "safe.directory"}, config: true})
		if err != nil {
			continue // there is none
		}
		for value := range strings.SplitSeq(string(trimNUL(out)), "\x00") {
			prefix, all := strings.CutSuffix(value, "/*")
			switch {
			case value == "":
				named = false
			case value == "*", filepath.Clean(value) == root, all && strings.HasPrefix(root, filepath.Clean(prefix)+string(os.PathSeparator)):
				named = true
			}
		}
	}
	return named
}
