package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A WorkFile is a path of the work tree that git tracks, or would on `git add`.
type WorkFile struct {
	Path string
	// Mode and ID are the index's; both are zero where the file is not tracked.
	Mode Mode
	ID   Hash
}

// WorkFiles lists the files of the work tree that git does not ignore, tracked or not.
// A tracked one need not be there any more. It needs the git program.
func (r *Repo) WorkFiles(ctx context.Context) ([]WorkFile, error) {
	if r.root == "" {
		return nil, ErrBare
	}
	tracked, err := r.git.run(ctx, gitCall{args: []string{"ls-files", "-z", "--stage"}})
	if err != nil {
		return nil, fmt.Errorf("listing the tracked files: %w", err)
	}
	var out []WorkFile
	for line := range bytes.SplitSeq(trimNUL(tracked), []byte{0}) {
		if len(line) == 0 {
			continue
		}
		info, name, ok := strings.Cut(string(line), "\t")
		fields := strings.Fields(info)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("git ls-files: %q is no line of the index", line)
		}
		mode, err := strconv.ParseUint(fields[0], 8, 32)
		id, idErr := ParseHash(fields[1])
		if err := errors.Join(err, idErr); err != nil {
			return nil, fmt.Errorf("git ls-files: %q: %w", line, err)
		}
		out = append(out, WorkFile{name, Mode(mode), id})
	}
	others, err := r.git.run(ctx, gitCall{args: []string{"ls-files", "-z", "--others", "--exclude-standard"}})
	if err != nil {
		return nil, fmt.Errorf("listing the files that git does not track: %w", err)
	}
	for name := range strings.SplitSeq(string(trimNUL(others)), "\x00") {
		if name != "" {
			out = append(out, WorkFile{Path: strings.TrimSuffix(name, "/")}) // a repository of its own is a folder
		}
	}
	return out, nil
}

// TreeFiles lists all paths of a commit that are no folders.
func (r *Repo) TreeFiles(ctx context.Context, commit Hash) ([]string, error) {
	tree, err := r.TreeOf(ctx, commit)
	if err != nil {
		return nil, err
	}
	return r.treeFiles(ctx, tree, "", 0, nil)
}

func (r *Repo) treeFiles(ctx context.Context, tree Hash, at string, depth int, out []string) ([]string, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s is more than %d folders deep", at, maxDepth)
	}
	entries, err := r.Tree(ctx, tree)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := path.Join(at, e.Name)
		if e.Mode != ModeFolder {
			out = append(out, name)
			continue
		}
		if out, err = r.treeFiles(ctx, e.ID, name, depth+1, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// IsBlob reports whether a blob has this id, by its bytes.
func IsBlob(id Hash, data []byte) bool { return objectID(KindBlob, data, id.Size()) == id }
