package project

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/settled"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// proposed is who brought in the texts that a person is about to decide about.
type proposed struct {
	found *audit.Proposals // nil outside git, where nobody is known to have
	user  gitrepo.Identity // git's configured identity
	// judged tells the decisions that the base has.
	judged func(canonical.Digest) bool
}

// of serves as what a state asks who proposed.
func (p *proposed) of() *trust.Proposers { return &trust.Proposers{Of: p.persons, Judged: p.judged} }

func (p *proposed) persons(t trust.Text, notMine []string) []string {
	if p.found == nil {
		return nil
	}
	return p.found.Persons(t, notMine)
}

func (p *proposed) commits(t trust.Text) []string {
	var ids []string
	if p.found != nil {
		for _, e := range p.found.Of(t).Commits {
			ids = append(ids, e.Commit.String())
		}
	}
	return ids
}

// A signingPerson is who is about to sign a review: git's configured identity is
// theirs, wherever it is among those that brought a text in.
type signingPerson struct {
	review  *Review
	person  string // empty for a key that is nobody's, which is refused later
	notMine []string
}

// signingAs resolves the commits that who signs says are not theirs.
func (p *Project) signingAs(ctx context.Context, r *Review, key string, notMine []string) (*signingPerson, error) {
	s := &signingPerson{review: r}
	signer := r.chain.Signer(key)
	if signer != nil {
		s.person = signer.Person
	}
	if p.repo == nil {
		return s, nil // there is no commit that could be named
	}
	for _, rev := range notMine {
		commit, err := p.repo.Resolve(ctx, rev)
		if err != nil {
			return nil, fmt.Errorf("--not-mine %s: %w", rev, err)
		}
		e := r.commitFacts(commit.String())
		switch {
		case e == nil:
			return nil, &hintError{fmt.Errorf("--not-mine %s: the commit %s brought in nothing that waits", rev, commit.Short()), "`review` names the commits that did"}
		case e.Signature == audit.SignedByListed && e.Person == s.person:
			return nil, fmt.Errorf("--not-mine %s: the commit %s is signed with a key of %s", rev, commit.Short(), s.person)
		}
		s.notMine = append(s.notMine, commit.String())
	}
	slices.Sort(s.notMine)
	s.notMine = slices.Compact(s.notMine)
	return s, nil
}

// commitFacts returns what is known of a commit that brought something in; nil for any
// other.
func (r *Review) commitFacts(commit string) *audit.CommitFacts {
	if r.proposed.found == nil {
		return nil
	}
	for _, it := range r.Items {
		for _, e := range r.proposed.found.Of(it.Text()).Commits {
			if e.Commit.String() == commit {
				return &e
			}
		}
	}
	return nil
}

// complete adds to a statement what depends on who signs it.
func (s *signingPerson) complete(st *trust.Statement) {
	st.NotMine = s.notMine
	for i := range st.Items {
		it := &st.Items[i]
		it.Proposers = s.review.proposed.persons(it.Text(), s.notMine)
		if s.bears(it.Text(), s.notMine) {
			it.Proposers = append(it.Proposers, s.person)
		}
		slices.Sort(it.Proposers)
		it.Proposers = slices.Compact(it.Proposers)
	}
}

// mayCosign refuses a signature to a statement about a text that the configured
// identity of who signs brought in.
func (s *signingPerson) mayCosign(st *trust.Statement) error {
	for i := range st.Items {
		if it := &st.Items[i]; s.bears(it.Text(), st.NotMine) && !s.review.chain.SelfApproval() {
			return &trust.RefusalError{Rule: trust.RuleProposer, Key: it.Key, Detail: "your configured identity is among those that proposed this text", Advice: "ask another approver: nobody approves what they proposed"}
		}
	}
	return nil
}

func (s *signingPerson) bears(t trust.Text, notMine []string) bool {
	p := s.review.proposed
	return s.person != "" && p.found.Bears(t, p.user, notMine)
}

