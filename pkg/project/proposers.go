package project

import (
	"context"
	"errors"
	"slices"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// proposersOf finds the persons who brought the locked digests of items in: those
// behind the commits that did, and git's configured identity where a digest is not
// committed yet. Outside git nobody is known to have.
func (p *Project) proposersOf(ctx context.Context, chain *trust.Chain, file *lockfile.File, keys []surface.Key) (audit.Proposals, error) {
	if p.repo == nil || len(keys) == 0 {
		return nil, nil
	}
	user, err := p.repo.User(ctx)
	if err != nil && !errors.Is(err, gitrepo.ErrNoIdentity) {
		return nil, err
	}
	return audit.Proposers(ctx, p.repo, audit.ProposersOptions{
		Folder: p.folder(), Lockfile: p.Path, Chain: chain, Items: keys, Working: file, User: user,
	})
}

// proposersSince finds those behind the commits of a change. Nobody proposes what a
// rollback goes back to, where the base's decisions approved it: the commit that
// goes back brings nothing in that was not approved by others.
func (p *Project) proposersSince(ctx context.Context, base gitrepo.Hash, file *lockfile.File, j *judgement) (func(surface.Key) []string, error) {
	var keys []surface.Key
	for _, it := range p.evaluate(file, authority{}, nil, nil).Items {
		if !j.goesBack(it) {
			keys = append(keys, it.Key)
		}
	}
	found, err := audit.Proposers(ctx, p.repo, audit.ProposersOptions{
		Base: base, Folder: p.folder(), Lockfile: p.Path, Chain: j.head.chain, Items: keys,
	})
	return found.Persons, err
}

// goesBack reports whether the newest decision about an item is a rollback to the
// locked digest, which a decision that counts on the base approved.
func (j *judgement) goesBack(it *trust.ItemState) bool {
	d := j.head.ledger.Decision(it.Decision)
	if d == nil || d.Statement.Action != trust.Rollback || j.baseState == nil {
		return false
	}
	return slices.ContainsFunc(j.baseState.History(it.Key), func(s trust.Step) bool {
		puts := s.Action == trust.Approve || s.Action == trust.Rollback
		return s.Counts && puts && s.Item.Digest == it.Digest && s.Item.GatewayDigest == it.GatewayDigest
	})
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
