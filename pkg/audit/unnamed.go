package audit

import (
	"context"
	"slices"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// unnamed holds that nothing is in force by the approval of who wrote it. Decisions
// record who brought a text in, and that is taken: buttons of hosts and whoever
// merges by hand rewrite authors, committers and co-authors. Only where a decision
// names no listed person the authors of the commits that brought the text in are
// asked for.
func (v *verification) unnamed(ctx context.Context, state *trust.State, ledger *trust.Ledger, lock *lock, keys []surface.Key) error {
	if v.chain.SelfApproval() {
		return nil
	}
	listed := func(name string) bool { return v.chain.Person(name) != "" }
	var texts []trust.Text
	for _, it := range state.Items {
		if it.InForce == nil {
			continue
		}
		for _, item := range ledger.Decision(it.InForce.Decision).Statement.Items {
			if item.Key == it.Key && !slices.ContainsFunc(item.Proposers, listed) {
				texts = append(texts, item.Text())
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	found, err := Proposers(ctx, v.lib.repo, ProposersOptions{
		Head: v.report.Head, Folder: v.walk.folder, Lockfile: v.walk.lockfile, Chain: v.chain, Texts: texts,
	})
	if err != nil {
		return err
	}
	again := trust.Evaluate(trust.Input{
		Chain: v.chain, Ledger: ledger, Lockfile: lock.part(keys), Path: v.walk.lockfile, Folder: v.walk.folder, Now: v.now,
		Proposers: &trust.Proposers{Of: found.Authors, Merged: true},
	})
	for _, it := range state.Items {
		now := again.Item(it.Key)
		if it.InForce != nil && now != nil && (now.InForce == nil || now.InForce.Decision != it.InForce.Decision) {
			violation := v.breaks(finding.SelfApproval, trust.DecisionPath(it.InForce.Decision), "the decision names nobody who is listed, and who approved is the author of the text")
			violation.Item = &it.Key
			return violation
		}
	}
	return nil
}
