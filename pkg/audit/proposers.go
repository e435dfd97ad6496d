package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// ProposersOptions say whose proposers are looked for, and where.
type ProposersOptions struct {
	// Head is where the walk begins; zero for HEAD. Of commits that Base reaches
	// nothing is read: a digest that Base has locked was not brought in since, and
	// has no proposers here. Base is zero for the whole history.
	Head, Base gitrepo.Hash
	Folder     string // as in [Options]
	Lockfile   string // as in [Options]
	// Chain maps identities to persons, by all its versions; nil where there is no
	// trust list.
	Chain *trust.Chain
	Items []surface.Key
	// Working is the lockfile that is judged, where it is another than that of
	// Head: a digest in it that Head does not have was brought in by User, and
	// UserKey where it is known ("type base64").
	Working *lockfile.File
	User    gitrepo.Identity
	UserKey string
}

// A Proposal tells who brought the locked digest of an item in.
type Proposal struct {
	// Persons are the persons of the trust list, and identities that it does not
	// have, sorted: an email in lower case, or the fingerprint of a signing key.
	Persons []string
	// Commits brought the digest in.
	Commits []Evidence
	// Uncommitted says that the digest is not at the head, so that User is among the
	// persons.
	Uncommitted bool
}

// Proposals holds a proposal for each item that was asked for and is locked.
type Proposals map[surface.Key]*Proposal

// Persons returns the proposers of an item; it serves as the Proposers of
// [trust.Input] and [trust.Recount].
func (p Proposals) Persons(key surface.Key) []string {
	if one := p[key]; one != nil {
		return one.Persons
	}
	return nil
}

// Proposers finds the persons behind the commits that brought the locked digests
// in: who signed them, their authors, committers and co-authors. A commit brings a
// digest in where none of its parents has it. All that did so at any time count,
// also where the digest went and came back. An identity that is a principal or a
// person of the trust list is that person. Errors are those of reading git, or a
// *lockfile.Error for the lockfile of the head.
func Proposers(ctx context.Context, repo *gitrepo.Repo, opts ProposersOptions) (Proposals, error) {
	o := Options{Folder: opts.Folder, Lockfile: opts.Lockfile}
	p := &proposers{opts: &opts, lib: newLibrary(repo, o.layout(), nil), persons: personsOf(opts.Chain), found: Proposals{}}
	head := opts.Head
	if head.IsZero() {
		var err error
		head, err = repo.Resolve(ctx, "HEAD")
		if errors.Is(err, gitrepo.ErrNotFound) && opts.Working != nil {
			p.uncommitted(p.want(noLock), noLock) // a repository without a commit
			return p.found, nil
		}
		if err != nil {
			return nil, err
		}
	}
	var hide []gitrepo.Hash
	if !opts.Base.IsZero() {
		hide = append(hide, opts.Base)
	}
	w, err := newWalk(ctx, repo, o.layout(), head, hide...)
	if err != nil {
		return nil, fmt.Errorf("looking for who proposed a text: %w", err)
	}
	at, err := p.lockAt(ctx, w, head)
	if err != nil {
		return nil, err
	}
	wanted := p.want(at)
	p.uncommitted(wanted, at)
	for i, n := range w.nodes {
		if err := p.commit(ctx, w, i, n, wanted); err != nil {
			return nil, fmt.Errorf("commit %s: %w", n.ID, err)
		}
	}
	for _, one := range p.found {
		slices.Sort(one.Persons)
		one.Persons = slices.Compact(one.Persons)
	}
	return p.found, nil
}

type proposers struct {
	opts    *ProposersOptions
	lib     *library
	persons map[string]string // by principal, person and key
	found   Proposals
}

