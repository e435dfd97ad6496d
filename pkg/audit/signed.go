package audit

import (
	"context"
	"slices"

	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/trust"
)

// NewestSigned finds the newest commit that head reaches and that one of some keys
// (as sshsig.FormatPublicKey spells them) signed; zero where there is none.
func NewestSigned(ctx context.Context, repo *gitrepo.Repo, head gitrepo.Hash, keys map[string]bool) (gitrepo.Hash, error) {
	nodes, err := repo.History(ctx, head)
	if err != nil {
		return gitrepo.Hash{}, err
	}
	nobody := func(string) *trust.Signer { return nil }
	for _, node := range slices.Backward(nodes) {
		e, err := commitFacts(ctx, repo, node.ID, nobody)
		if err != nil {
			continue // a commit that is not read strictly is signed by nobody
		}
		if e.Signature == SignedByUnlisted && keys[e.key] {
			return node.ID, nil
		}
	}
	return gitrepo.Hash{}, nil
}
