package audit

import (
	"cmp"
	"context"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// items holds that new decisions can count, and that every decision about an item
// which the commit touches stands in the item's chain.
func (t *trial) items(ctx context.Context) error {
	keys := t.touched()
	if len(keys) == 0 && len(t.fresh) == 0 {
		return nil
	}
	ids := append(t.idsAbout(keys), t.fresh...)
	state, ledger, err := t.evaluate(ctx, t.at, t.chain, t.lock, keys, ids)
	if err != nil {
		return err
	}
	if v := t.newDecisions(state, ledger); v != nil {
		return v
	}
	return t.chainsOf(ctx, keys, state, ledger)
}

// touched lists the items that the commit makes differ from every parent: by what
// the lockfile says of them, or by the decisions about them.
func (t *trial) touched() []surface.Key {
	var keys map[surface.Key]bool
	for k := range t.parents {
		differ := map[surface.Key]bool{}
		if t.locks[k] != t.lock {
			t.lock.diff(t.locks[k], differ)
		}
		for id := range t.changed[k] {
			for _, key := range t.keysOf(id) {
				differ[key] = true
			}
		}
		if keys == nil {
			keys = differ
			continue
		}
		for key := range keys {
			if !differ[key] {
				delete(keys, key)
			}
		}
	}
	list := make([]surface.Key, 0, len(keys))
	for key := range keys {
		list = append(list, key)
	}
	slices.SortFunc(list, surface.Key.Compare)
	return list
}

// keysOf lists the items of this lockfile that a decision is about.
func (t *trial) keysOf(id canonical.Digest) []surface.Key {
	d := t.lib.known.Decision(id)
	if d == nil || d.Statement.Lockfile != t.lib.layout.lockfile {
		return nil
	}
	keys := make([]surface.Key, len(d.Statement.Items))
	for i := range d.Statement.Items {
		keys[i] = d.Statement.Items[i].Key
	}
	return keys
}

// diff adds the items of which two lockfiles say different things.
func (l *lock) diff(other *lock, into map[surface.Key]bool) {
	for key, it := range l.items {
		if o, there := other.items[key]; !there || o != it {
			into[key] = true
		}
	}
	for key := range other.items {
		if _, there := l.items[key]; !there {
			into[key] = true
		}
	}
}

// evaluate tells the state of some items by some decisions, as they stand at a
// point.
func (t *trial) evaluate(ctx context.Context, p *point, chain *trust.Chain, l *lock, keys []surface.Key, ids []canonical.Digest) (*trust.State, *trust.Ledger, error) {
	slices.SortFunc(ids, func(a, b canonical.Digest) int { return slices.Compare(a[:], b[:]) })
	ledger, err := t.lib.ledger(ctx, p, slices.Compact(ids))
	if err != nil {
		return nil, nil, err
	}
	state := trust.Evaluate(trust.Input{
		Chain: chain, Ledger: ledger, Lockfile: l.part(keys),
		Path: t.lib.layout.lockfile, Folder: t.lib.layout.folder, Now: t.now,
	})
	return state, ledger, nil
}

// part returns the lockfile without the items that keys does not name. Every
// server that has one is there, with its target.
func (l *lock) part(keys []surface.Key) *lockfile.File {
	f := *l.file
	f.Servers = nil
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n].Server == keys[0].Server {
			n++
		}
		if s := l.file.Server(keys[0].Server); s != nil {
			f.Servers = append(f.Servers, partOf(s, keys[:n]))
		}
		keys = keys[n:]
	}
	return &f
}

func partOf(s *lockfile.Server, keys []surface.Key) *lockfile.Server {
	part := &lockfile.Server{
		Name: s.Name, Target: s.Target, Covers: s.Covers, Skipped: s.Skipped, Decision: s.Decision, Absent: s.Absent, Line: s.Line, SourceLine: s.SourceLine,
		Lists: map[surface.Kind][]lockfile.Item{},
	}
	for _, key := range keys {
		switch key.Kind {
		case surface.KindServer:
		case surface.KindSource:
			part.Source, part.SourceDecision = s.Source, s.SourceDecision
		case surface.KindInstructions:
			part.Instructions = s.Instructions
		default:
			if it := s.Item(key.Kind, key.Name); it != nil {
				part.Lists[key.Kind] = append(part.Lists[key.Kind], *it)
			}
			for _, r := range s.Refused {
				if r.Kind == key.Kind && r.Name == key.Name {
					part.Refused = append(part.Refused, r)
				}
			}
		}
	}
	return part
}

