package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// ProposersOptions say whose proposers are looked for, and where.
type ProposersOptions struct {
	Head     gitrepo.Hash // where the walk begins; zero for HEAD
	Folder   string       // as in [Options]
	Lockfile string       // as in [Options]
	// Chain maps identities to persons, by all its versions; nil where there is no
	// trust list.
	Chain *trust.Chain
	Texts []trust.Text
	// Of a text for which Since holds only the commits count that Base lacks, and
	// none where Base has it locked: it was in force there, so that nobody proposes
	// what is gone back to. Of all others the whole history counts. A zero Base lacks
	// nothing; a nil Since holds for none.
	Base  gitrepo.Hash
	Since func(trust.Text) bool
	// Working is the lockfile that is judged, where it is another than that of
	// Head: a text in it that Head does not have was brought in by User, and
	// UserKey where it is known ("type base64").
	Working *lockfile.File
	User    gitrepo.Identity
	UserKey string
}

// A Proposal tells who brought a text in.
type Proposal struct {
	// Commits brought it in: the digest into the lockfile, or its readable copy.
	Commits []CommitFacts
	// Uncommitted says that the text is not at the head, so that User brought it in.
	Uncommitted bool
}

// Proposals holds a proposal for each text that was asked for.
type Proposals struct {
	found   map[trust.Text]*Proposal
	persons persons
	user    []string // User, and who holds UserKey
}

// Of returns the proposal of a text; empty where it was not asked for.
func (p *Proposals) Of(t trust.Text) Proposal {
	if p == nil || p.found[t] == nil {
		return Proposal{}
	}
	return *p.found[t]
}

