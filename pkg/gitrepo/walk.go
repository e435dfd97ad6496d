package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
)

// maxNodes bounds the commits whose place in the graph is remembered.
const maxNodes = 1 << 17

// maxDepth bounds nested folders.
const maxDepth = 256

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
	r.mu.Lock()
	n, ok := r.nodes[id]
	r.mu.Unlock()
	if ok {
		return n, nil
	}
	n, err := r.readNode(ctx, id)
	if err != nil {
		return Node{}, err
	}
	r.mu.Lock()
	if r.nodes == nil || len(r.nodes) >= maxNodes {
		r.nodes = map[Hash]Node{}
	}
	r.nodes[id] = n
	r.mu.Unlock()
	return n, nil
}

func (r *Repo) readNode(ctx context.Context, id Hash) (Node, error) {
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

// Parents gives the parents of a commit, first parent first.
func (r *Repo) Parents(ctx context.Context, commit Hash) ([]Hash, error) {
	n, err := r.node(ctx, commit)
	return slices.Clone(n.Parents), err
}

// FirstParent gives the first parent of a commit; the zero Hash for a root.
func (r *Repo) FirstParent(ctx context.Context, commit Hash) (Hash, error) {
	n, err := r.node(ctx, commit)
	if err != nil || len(n.Parents) == 0 {
		return Hash{}, err
	}
	return n.Parents[0], nil
}

// FirstParents walks from a commit back along first parents, the commit itself
// first. It ends after the root, or with the first error.
func (r *Repo) FirstParents(ctx context.Context, commit Hash) iter.Seq2[Node, error] {
	return func(yield func(Node, error) bool) {
		for id := commit; ; {
			n, err := r.node(ctx, id)
			if !yield(n, err) || err != nil || len(n.Parents) == 0 {
				return
			}
			id = n.Parents[0]
		}
	}
}

// History lists the commits that head reaches and none of hide does, every
// commit after all of its parents. The order is fixed by the graph alone: times
// in commits, which whoever makes one chooses, have no part in it.
func (r *Repo) History(ctx context.Context, head Hash, hide ...Hash) ([]Node, error) {
	seen := map[Hash]bool{}
	for _, id := range hide {
		if _, err := r.collect(ctx, id, seen); err != nil {
			return nil, err
		}
	}
	return r.collect(ctx, head, seen)
}

// collect adds to seen what id reaches, and lists what was new, parents first.
func (r *Repo) collect(ctx context.Context, id Hash, seen map[Hash]bool) ([]Node, error) {
	type frame struct {
		node Node
		next int // the parent to go to next
	}
	var out []Node
	var stack []frame
	push := func(id Hash) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		n, err := r.node(ctx, id)
		stack = append(stack, frame{node: n})
		return err
	}
	if err := push(id); err != nil {
		return nil, err
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.node.Parents) {
			out = append(out, top.node)
			stack = stack[:len(stack)-1]
			continue
		}
		top.next++
		if err := push(top.node.Parents[top.next-1]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// IsAncestor reports whether b reaches a through its parents; a commit is an
// ancestor of itself.
func (r *Repo) IsAncestor(ctx context.Context, a, b Hash) (bool, error) {
	found := false
	err := r.breadthFirst(ctx, []Hash{b}, func(n Node) next {
		if n.ID == a {
			found = true
			return stop
		}
		return follow
	})
	return found && err == nil, err
}

// next is where a walk goes from a commit.
type next int

const (
	follow next = iota // on to its parents
	leave              // not to its parents
	stop               // nowhere: the walk ends
)

// breadthFirst visits what the heads reach, nearest first, each commit once.
func (r *Repo) breadthFirst(ctx context.Context, heads []Hash, visit func(Node) next) error {
	queue, seen := slices.Clone(heads), map[Hash]bool{}
	for i := 0; i < len(queue); i++ {
		if seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		n, err := r.node(ctx, queue[i])
		if err != nil {
			return err
		}
		switch visit(n) {
		case follow:
			queue = append(queue, n.Parents...)
		case stop:
			return nil
		}
	}
	return nil
}

// MergeBase gives the best common ancestor of two commits: one that no other
// common ancestor descends from. Where there are several (criss-cross merges)
// it is the one nearest to a. It fails with ErrNotFound for unrelated histories.
func (r *Repo) MergeBase(ctx context.Context, a, b Hash) (Hash, error) {
	ofA := map[Hash]int{} // distance order from a
	err := r.breadthFirst(ctx, []Hash{a}, func(n Node) next {
		ofA[n.ID] = len(ofA)
		return follow
	})
	if err != nil {
		return Hash{}, err
	}
	common := map[Hash]bool{}
	var below []Hash
	err = r.breadthFirst(ctx, []Hash{b}, func(n Node) next {
		if _, ok := ofA[n.ID]; !ok {
			return follow
		}
		common[n.ID] = true
		below = append(below, n.Parents...)
		return leave
	})
	if err != nil {
		return Hash{}, err
	}
	if len(common) > 1 {
		err = r.breadthFirst(ctx, below, func(n Node) next {
			delete(common, n.ID)
			return follow
		})
		if err != nil {
			return Hash{}, err
		}
	}
	var best Hash
	for id := range common {
		if best.IsZero() || ofA[id] < ofA[best] {
			best = id
		}
	}
	if best.IsZero() {
		return Hash{}, fmt.Errorf("a common ancestor of %s and %s: %w", a.Short(), b.Short(), ErrNotFound)
	}
	return best, nil
}

// Change is one path whose entry differs between two trees. Before or After is
// the zero Entry where the path is only in the other. Folders are not reported,
// only what is in them; a submodule is one entry.
type Change struct {
	Path          string
	Before, After Entry
}

// Diff reports what differs between two folders (zero for an empty one), in
// git's order, and reads only the folders whose ids differ. prefix stands
// before every path. report ends the walk by returning an error.
func (r *Repo) Diff(ctx context.Context, before, after Hash, prefix string, report func(Change) error) error {
	return r.diff(ctx, before, after, prefix, 0, report)
}

func (r *Repo) diff(ctx context.Context, before, after Hash, prefix string, depth int, report func(Change) error) error {
	if before == after {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%q: folders more than %d deep", prefix, maxDepth)
	}
	a, err := r.treeOrNone(ctx, before)
	if err != nil {
		return err
	}
	b, err := r.treeOrNone(ctx, after)
	if err != nil {
		return err
	}
	for len(a)+len(b) > 0 {
		var x, y Entry
		if len(b) == 0 || len(a) > 0 && !treeLess(b[0], a[0]) {
			x = a[0]
		}
		if len(a) == 0 || len(b) > 0 && !treeLess(a[0], b[0]) {
			y = b[0]
		}
		if x.Name != "" {
			a = a[1:]
		}
		if y.Name != "" {
			b = b[1:]
		}
		if x == y {
			continue
		}
		path := prefix + max(x.Name, y.Name)
		if x.Mode == ModeFolder || y.Mode == ModeFolder {
			err = r.diff(ctx, x.ID, y.ID, path+"/", depth+1, report)
		} else {
			err = report(Change{Path: path, Before: x, After: y})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) treeOrNone(ctx context.Context, id Hash) ([]Entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	return r.Tree(ctx, id)
}