// worthless are the codes of decisions that can never count.
var worthless = map[finding.Code]bool{finding.StatementForeign: true, finding.DecisionInvalid: true, finding.DecisionFuture: true}

// newDecisions holds that each new decision is valid, and made here, under a
// version in force, by somebody who is listed.
func (t *trial) newDecisions(state *trust.State, ledger *trust.Ledger) *Violation {
	for _, bad := range ledger.Invalid() {
		return t.breaks(finding.DecisionInvalid, bad.Path, "%v", bad.Err)
	}
	if len(t.fresh) == 0 {
		return nil
	}
	findings := state.Findings
	for _, other := range t.otherLockfiles(ledger) {
		findings = slices.Concat(findings, trust.Evaluate(trust.Input{
			Chain: t.chain, Ledger: ledger, Lockfile: noLock.file, Path: other, Folder: t.lib.layout.folder, Now: t.now,
		}).Findings)
	}
	files := make(map[string]canonical.Digest, len(t.fresh))
	for _, id := range t.fresh {
		files[t.lib.layout.in(trust.DecisionPath(id))] = id
	}
	for _, f := range findings {
		if id, ok := files[f.Place.File]; ok && worthless[f.Code] {
			return t.breaks(f.Code, trust.DecisionPath(id), "%s", f.Summary)
		}
	}
	for _, id := range t.fresh {
		if !t.standsBy(id, ledger.Keys(id)) {
			return t.breaks(finding.SignerUnknown, trust.DecisionPath(id), "decision %s is signed by nobody who is an approver in trust version %d", id.Short(), t.chain.Len())
		}
	}
	return nil
}

// otherLockfiles lists further lockfiles that fresh decisions are about.
func (t *trial) otherLockfiles(ledger *trust.Ledger) []string {
	var others []string
	for _, id := range t.fresh {
		if d := ledger.Decision(id); d != nil && d.Statement.Repository == t.chain.Repository() &&
			d.Statement.Lockfile != t.lib.layout.lockfile && !slices.Contains(others, d.Statement.Lockfile) {
			others = append(others, d.Statement.Lockfile)
		}
	}
	return others
}

// standsBy reports whether one of the keys is an approver's, or was and the
// decision stands.
func (t *trial) standsBy(id canonical.Digest, keys []string) bool {
	first := t.chain.Len()
	if slices.Contains(t.chain.Current().Signed.Stands, id) {
		first = 1
	}
	listed := listedIn(t.chain, first)
	return slices.ContainsFunc(keys, func(key string) bool {
		s := listed(key)
		return s != nil && slices.Contains(s.Roles, trust.Approver)
	})
}

// lockedTrust holds that the trust version a new lockfile names is in force.
func (t *trial) lockedTrust(context.Context) error {
	named := t.lock.file.Trust
	if slices.Contains(t.locks, t.lock) || named.IsZero() || t.chain != nil && t.chain.Contains(named) {
		return nil
	}
	return t.breaks(finding.TrustLost, t.lib.layout.lockfile, "the lockfile names the trust version %s, which is not in force", named.Short())
}