// Persons returns the proposers of a text, sorted: persons of the trust list, and
// identities that it does not have: an email in lower case, or the fingerprint of
// a signing key. Of the commits of notMine only those count who signed with a
// listed key. It serves as Of of [trust.Proposers].
func (p *Proposals) Persons(t trust.Text, notMine []string) []string {
	one, list := p.Of(t), []string{}
	for i := range one.Commits {
		list = append(list, p.persons.behind(&one.Commits[i], notMine)...)
	}
	if one.Uncommitted {
		list = append(list, p.user...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Authors returns the authors alone of the commits that brought a text in, sorted.
// It serves as Of of [trust.Proposers] where commits are as a merge made them.
func (p *Proposals) Authors(t trust.Text, _ []string) []string {
	one, list := p.Of(t), []string{}
	for i := range one.Commits {
		list = append(list, p.persons.of(one.Commits[i].Author))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Bears reports whether an identity that is no listed person's is among those that
// brought a text in, the commits of notMine aside.
func (p *Proposals) Bears(t trust.Text, who gitrepo.Identity, notMine []string) bool {
	if p == nil {
		return false
	}
	name := p.persons.of(identity(who.Name, who.Email))
	return !p.persons.listed(name) && slices.Contains(p.Persons(t, notMine), name)
}

// Proposers finds the commits that brought texts in: that have the digest in the
// lockfile, or the readable copy of it, where none of their parents has. All that
// did so at any time count, through every parent of a merge, also where the text
// went and came back. Errors are those of reading git, or a *lockfile.Error for the
// lockfile of the head.
func Proposers(ctx context.Context, repo *gitrepo.Repo, opts ProposersOptions) (*Proposals, error) {
	o := Options{Folder: opts.Folder, Lockfile: opts.Lockfile}
	p := &proposers{opts: &opts, lib: newLibrary(repo, o.layout(), nil), out: newProposals(opts.Chain, opts.Texts)}
	head := opts.Head
	if head.IsZero() {
		var err error
		head, err = repo.Resolve(ctx, "HEAD")
		if errors.Is(err, gitrepo.ErrNotFound) && opts.Working != nil {
			p.uncommitted(noLock) // a repository without a commit
			return p.out, nil
		}
		if err != nil {
			return nil, err
		}
	}
	w, err := p.walk(ctx, o.layout(), head)
	if err != nil {
		return nil, fmt.Errorf("looking for who proposed a text: %w", err)
	}
	at, err := p.lockAt(ctx, w, head)
	if err != nil {
		return nil, err
	}
	p.uncommitted(at)
	if err := p.findCopies(ctx, head, at); err != nil {
		return nil, err
	}
	for i, n := range w.nodes {
		if err := p.commit(ctx, w, i, n); err != nil {
			return nil, fmt.Errorf("commit %s: %w", n.ID, err)
		}
	}
	return p.out, nil
}

func newProposals(c *trust.Chain, texts []trust.Text) *Proposals {
	out := &Proposals{found: make(map[trust.Text]*Proposal, len(texts)), persons: persons{c}}
	for _, t := range texts {
		if !t.Digest.IsZero() {
			out.found[t] = &Proposal{}
		}
	}
	return out
}

// A proposers run looks through a history.
type proposers struct {
	opts *ProposersOptions
	lib  *library
	out  *Proposals
	// onBase are the commits that Base reaches; since are the texts of which these do
	// not count.
	onBase map[gitrepo.Hash]bool
	since  map[trust.Text]bool
	copies map[trust.Text]copyOf
}

// copyOf is the readable copy of a text at the head.
type copyOf struct {
	path string // from the folder of the copies
	blob gitrepo.Hash
}

// walk reads as much of the history as the texts need.
func (p *proposers) walk(ctx context.Context, l layout, head gitrepo.Hash) (*walk, error) {
	p.since = map[trust.Text]bool{}
	base := p.opts.Base
	if base.IsZero() || p.opts.Since == nil {
		return newWalk(ctx, p.lib.repo, l, head)
	}
	tree, err := p.lib.repo.TreeOf(ctx, base)
	if err != nil {
		return nil, err
	}
	at, err := l.read(ctx, p.lib.repo, tree)
	if err != nil {
		return nil, err
	}
	lock, err := p.lib.lockfileOrNone(ctx, &at)
	if err != nil {
		return nil, err
	}
	if !p.restrict(lock) {
		return newWalk(ctx, p.lib.repo, l, head, base)
	}
	nodes, err := p.lib.repo.History(ctx, base)
	if err != nil {
		return nil, err
	}
	p.onBase = make(map[gitrepo.Hash]bool, len(nodes))
	for _, n := range nodes {
		p.onBase[n.ID] = true
	}
	return newWalk(ctx, p.lib.repo, l, head)
}

// restrict takes out the texts that the lockfile of the base has and that were in
// force there, and notes those of which only the commits since count. It reports
// whether the whole history counts for any.
func (p *proposers) restrict(base *lock) (whole bool) {
	p.since = map[trust.Text]bool{}
	for t := range p.out.found {
		if !p.opts.Since(t) {
			whole = true
			continue
		}
		p.since[t] = true
		if it := base.items[t.Key]; it.digest == t.Digest && it.gateway == t.GatewayDigest {
			delete(p.out.found, t) // it was not brought in since
		}
	}
	return whole
}

// persons tells who is who by a trust list.
type persons struct{ chain *trust.Chain }

// of returns the person of an identity, or the identity where it is nobody's who is
// listed.
func (p persons) of(identity string) string {
	return cmp.Or(p.chain.Person(identity), trust.PlainEmail(identity))
}

// listed reports whether a name is that of a listed person.
func (p persons) listed(name string) bool { return p.chain.Person(name) == name }

// behind lists the persons behind a commit.
func (p persons) behind(e *CommitFacts, notMine []string) []string {
	var list []string
	if !slices.Contains(notMine, e.Commit.String()) {
		list = append(list, p.of(e.Author), p.of(e.Committer))
		for _, identity := range e.CoAuthors {
			list = append(list, p.of(identity))
		}
		if e.Signature == SignedByUnlisted {
			list = append(list, e.Fingerprint)
		}
	}
	if e.Signature == SignedByListed {
		list = append(list, e.Person)
	}
	return list
}

func (p *proposers) lockAt(ctx context.Context, w *walk, head gitrepo.Hash) (*lock, error) {
	if i, there := w.index[head]; there {
		return p.lib.lockfile(ctx, w.points[i])
	}
	tree, err := p.lib.repo.TreeOf(ctx, head) // the head is the base, or before it
	if err != nil {
		return nil, err
	}
	at, err := w.layout.read(ctx, p.lib.repo, tree)
	if err != nil {
		return nil, err
	}
	return p.lib.lockfile(ctx, &at)
}

// uncommitted marks what the head does not have.
func (p *proposers) uncommitted(head *lock) {
	if p.opts.Working == nil {
		return
	}
	p.out.user = []string{p.out.persons.of(identity(p.opts.User.Name, p.opts.User.Email))}
	if signer := listedIn(p.opts.Chain, 1)(p.opts.UserKey); signer != nil {
		p.out.user = append(p.out.user, signer.Person)
	}
	here := newLock(p.opts.Working)
	for t, one := range p.out.found {
		if it := here.items[t.Key]; it.digest == t.Digest && it.gateway == t.GatewayDigest {
			was := head.items[t.Key]
			one.Uncommitted = was.digest != t.Digest || was.gateway != t.GatewayDigest
		}
	}
}

// findCopies finds the readable copies of the texts that the head has locked.
func (p *proposers) findCopies(ctx context.Context, head gitrepo.Hash, at *lock) error {
	p.copies = map[trust.Text]copyOf{}
	tree, err := p.lib.repo.TreeOf(ctx, head)
	if err != nil {
		return err
	}
	layout := lockfile.NewLayout(at.file)
	for t := range p.out.found {
		c, ok := layout.Copy(t.Key)
		if it := at.items[t.Key]; !ok || it.digest != t.Digest {
			continue
		}
		entry, found, err := p.lib.repo.Lookup(ctx, tree, p.lib.layout.in(c.Path))
		if _, odd := errors.AsType[*gitrepo.ModeError](err); odd || err == nil && !found {
			continue // a finding of its own
		}
		if err != nil {
			return err
		}
		p.copies[t] = copyOf{c.Path[len(lockfile.DefinitionsFolder)+1:], entry.ID}
	}
	return nil
}

// commit adds a commit to the texts that it brought in.
func (p *proposers) commit(ctx context.Context, w *walk, i int, n gitrepo.Node) error {
	brought := map[trust.Text]bool{}
	if err := p.byLockfile(ctx, w, i, n, brought); err != nil {
		return err
	}
	if err := p.byCopies(ctx, w, n, brought); err != nil || len(brought) == 0 {
		return err
	}
	made, err := commitFacts(ctx, p.lib.repo, n.ID, listedIn(p.opts.Chain, 1))
	if err != nil {
		return err
	}
	for t := range brought {
		one := p.out.found[t]
		one.Commits = append(one.Commits, made)
	}
	return nil
}

// counts reports whether a commit counts for a text at all.
func (p *proposers) counts(t trust.Text, commit gitrepo.Hash) bool {
	return !p.since[t] || !p.onBase[commit]
}

// byLockfile finds the texts whose digests a commit brought into the lockfile.
func (p *proposers) byLockfile(ctx context.Context, w *walk, i int, n gitrepo.Node, brought map[trust.Text]bool) error {
	at := w.points[i]
	parents, err := w.parents(ctx, n)
	if err != nil {
		return err
	}
	if at.lockfile.ID.IsZero() || slices.ContainsFunc(parents, func(o *point) bool { return o.lockfile.ID == at.lockfile.ID }) {
		return nil
	}
	// A lockfile that does not parse holds nothing, so whoever repairs it brings
	// everything in.
	now, err := p.lib.lockfileOrNone(ctx, at)
	if err != nil {
		return err
	}
	before := make([]*lock, len(parents))
	for k, o := range parents {
		if before[k], err = p.lib.lockfileOrNone(ctx, o); err != nil {
			return err
		}
	}
	for t := range p.out.found {
		if p.counts(t, n.ID) && broughtIn(t, now, before) {
			brought[t] = true
		}
	}
	return nil
}

// broughtIn reports whether a lockfile has the digest of a text and none before it
// has; or its gateway digest with it.
func broughtIn(t trust.Text, now *lock, before []*lock) bool {
	had := func(same func(locked) bool) bool {
		return slices.ContainsFunc(before, func(l *lock) bool { it, there := l.items[t.Key]; return there && same(it) })
	}
	it, there := now.items[t.Key]
	if !there || it.digest != t.Digest {
		return false
	}
	if !had(func(was locked) bool { return was.digest == t.Digest }) {
		return true
	}
	return it.gateway == t.GatewayDigest && !had(func(was locked) bool { return was.digest == t.Digest && was.gateway == t.GatewayDigest })
}

// byCopies finds the texts whose readable copies a commit brought in: who commits
// the words need not be who commits their digest.
func (p *proposers) byCopies(ctx context.Context, w *walk, n gitrepo.Node, brought map[trust.Text]bool) error {
	if len(p.copies) == 0 {
		return nil
	}
	folder, err := p.copyFolder(ctx, n.Tree)
	if err != nil || folder.IsZero() {
		return err
	}
	before := make([]gitrepo.Hash, len(n.Parents))
	for k, id := range n.Parents {
		tree, err := w.treeOf(ctx, id)
		if err != nil {
			return err
		}
		if before[k], err = p.copyFolder(ctx, tree); err != nil || before[k] == folder {
			return err
		}
	}
	for t, c := range p.copies {
		if brought[t] || !p.counts(t, n.ID) {
			continue
		}
		has, err := p.hasCopy(ctx, folder, c)
		for k := 0; k < len(before) && err == nil && has; k++ {
			var had bool
			had, err = p.hasCopy(ctx, before[k], c)
			has = !had
		}
		if err != nil {
			return err
		}
		if has {
			brought[t] = true
		}
	}
	return nil
}

// copyFolder returns the folder of the copies in a tree; zero where there is none.
func (p *proposers) copyFolder(ctx context.Context, tree gitrepo.Hash) (gitrepo.Hash, error) {
	entry, found, err := p.lib.repo.Lookup(ctx, tree, p.lib.layout.in(lockfile.DefinitionsFolder))
	if _, odd := errors.AsType[*gitrepo.ModeError](err); odd || err == nil && (!found || entry.Mode != gitrepo.ModeFolder) {
		return gitrepo.Hash{}, nil
	}
	return entry.ID, err
}

func (p *proposers) hasCopy(ctx context.Context, folder gitrepo.Hash, c copyOf) (bool, error) {
	if folder.IsZero() {
		return false, nil
	}
	entry, found, err := p.lib.repo.Lookup(ctx, folder, c.path)
	if _, odd := errors.AsType[*gitrepo.ModeError](err); odd {
		return false, nil
	}
	return found && entry.ID == c.blob, err
}
