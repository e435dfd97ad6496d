package gitrepo

import (
	"bytes"
	"context"
	"fmt"
)

// Node is a commit as a point of the history graph: what git itself takes from
// a commit when it walks.
type Node struct {
	ID      Hash
	Tree    Hash
	Parents []Hash
}

// node reads the leading tree and parent lines, as git does. Forged shallow
// files, grafts and replacements have no part in it. The rest of the commit is
// not judged; Commit does that.
func (r *Repo) node(ctx context.Context, id Hash) (Node, error) {
	body, err := r.objectOf(ctx, id, KindCommit, r.maxObject)
	if err != nil {
		return Node{}, err
	}
	n := Node{ID: id}
	line, rest, _ := bytes.Cut(body, []byte("\n"))
	text, ok := bytes.CutPrefix(line, []byte("tree "))
	if n.Tree, ok = hashField(text, ok, id); !ok {
		return Node{}, fmt.Errorf("commit %s: %w", id, commitError("tree", "the first line names no tree"))
	}
	for {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		text, ok := bytes.CutPrefix(line, []byte("parent "))
		if !ok {
			return n, nil
		}
		parent, ok := hashField(text, true, id)
		if !ok {
			return Node{}, fmt.Errorf("commit %s: %w", id, commitError("parent", "a parent line holds no object id"))
		}
		n.Parents = append(n.Parents, parent)
		rest = after
	}
}

func hashField(text []byte, ok bool, like Hash) (Hash, bool) {
	if !ok {
		return Hash{}, false
	}
	h, ok := parseHexHash(text)
	return h, ok && h.Size() == like.Size()
}