// chainsOf holds that the decisions about each item form one chain. What was wrong
// in a parent in the same way is not this commit's doing.
func (t *trial) chainsOf(ctx context.Context, keys []surface.Key, state *trust.State, ledger *trust.Ledger) error {
	wrong := t.brokenChains(keys, state, ledger)
	if len(wrong) == 0 {
		return nil
	}
	keys = slices.DeleteFunc(keys, func(key surface.Key) bool { return wrong[key] == "" })
	before := make([]map[surface.Key]finding.Code, len(t.parents))
	for k, p := range t.parents {
		if t.chains[k] == nil {
			continue
		}
		parent, ledger, err := t.evaluate(ctx, p, t.chains[k], t.locks[k], keys, t.idsAbout(keys))
		if err != nil {
			return err
		}
		before[k] = t.brokenChains(keys, parent, ledger)
	}
	for _, key := range keys {
		code := wrong[key]
		detail := "it was decided, and the lockfile does not hold it"
		if st := state.Item(key); st != nil {
			detail = st.Why
		}
		switch {
		case slices.ContainsFunc(before, func(codes map[surface.Key]finding.Code) bool { return codes[key] == code }):
		case code == finding.DecisionForked && t.decidedHere(key):
			t.out.conflicts = append(t.out.conflicts, Conflict{Commit: t.node.ID, Item: key, Detail: detail})
		default:
			v := t.breaks(code, t.lib.layout.lockfile, "%s", detail)
			v.Item = &key
			return v
		}
	}
	return nil
}

// brokenChains tells for which items the decisions form no chain, or the lockfile
// holds no entry, and why.
func (t *trial) brokenChains(keys []surface.Key, state *trust.State, ledger *trust.Ledger) map[surface.Key]finding.Code {
	codes := map[surface.Key]finding.Code{}
	for _, f := range state.Findings {
		key := f.Place.Item()
		switch f.Code {
		case finding.DecisionLost, finding.DecisionForked, finding.DecisionForeign, finding.StatementForeign, finding.ItemConflict:
			codes[key] = f.Code
		}
	}
	wrong := map[surface.Key]finding.Code{}
	for _, key := range keys {
		switch st := state.Item(key); {
		case st == nil && t.decided(ledger, key):
			wrong[key] = finding.ItemDropped
		case st != nil && st.Status == trust.Conflict:
			wrong[key] = cmp.Or(codes[key], finding.ItemConflict)
		}
	}
	return wrong
}

// idsAbout lists all decisions of the history about some items.
func (t *trial) idsAbout(keys []surface.Key) []canonical.Digest {
	var ids []canonical.Digest
	for _, key := range keys {
		ids = append(ids, t.lib.about[key]...)
	}
	return ids
}

// decided reports whether a decision of the ledger is about an item.
func (t *trial) decided(ledger *trust.Ledger, key surface.Key) bool {
	return slices.ContainsFunc(t.lib.about[key], func(id canonical.Digest) bool { return ledger.Decision(id) != nil })
}

// decidedHere reports whether the commit brings a decision about an item that one
// of its parents lacks: the ends of a chain have met.
func (t *trial) decidedHere(key surface.Key) bool {
	return slices.ContainsFunc(t.changed, func(ids map[canonical.Digest]bool) bool {
		return slices.ContainsFunc(t.lib.about[key], func(id canonical.Digest) bool { return ids[id] })
	})
}

// lateSignatures holds that no signature is added to a decision that a later one
// has overtaken in the parent.
func (t *trial) lateSignatures(ctx context.Context) error {
	for k, p := range t.parents {
		if t.chains[k] == nil {
			continue
		}
		var keys []surface.Key
		var ids []canonical.Digest
		for _, c := range t.decisions[k] {
			id, ok := trust.ParseDecisionPath(c.Path)
			if ok && !c.Before.ID.IsZero() && c.Before.ID != c.After.ID {
				ids = append(ids, id)
				keys = append(keys, t.keysOf(id)...)
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.SortFunc(keys, surface.Key.Compare)
		keys = slices.Compact(keys)
		ids = append(ids, t.idsAbout(keys)...)
		base, before, err := t.evaluate(ctx, p, t.chains[k], t.locks[k], keys, slices.Clone(ids))
		if err != nil {
			return err
		}
		after, err := t.lib.ledger(ctx, t.at, ids)
		if err != nil {
			return err
		}
		for _, f := range trust.CompareBase(trust.Side{Chain: t.chains[k], Ledger: before, State: base}, trust.Side{Chain: t.chain, Ledger: after}, trust.Recount{}) {
			if f.Code == finding.DecisionOvertaken {
				return t.breaks(f.Code, f.Place.File, "%s", f.Summary)
			}
		}
	}
	return nil
}