// proposersOf finds the persons who brought the locked texts of items in: those
// behind the commits that did, and git's configured identity where a text is not
// committed yet. state is that of the lockfile.
func (p *Project) proposersOf(ctx context.Context, chain *trust.Chain, file *lockfile.File, state *trust.State, keys []surface.Key) (*proposed, error) {
	out := &proposed{}
	if p.repo == nil || len(keys) == 0 {
		return out, nil
	}
	var err error
	if out.user, err = p.repo.User(ctx); err != nil && !errors.Is(err, gitrepo.ErrNoIdentity) {
		return nil, err
	}
	var texts []trust.Text
	for _, key := range keys {
		if it := state.Item(key); it != nil {
			texts = append(texts, it.Text())
		}
	}
	base, _ := p.findBase(ctx, BaseOptions{}) // without one, HEAD is all there is
	since := base.Commit
	if since.IsZero() {
		since = base.Head
	}
	out.judged = func(id canonical.Digest) bool { return p.hasFile(ctx, since, trust.DecisionPath(id)) }
	out.found, err = audit.Proposers(ctx, p.repo, audit.ProposersOptions{
		Folder: p.folder(), Lockfile: p.Path, Chain: chain, Texts: texts, Base: since, Since: state.EverInForce, Working: file, User: out.user,
	})
	return out, err
}

// hasFile reports whether a commit has a file at a path.
func (p *Project) hasFile(ctx context.Context, commit gitrepo.Hash, name string) bool {
	at, err := p.gitPath(name)
	if err != nil || commit.IsZero() {
		return false
	}
	_, found := p.blobAt(ctx, commit, at)
	return found
}

// changeProposers finds who is behind the commits of what the gate judges. Without
// a base, in a merge queue and where HEAD is on the default branch the commits are
// as a merge made them: buttons, and whoever merges by hand, rewrite authors,
// committers and co-authors.
func (p *Project) changeProposers(ctx context.Context, base *Base, j *judgement) (*trust.Proposers, error) {
	chain := j.base.chain
	if chain == nil {
		chain = j.head.chain
	}
	if p.repo == nil || chain == nil {
		return nil, nil
	}
	merged, err := p.merged(ctx, base)
	if err != nil {
		return nil, err
	}
	out := &trust.Proposers{Merged: merged, Judged: func(id canonical.Digest) bool { return j.base.ledger != nil && j.base.ledger.Decision(id) != nil }}
	texts := j.unproven(chain, merged, out.Judged)
	if len(texts) == 0 {
		out.Of = func(trust.Text, []string) []string { return nil }
		return out, nil
	}
	opts := audit.ProposersOptions{Base: base.Commit, Folder: p.folder(), Lockfile: p.Path, Chain: chain, Texts: texts}
	if j.baseState != nil {
		opts.Since = j.baseState.EverInForce
	}
	found, err := audit.Proposers(ctx, p.repo, opts)
	if err != nil {
		return nil, err
	}
	if out.Of = found.Persons; merged {
		out.Of = found.Authors
	}
	return out, nil
}

// merged reports whether what is judged has been merged, or is as it will be.
func (p *Project) merged(ctx context.Context, base *Base) (bool, error) {
	switch {
	case base.Event.Kind == settled.PullRequest:
		return false, nil
	case !base.Known(), base.Event.Kind == settled.MergeQueue:
		return true, nil
	case base.Default.Commit.IsZero():
		return false, nil
	}
	return p.repo.IsAncestor(ctx, base.Head, base.Default.Commit)
}

// unproven lists the texts of the decisions that the base lacks, as far as they
// have to be asked about: where the commits are merged, those whose decisions name
// no listed person, unless everybody may approve what they proposed.
func (j *judgement) unproven(chain *trust.Chain, merged bool, judged func(canonical.Digest) bool) []trust.Text {
	if j.head.ledger == nil || merged && chain.SelfApproval() {
		return nil
	}
	var texts []trust.Text
	for _, id := range j.head.ledger.IDs() {
		if judged(id) {
			continue
		}
		st := &j.head.ledger.Decision(id).Statement
		for i := range st.Items {
			it := &st.Items[i]
			named := slices.ContainsFunc(it.Proposers, func(name string) bool { return chain.Person(name) != "" })
			if !it.Digest.IsZero() && (!merged || !named) {
				texts = append(texts, it.Text())
			}
		}
	}
	return texts
}

// waitingKeys are the items that wait for a decision.
func waitingKeys(state *trust.State) []surface.Key {
	var keys []surface.Key
	for _, it := range state.Items {
		if waits(it) {
			keys = append(keys, it.Key)
		}
	}
	return keys
}
