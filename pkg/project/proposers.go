package project

import (
	"context"
	"errors"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// proposersOf finds the persons who brought the locked digests of items in: those
// behind the commits that did, and git's configured identity where a digest is not
// committed yet. Outside git nobody is known to have.
func (p *Project) proposersOf(ctx context.Context, chain *trust.Chain, file *lockfile.File, keys []trust.Key) (audit.Proposals, error) {
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

// proposersSince finds those behind the commits of a change.
func (p *Project) proposersSince(ctx context.Context, chain *trust.Chain, base gitrepo.Hash, file *lockfile.File) (audit.Proposals, error) {
	var keys []trust.Key
	for _, it := range p.evaluate(file, authority{}, nil, nil).Items {
		keys = append(keys, it.Key)
	}
	return audit.Proposers(ctx, p.repo, audit.ProposersOptions{
		Base: base, Folder: p.folder(), Lockfile: p.Path, Chain: chain, Items: keys,
	})
}

// waitingKeys are the items that wait for a decision.
func waitingKeys(state *trust.State) []trust.Key {
	var keys []trust.Key
	for _, it := range state.Items {
		if waits(it) {
			keys = append(keys, it.Key)
		}
	}
	return keys
}
