package audit

import (
	"context"
	"errors"
	"path"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/parallel"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// What is kept of lockfiles and chains, in bytes of their files; in memory they
// are several times as large.
const (
	keepLockfiles = 2 << 20
	keepChains    = 1 << 20
)

// A library reads each judged file of a history once.
type library struct {
	repo     *gitrepo.Repo
	layout   layout
	root     *canonical.Digest
	verifier trust.Verifier

	lockfiles *recent[gitrepo.Hash, *lock]
	chains    *recent[gitrepo.Hash, *trust.Chain]

	decisions map[gitrepo.Hash]*decisionFile // by blob
	known     *trust.Ledger                  // of all of them, each in its newest form
	skipped   map[string]bool                // paths of those that the cache covers
	about     map[surface.Key][]canonical.Digest
}

// A decisionFile is one form of a decision: its path from the folder that holds
// .agentgateway and its bytes.
type decisionFile = trust.DecisionFile

func newLibrary(repo *gitrepo.Repo, l layout, root *canonical.Digest) *library {
	return &library{
		repo: repo, layout: l, root: root,
		verifier:  trust.Once(nil),
		lockfiles: newRecent[gitrepo.Hash, *lock](keepLockfiles),
		chains:    newRecent[gitrepo.Hash, *trust.Chain](keepChains),
		decisions: map[gitrepo.Hash]*decisionFile{},
		skipped:   map[string]bool{},
		about:     map[surface.Key][]canonical.Digest{},
	}
}

// A lock is a lockfile with what it says of each item.
type lock struct {
	file  *lockfile.File
	items map[surface.Key]locked
}

// locked is all that a lockfile says of an item that matters to decisions.
type locked struct {
	digest, gateway, decision canonical.Digest
	absent, refused           bool
}

// noLock stands for no lockfile.
var noLock = &lock{file: &lockfile.File{}}

// lockfile reads the lockfile of a point; noLock where there is none. The error is
// a *lockfile.Error, or one of reading git.
func (l *library) lockfile(ctx context.Context, p *point) (*lock, error) {
	if p.lockfile.ID.IsZero() {
		return noLock, nil
	}
	return l.lockfiles.get(p.lockfile.ID, func() (*lock, int, error) {
		src, err := l.repo.Blob(ctx, p.lockfile.ID)
		if err != nil {
			return noLock, 0, err
		}
		f, err := lockfile.Parse(src)
		if err != nil {
			return noLock, len(src), err
		}
		f.Path = l.layout.in(l.layout.lockfile)
		return newLock(f), len(src), nil
	})
}

// lockfileOrNone reads the lockfile of a point; noLock also for one that does not
// parse, which is another commit's fault than the one that is looked at.
func (l *library) lockfileOrNone(ctx context.Context, p *point) (*lock, error) {
	lock, err := l.lockfile(ctx, p)
	if _, ok := errors.AsType[*lockfile.Error](err); ok {
		lock, err = noLock, nil
	}
	return lock, err
}

func newLock(f *lockfile.File) *lock {
	l := &lock{file: f, items: map[surface.Key]locked{}}
	for it := range f.Items() {
		item := locked{digest: it.Digest, gateway: it.GatewayDigest, absent: it.Absent, refused: it.Rule != ""}
		if it.Decision != nil {
			item.decision = *it.Decision
		}
		l.items[it.Key] = item
	}
	return l
}

// chain verifies the trust versions of a point; nil where there are none. The
// error is a *trust.ChainError, or one of reading git.
func (l *library) chain(ctx context.Context, p *point) (*trust.Chain, error) {
	if p.trust.ID.IsZero() {
		return nil, nil
	}
	return l.chains.get(p.trust.ID, func() (*trust.Chain, int, error) {
		files, size, err := l.versions(ctx, p)
		if err != nil {
			return nil, size, err
		}
		c, err := trust.LoadChain(files, l.root, l.verifier)
		if e, ok := errors.AsType[*trust.ChainError](err); ok && e.Rule == trust.RuleRoot {
			// A commit from before the version that the root names. That its chain is
			// the beginning of the pinned one is held from commit to commit.
			c, err = trust.LoadChain(files, nil, l.verifier)
		}
		return c, size, err
	})
}

// chainOrNone verifies the trust versions of a point; nil also for files that are
// no chain.
func (l *library) chainOrNone(ctx context.Context, p *point) (*trust.Chain, error) {
	c, err := l.chain(ctx, p)
	if _, ok := errors.AsType[*trust.ChainError](err); ok {
		c, err = nil, nil
	}
	return c, err
}

// versions reads the files of the trust folder, and tells their size in bytes.
func (l *library) versions(ctx context.Context, p *point) (files []trust.File, size int, err error) {
	files, err = trust.ReadVersions(l.repo.TreeFS(ctx, p.trust.ID, ""), ".")
	for i := range files {
		size += len(files[i].Data)
	}
	return files, size, err
}

// load reads and verifies every form of every decision that the steps bring in,
// and those of the folder at from.
func (l *library) load(ctx context.Context, steps []*step, from *point) error {
	var order []gitrepo.Hash // of blobs; a decision's newest form last
	add := func(c gitrepo.Change) {
		if c.After.Mode.IsFile() && l.decisions[c.After.ID] == nil {
			l.decisions[c.After.ID] = &decisionFile{Path: c.Path}
			order = append(order, c.After.ID)
		}
	}
	if from != nil {
		err := l.repo.Diff(ctx, gitrepo.Hash{}, from.decisions.ID, trust.DecisionFolder+"/", func(c gitrepo.Change) error {
			l.skipped[c.Path] = true
			add(c)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, s := range steps {
		for _, changes := range s.decisions {
			for _, c := range changes {
				add(c)
			}
		}
	}
	err := parallel.Each(len(order), func(i int) error {
		data, err := l.repo.Blob(ctx, order[i])
		l.decisions[order[i]].Data = data
		return err
	})
	if err != nil {
		return err
	}
	newest := make(map[string]int, len(order))
	files := make([]trust.DecisionFile, 0, len(order))
	for _, blob := range order {
		f := l.decisions[blob]
		if i, there := newest[f.Path]; there {
			files[i] = *f
			continue
		}
		newest[f.Path] = len(files)
		files = append(files, *f)
	}
	if l.known, err = trust.NewLedger(files, nil, l.verifier); err != nil {
		return err
	}
	for _, id := range l.known.IDs() {
		st := &l.known.Decision(id).Statement
		if st.Lockfile != l.layout.lockfile {
			continue
		}
		for i := range st.Items {
			l.about[st.Items[i].Key] = append(l.about[st.Items[i].Key], id)
		}
	}
	return nil
}

// ledger makes a ledger of decisions as they stand at a point. Ids that are not
// there are left out.
func (l *library) ledger(ctx context.Context, p *point, ids []canonical.Digest) (*trust.Ledger, error) {
	files := make([]trust.DecisionFile, 0, len(ids))
	for _, id := range ids {
		name, ok, err := l.standing(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		f := l.decisions[name]
		if f == nil {
			data, err := l.repo.Blob(ctx, name)
			if err != nil {
				return nil, err
			}
			f = &decisionFile{Path: trust.DecisionPath(id), Data: data}
		}
		files = append(files, *f)
	}
	return trust.NewLedger(files, l.known, l.verifier)
}

// standing returns the blob of a decision at a point.
func (l *library) standing(ctx context.Context, p *point, id canonical.Digest) (blob gitrepo.Hash, ok bool, err error) {
	if p.decisions.ID.IsZero() {
		return gitrepo.Hash{}, false, nil
	}
	name := trust.DecisionPath(id)
	entry, found, err := l.repo.Lookup(ctx, p.decisions.ID, path.Join(path.Base(path.Dir(name)), path.Base(name)))
	if _, ok := errors.AsType[*gitrepo.ModeError](err); ok {
		return gitrepo.Hash{}, false, nil
	}
	return entry.ID, found && entry.Mode.IsFile(), err
}
