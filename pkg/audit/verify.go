package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/parallel"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// Options say what history is read, and how.
type Options struct {
	Head gitrepo.Hash // zero for HEAD
	// ExpectHead is a head recorded earlier, which the history must hold; zero for
	// none.
	ExpectHead gitrepo.Hash
	// Root is the trust root. Without one the repository vouches for itself.
	Root *canonical.Digest
	// Folder holds .agentgateway: from the repository's root, with slashes; empty
	// for the root itself.
	Folder string
	// Lockfile is the path from Folder; empty for the default name.
	Lockfile string
	// Now dates decisions; the zero time is refused.
	Now time.Time
	// Cache is that of an earlier report; nil for none.
	Cache *Cache
}

func (o *Options) layout() layout {
	l := layout{folder: o.Folder, lockfile: o.Lockfile}
	if l.lockfile == "" {
		l.lockfile = lockfile.DefaultName
	}
	return l
}

func (o *Options) head(ctx context.Context, repo *gitrepo.Repo) (gitrepo.Hash, error) {
	if o.Now.IsZero() {
		return gitrepo.Hash{}, errors.New("audit: the time is not given")
	}
	if !o.Head.IsZero() {
		return o.Head, nil
	}
	return repo.Resolve(ctx, "HEAD")
}

// Verify judges the history of a repository by the rules that the package comment
// lists. The report's Violation is the first commit that breaks one. An error
// means that the history could not be judged: it lacks objects, as a shallow clone
// does (*gitrepo.MissingObjectError), is damaged (*gitrepo.IntegrityError), or has
// more decisions than the limit.
func Verify(ctx context.Context, repo *gitrepo.Repo, opts Options) (*Report, error) {
	head, err := opts.head(ctx, repo)
	if err != nil {
		return nil, err
	}
	w, err := newWalk(ctx, repo, opts.layout(), head)
	if err != nil {
		return nil, fmt.Errorf("reading the history of %s: %w", head.Short(), err)
	}
	skip, err := w.skips(ctx, opts.Cache, opts.Root)
	if err != nil {
		return nil, err
	}
	steps, err := w.steps(ctx, skip)
	if err != nil {
		return nil, err
	}
	v := &verification{opts: &opts, walk: w, steps: steps, skip: skip, report: &Report{Head: head, Conflicts: []Conflict{}, Facts: []CommitFacts{}}}
	v.judge = &judge{lib: newLibrary(repo, w.layout, opts.Root), now: opts.Now}
	var from *point
	if skip != nil {
		from = w.points[w.index[opts.Cache.Head]]
	}
	if err := v.lib.load(ctx, steps, from); err != nil {
		return nil, err
	}
	return v.report, v.run(ctx)
}

// A verification is one run of Verify.
type verification struct {
	*judge
	opts   *Options
	walk   *walk
	steps  []*step
	skip   map[gitrepo.Hash]bool
	report *Report
	chain  *trust.Chain          // of the head
	before map[gitrepo.Hash]bool // a checkpoint, and itself
	last   int                   // index of the node where the walk ended
}

func (v *verification) run(ctx context.Context) error {
	if err := v.checkpoint(ctx); err != nil {
		return v.violated(err)
	}
	if err := v.judgeSteps(ctx); err != nil {
		return err
	}
	v.count()
	if !v.report.Holds() {
		return nil
	}
	if err := v.atHead(ctx); err != nil {
		return v.violated(err)
	}
	if err := v.settleConflicts(ctx); err != nil || !v.report.Holds() {
		return err
	}
	covers, _, err := v.walk.covers(ctx, v.report.Head, v.opts.Root)
	v.report.Cache = &Cache{Head: v.report.Head, Covers: covers}
	return err
}

// violated keeps a violation in the report, and returns any other error.
func (v *verification) violated(err error) error {
	if violation, ok := errors.AsType[*Violation](err); ok {
		v.report.Violation = violation
		return nil
	}
	return err
}

func (v *verification) headPoint() *point { return v.walk.points[len(v.walk.points)-1] }

func (v *verification) breaks(rule finding.Code, path, format string, args ...any) *Violation {
	return &Violation{Commit: v.report.Head, Rule: rule, Path: v.walk.in(path), Detail: fmt.Sprintf(format, args...)}
}

// checkpoint finds the commit from which the trust list says to judge: of the
// newest version that carries one.
func (v *verification) checkpoint(ctx context.Context) error {
	chain, err := v.lib.chainOrNone(ctx, v.headPoint()) // the walk finds the commit that broke it
	if err != nil || chain == nil {
		return err
	}
	v.chain = chain
	var version *trust.Version
	for n := chain.Len(); n > 0 && version == nil; n-- {
		if one, _ := chain.Version(n); one.Signed.Checkpoint != nil {
			version = one
		}
	}
	if version == nil {
		return nil
	}
	c, n := version.Signed.Checkpoint, version.Signed.Version
	wrong := func(format string, args ...any) error {
		return v.breaks(finding.CheckpointInvalid, trust.VersionPath(n), format, args...)
	}
	id, err := gitrepo.ParseHash(c.Commit)
	at, there := v.walk.index[id]
	if err != nil || !there {
		return wrong("the checkpoint names the commit %q, which the history does not hold", c.Commit)
	}
	src, err := v.lib.repo.Blob(ctx, v.walk.points[at].lockfile.ID)
	if v.walk.points[at].lockfile.ID.IsZero() || err == nil && canonical.Sum(src) != c.Lockfile {
		return wrong("the lockfile of commit %s is not the one that the checkpoint names", id.Short())
	}
	if err != nil {
		return err
	}
	nodes, err := v.lib.repo.History(ctx, id)
	if err != nil {
		return err
	}
	v.before = make(map[gitrepo.Hash]bool, len(nodes))
	for _, node := range nodes {
		v.before[node.ID] = true
	}
	v.report.Checkpoint = &Checkpoint{Commit: id, Lockfile: c.Lockfile, Reason: c.Reason, Version: n, Commits: len(nodes), Violations: []*Violation{}}
	return nil
}

