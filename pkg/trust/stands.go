package trust

import (
	"slices"

	"agentgateway-lock/pkg/canonical"
)

// Stands returns the ids of decisions that a signer has signed and that make
// things what they are: what is in force, barred, disabled, paused, or not so any
// more. [Stand] lets them go on counting when the signer is removed. name is a
// principal of the newest version, or a key as [Remove] takes it.
func (s *State) Stands(name string) []canonical.Digest {
	keys := s.keysOf(name)
	return s.effective(func(r ref) bool {
		return slices.ContainsFunc(r.entry.keys, func(key string) bool { return slices.Contains(keys, key) })
	})
}

// SelfApprovals returns the ids of decisions that count only because proposers
// may approve. [Stand] lets them go on counting when a second person is listed, or
// the rule allowSelfApproval ends.
func (s *State) SelfApprovals() []canonical.Digest {
	if s.judge == nil {
		return nil
	}
	strict := *s.judge
	strict.selfOK, strict.verdicts = false, map[*entry]*verdict{}
	return s.effective(func(r ref) bool { return s.judge.counts(r) && !strict.counts(r) })
}

// SignedBy returns the ids of all decisions that a signer has signed, for a signer
// who must not go on counting: they are to be dropped from what stands.
func (s *State) SignedBy(name string) []canonical.Digest {
	keys := s.keysOf(name)
	var ids []canonical.Digest
	for _, id := range s.ledger.IDs() {
		if slices.ContainsFunc(s.ledger.entries[id].keys, func(key string) bool { return slices.Contains(keys, key) }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// keysOf returns the keys that name means in any version: all of a principal's, or
// one by itself or its fingerprint.
func (s *State) keysOf(name string) []string {
	if s.judge == nil {
		return nil
	}
	var keys []string
	for _, l := range s.judge.chain.links {
		for key, signer := range l.signers {
			if signer.Principal == name || key == name || fingerprint(key) == name {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// effective returns the ids of decisions that make an item what it is and that
// pick chooses, sorted.
func (s *State) effective(pick func(ref) bool) []canonical.Digest {
	var ids []canonical.Digest
	if s.judge == nil {
		return nil
	}
	for _, it := range s.Items {
		e, ok := s.outlook(it)
		if !ok {
			continue
		}
		refs := slices.Concat(e.rejected, e.lifted)
		for _, r := range []*ref{e.approved, e.disabled, e.enabled, e.paused, e.resumed} {
			if r != nil {
				refs = append(refs, *r)
			}
		}
		for _, r := range it.history.behind(refs) {
			if pick(r) {
				ids = append(ids, r.entry.id)
			}
		}
	}
	return ordered(ids, compareDigests)
}

// behind returns refs and, for a rollback among them, the decisions that approved
// its digest: without one of those it would not count.
func (h *history) behind(refs []ref) []ref {
	out := slices.Clone(refs)
	for _, r := range refs {
		if r.action() != Rollback {
			continue
		}
		for i := range h.nodes {
			n := &h.nodes[i]
			if n.effective && n.item.Digest == r.item.Digest && n.item.GatewayDigest == r.item.GatewayDigest {
				out = append(out, n.ref)
			}
		}
	}
	return out
}