// personsOf maps principals, persons and keys of all versions to persons; the
// newest has the last word.
func personsOf(c *trust.Chain) map[string]string {
	persons := map[string]string{}
	if c == nil {
		return persons
	}
	for n := 1; n <= c.Len(); n++ {
		v, _ := c.Version(n)
		for i := range v.Signed.Signers {
			s := &v.Signed.Signers[i]
			persons[identity("", s.Person)] = s.Person
			persons[s.Principal] = s.Person
			for _, key := range s.Keys {
				persons[key] = s.Person
			}
		}
	}
	return persons
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

// want lists what is locked of the items asked for.
func (p *proposers) want(head *lock) map[surface.Key]locked {
	from := head
	if p.opts.Working != nil {
		from = newLock(p.opts.Working)
	}
	wanted := make(map[surface.Key]locked, len(p.opts.Items))
	for _, key := range p.opts.Items {
		if it, there := from.items[key]; there && !it.digest.IsZero() {
			wanted[key] = it
			p.found[key] = &Proposal{Persons: []string{}, Commits: []Evidence{}}
		}
	}
	return wanted
}

// uncommitted adds the user to what the head does not have.
func (p *proposers) uncommitted(wanted map[surface.Key]locked, head *lock) {
	if p.opts.Working == nil {
		return
	}
	user := []string{p.person(identity(p.opts.User.Name, p.opts.User.Email))}
	if person, listed := p.persons[p.opts.UserKey]; listed {
		user = append(user, person)
	}
	for key, it := range wanted {
		if was := head.items[key]; was.digest != it.digest || was.gateway != it.gateway {
			p.found[key].Uncommitted = true
			p.found[key].Persons = append(p.found[key].Persons, user...)
		}
	}
}

func (p *proposers) person(identity string) string {
	if person, listed := p.persons[identity]; listed {
		return person
	}
	return identity
}

// commit adds whoever made a commit to the items whose digests it brought in.
func (p *proposers) commit(ctx context.Context, w *walk, i int, n gitrepo.Node, wanted map[surface.Key]locked) error {
	at := w.points[i]
	parents, err := w.parents(ctx, n)
	if err != nil {
		return err
	}
	if at.lockfile.ID.IsZero() || slices.ContainsFunc(parents, func(o *point) bool { return o.lockfile.ID == at.lockfile.ID }) {
		return nil
	}
	// A lockfile that does not parse holds nothing, so whoever mends it brings
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
	var made *Evidence
	for key, want := range wanted {
		if !broughtIn(key, want, now, before) {
			continue
		}
		if made == nil {
			e, err := p.evidence(ctx, n.ID)
			if err != nil {
				return err
			}
			made = &e
		}
		one := p.found[key]
		one.Commits = append(one.Commits, *made)
		one.Persons = append(one.Persons, p.behind(made)...)
	}
	return nil
}

// broughtIn reports whether a lockfile has the wanted digest and none before it
// has; or the wanted gateway digest with it.
func broughtIn(key surface.Key, want locked, now *lock, before []*lock) bool {
	had := func(same func(locked) bool) bool {
		return slices.ContainsFunc(before, func(l *lock) bool { it, there := l.items[key]; return there && same(it) })
	}
	it, there := now.items[key]
	if !there || it.digest != want.digest {
		return false
	}
	if !had(func(was locked) bool { return was.digest == want.digest }) {
		return true
	}
	return it.gateway == want.gateway && !had(func(was locked) bool { return was.digest == want.digest && was.gateway == want.gateway })
}

func (p *proposers) evidence(ctx context.Context, id gitrepo.Hash) (Evidence, error) {
	return evidence(ctx, p.lib.repo, id, listedIn(p.opts.Chain, 1))
}

// behind lists the persons behind a commit.
func (p *proposers) behind(e *Evidence) []string {
	persons := []string{p.person(e.Author), p.person(e.Committer)}
	for _, identity := range e.CoAuthors {
		persons = append(persons, p.person(identity))
	}
	switch e.Signature {
	case SignedByListed:
		persons = append(persons, e.Person)
	case SignedByUnlisted:
		persons = append(persons, e.Fingerprint)
	}
	return persons
}