// errStop ends judging after the first violation.
var errStop = errors.New("stop")

// judgeSteps judges the steps on all cores, at least as far as the first violation,
// and takes what they found in the order of the walk.
func (v *verification) judgeSteps(ctx context.Context) error {
	outcomes := make([]outcome, len(v.steps))
	err := parallel.Each(len(v.steps), func(i int) (err error) {
		outcomes[i], err = v.step(ctx, v.steps[i])
		if err == nil && outcomes[i].violation != nil && !v.before[v.steps[i].node.ID] {
			return errStop
		}
		return err
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	if err == nil {
		v.take(outcomes)
	}
	return err
}

// take puts what was found into the report, as far as the first violation.
func (v *verification) take(outcomes []outcome) {
	v.last = len(v.walk.nodes) - 1
	for i := range outcomes {
		o := &outcomes[i]
		if v.before[v.steps[i].node.ID] {
			if c := v.report.Checkpoint; o.violation != nil && len(c.Violations) < MaxViolations {
				c.Violations = append(c.Violations, o.violation)
			}
			continue
		}
		if o.facts != nil {
			v.report.Facts = append(v.report.Facts, *o.facts)
		}
		v.report.Conflicts = append(v.report.Conflicts, o.conflicts...)
		if o.violation != nil {
			v.report.Violation = o.violation
			v.last = v.walk.index[v.steps[i].node.ID]
			return
		}
	}
}

// count fills in how much was judged.
func (v *verification) count() {
	r := v.report
	lockfiles := map[gitrepo.Hash]bool{}
	for i, p := range v.walk.points[:v.last+1] {
		if !p.judged() {
			r.Unjudged++
			continue
		}
		r.Commits++
		if !p.lockfile.ID.IsZero() {
			lockfiles[p.lockfile.ID] = true
		}
		if v.skip[v.walk.nodes[i].ID] {
			r.Skipped++
		}
	}
	r.Lockfiles = len(lockfiles)
	decisions := maps.Clone(v.lib.skipped)
	for _, s := range v.steps {
		if v.walk.index[s.node.ID] > v.last {
			break
		}
		for _, changes := range s.decisions {
			for _, c := range changes {
				decisions[c.Path] = true
			}
		}
	}
	r.Decisions = len(decisions)
	if v.chain != nil {
		r.TrustVersions, r.Trust, r.Pinned = v.chain.Len(), v.chain.Digest(), v.chain.Pinned()
	}
}

// atHead holds what is about the history as a whole.
func (v *verification) atHead(ctx context.Context) error {
	if id := v.opts.ExpectHead; !id.IsZero() {
		if _, there := v.walk.index[id]; !there {
			return v.breaks(finding.HeadLost, "", "the history does not hold %s, the head that was recorded: it was rewritten, or this is another branch", id)
		}
	}
	p := v.headPoint()
	if !p.judged() {
		switch {
		case v.opts.Root != nil:
			return v.breaks(finding.TrustMissing, trust.VersionFolder, "the trust root is %s, and there is no trust list", v.opts.Root.Short())
		case !p.decisions.ID.IsZero():
			return v.breaks(finding.TrustMissing, trust.VersionFolder, "there are decisions, and no trust list to judge them by")
		}
		return nil
	}
	files, _, err := v.lib.versions(ctx, p)
	if err == nil {
		_, err = trust.LoadChain(files, v.opts.Root, v.lib.verifier)
	}
	if err == nil {
		return nil
	}
	if violation := broken(v.report.Head, v.walk.in(trust.VersionFolder), err); violation != nil {
		return violation
	}
	return err
}

// settleConflicts tells which conflicts are open at the head. All items are looked
// at, so that one that arose in what the cache or a checkpoint covers is told too.
func (v *verification) settleConflicts(ctx context.Context) error {
	if v.chain == nil {
		return nil
	}
	lock, err := v.lib.lockfileOrNone(ctx, v.headPoint())
	if err != nil {
		return err
	}
	t := &trial{judge: v.judge}
	decided := map[surface.Key]bool{}
	for key := range v.lib.about {
		decided[key] = true
	}
	for key, it := range lock.items {
		if !it.decision.IsZero() {
			decided[key] = true
		}
	}
	keys := slices.SortedFunc(maps.Keys(decided), surface.Key.Compare)
	state, ledger, err := t.evaluate(ctx, v.headPoint(), v.chain, lock, keys, t.idsAbout(keys))
	if err != nil {
		return err
	}
	if err := v.unnamed(ctx, state, ledger, lock, keys); err != nil {
		return v.violated(err)
	}
	open := t.brokenChains(keys, state, ledger)
	for i := range v.report.Conflicts {
		c := &v.report.Conflicts[i]
		_, c.Open = open[c.Item]
	}
	for i := range v.report.Conflicts {
		delete(open, v.report.Conflicts[i].Item)
	}
	since := v.report.Head
	switch {
	case v.skip != nil:
		since = v.opts.Cache.Head
	case v.report.Checkpoint != nil:
		since = v.report.Checkpoint.Commit
	}
	for _, key := range slices.SortedFunc(maps.Keys(open), surface.Key.Compare) {
		detail := "it was decided, and the lockfile does not hold it"
		if st := state.Item(key); st != nil {
			detail = st.Why
		}
		v.report.Conflicts = append(v.report.Conflicts, Conflict{Commit: since, Item: key, Detail: detail, Open: true})
	}
	return nil
}
