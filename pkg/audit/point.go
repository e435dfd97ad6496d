package audit

import (
	"context"
	"errors"
	"path"
	"slices"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// A point is what a commit's tree holds of the files that are judged. A zero
// entry is not there. Points are compared, never their files: equal entries are
// equal files.
type point struct {
	lockfile, trust, decisions gitrepo.Entry
	// broken is a file that is no regular file, or is reached through a link.
	broken brokenEntry
}

type brokenEntry struct {
	code         finding.Code
	path, detail string
}

// judged reports whether the rules hold for the commit at all.
func (p *point) judged() bool { return !p.trust.ID.IsZero() }

// layout says where the judged files stand in a tree.
type layout struct {
	folder   string // that holds .agentgateway, from the root
	lockfile string // from the folder
}

// in returns a path from the root of the repository.
func (l layout) in(name string) string { return path.Join(l.folder, name) }

// read finds the judged files in a tree.
func (l layout) read(ctx context.Context, repo *gitrepo.Repo, tree gitrepo.Hash) (point, error) {
	var p point
	places := [...]struct {
		name string
		into *gitrepo.Entry
		ok   func(gitrepo.Mode) bool
	}{
		{l.lockfile, &p.lockfile, gitrepo.Mode.IsFile},
		{trust.VersionFolder, &p.trust, isFolder},
		{trust.DecisionFolder, &p.decisions, isFolder},
	}
	for _, place := range places {
		name := l.in(place.name)
		entry, found, err := repo.Lookup(ctx, tree, name)
		if mode, ok := errors.AsType[*gitrepo.ModeError](err); ok {
			p.broken = brokenEntry{finding.LockfileSymlink, mode.Path, mode.Error()}
			return p, nil
		}
		if err != nil {
			return p, err
		}
		if found && !place.ok(entry.Mode) {
			p.broken = brokenEntry{finding.LockfileSymlink, name, (&gitrepo.ModeError{Path: name, Mode: entry.Mode}).Error()}
			return p, nil
		}
		*place.into = entry
	}
	return p, l.twins(ctx, repo, tree, &p)
}

// twins finds what is beside the judged folders under a name that differs by case
// alone.
func (l layout) twins(ctx context.Context, repo *gitrepo.Repo, tree gitrepo.Hash, p *point) error {
	for _, ours := range [...]string{lockfile.Folder, trust.VersionFolder, trust.DecisionFolder} {
		entry, found, err := repo.Lookup(ctx, tree, l.root(path.Dir(ours)))
		if err != nil || !found || entry.Mode != gitrepo.ModeFolder {
			return err
		}
		entries, err := repo.Tree(ctx, entry.ID)
		if err != nil {
			return err
		}
		for i := range entries {
			if twin := trust.Twin(ours, entries[i].Name); twin != nil {
				p.broken = brokenEntry{finding.TrustInvalid, l.in(path.Join(path.Dir(ours), entries[i].Name)), twin.Error()}
				return nil //nolint:nilerr // that is what was found
			}
		}
	}
	return nil
}

// root is a folder as git calls it, where the root of all has no name.
func (l layout) root(name string) string {
	if at := l.in(name); at != "." {
		return at
	}
	return ""
}

func isFolder(m gitrepo.Mode) bool { return m == gitrepo.ModeFolder }

// A walk is a history with what each commit holds of the judged files.
type walk struct {
	layout
	repo   *gitrepo.Repo
	nodes  []gitrepo.Node // parents first
	points []*point       // of each node; equal ones of parent and child are one
	index  map[gitrepo.Hash]int
	// edge holds points of parents that are not walked.
	edge map[gitrepo.Hash]*point
}

// newWalk reads the commits that head reaches and none of hide does.
func newWalk(ctx context.Context, repo *gitrepo.Repo, l layout, head gitrepo.Hash, hide ...gitrepo.Hash) (*walk, error) {
	nodes, err := repo.History(ctx, head, hide...)
	if err != nil {
		return nil, err
	}
	w := &walk{
		layout: l, repo: repo, nodes: nodes, points: make([]*point, 0, len(nodes)),
		index: make(map[gitrepo.Hash]int, len(nodes)), edge: map[gitrepo.Hash]*point{},
	}
	for i, n := range nodes {
		p, err := w.read(ctx, n)
		if err != nil {
			return nil, err
		}
		w.points = append(w.points, p)
		w.index[n.ID] = i
	}
	return w, nil
}

// read returns the point of a node, that of a parent where they are equal.
func (w *walk) read(ctx context.Context, n gitrepo.Node) (*point, error) {
	parents, err := w.parents(ctx, n)
	if err != nil {
		return nil, err
	}
	for i, id := range n.Parents {
		if at, ok := w.index[id]; ok && w.nodes[at].Tree == n.Tree {
			return parents[i], nil
		}
	}
	p, err := w.layout.read(ctx, w.repo, n.Tree)
	if err != nil {
		return nil, err
	}
	for _, parent := range parents {
		if *parent == p {
			return parent, nil
		}
	}
	return &p, nil
}

// none is the point of what has no parent.
var none = &point{}

// parents returns the points of a node's parents; of a first commit, an empty one.
func (w *walk) parents(ctx context.Context, n gitrepo.Node) ([]*point, error) {
	if len(n.Parents) == 0 {
		return []*point{none}, nil
	}
	points := make([]*point, len(n.Parents))
	for i, id := range n.Parents {
		if at, ok := w.index[id]; ok {
			points[i] = w.points[at]
			continue
		}
		if w.edge[id] == nil {
			tree, err := w.repo.TreeOf(ctx, id)
			if err != nil {
				return nil, err
			}
			p, err := w.layout.read(ctx, w.repo, tree)
			if err != nil {
				return nil, err
			}
			w.edge[id] = &p
		}
		points[i] = w.edge[id]
	}
	return points, nil
}

// treeOf returns the tree of a commit that is walked, or a parent of one.
func (w *walk) treeOf(ctx context.Context, id gitrepo.Hash) (gitrepo.Hash, error) {
	if at, ok := w.index[id]; ok {
		return w.nodes[at].Tree, nil
	}
	return w.repo.TreeOf(ctx, id)
}

// A step is a commit that changes a judged file against one of its parents.
type step struct {
	node    gitrepo.Node
	at      *point
	parents []*point
	// decisions holds what differs from each parent in the decisions folder.
	decisions [][]gitrepo.Change
}

// steps lists the commits from which onward there is something to judge, without
// those that skip names.
func (w *walk) steps(ctx context.Context, skip map[gitrepo.Hash]bool) ([]*step, error) {
	var steps []*step
	for i, n := range w.nodes {
		parents, err := w.parents(ctx, n)
		if err != nil {
			return nil, err
		}
		at := w.points[i]
		if skip[n.ID] || !slices.ContainsFunc(parents, func(p *point) bool { return p != at && *p != *at }) {
			continue
		}
		s := &step{node: n, at: at, parents: parents, decisions: make([][]gitrepo.Change, len(parents))}
		for k, p := range parents {
			err := w.repo.Diff(ctx, p.decisions.ID, at.decisions.ID, trust.DecisionFolder+"/", func(c gitrepo.Change) error {
				s.decisions[k] = append(s.decisions[k], c)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}
