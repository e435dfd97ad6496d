package trust

import (
	"cmp"
	"fmt"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// history is the chain of decisions about one item, as far as it can be followed.
type history struct {
	key   surface.Key
	nodes []node // by serial
	live  []ref  // decisions that have a place in it
	ends  []ref  // those of them that no other names as previous
	// code is empty where the chain is whole; else nothing is in force, and detail
	// says why.
	code   finding.Code
	detail string
	final  effect
}

// node is one decision of a history.
type node struct {
	ref
	counts bool
	// effective says that it counts and has put its digest in force.
	effective bool
	// overtaken says that a decision that counts came after it.
	overtaken bool
	after     effect
}

// effect is what decisions have done to an item.
type effect struct {
	approved *ref  // what is in force
	rejected []ref // whose digests are barred, newest last
	lifted   []ref // approvals that ended a bar of their digest
	disabled *ref
	enabled  *ref // what ended the last disable
	paused   *ref
	resumed  *ref // what ended the last pause

	// What a new text is graded against, whatever was decided since: at each end of
	// the chain the text that was in force last, the one that as many persons signed
	// last as a critical change needs, and the first that was in force.
	last, agreed, first []ref
}

// follow walks the chain from the decision that the lockfile names.
func (j *judge) follow(l *Ledger, key surface.Key, head canonical.Digest) history {
	h := history{key: key}
	heads := j.heads(l, key, head)
	h.live = j.live(l, key, heads)
	if len(heads) == 0 && len(h.live) == 0 {
		return h
	}
	h.ends = ends(h.live)
	h.code, h.detail = j.walk(l, &h, heads)
	switch {
	case h.code != "":
	case len(h.nodes) < len(h.live):
		h.code = finding.DecisionForked
		h.detail = fmt.Sprintf("%d of %s about it are not reached from the one the lockfile names", len(h.live)-len(h.nodes), textcheck.Count(len(h.live), "decision"))
	case len(h.ends) > 1:
		h.code, h.detail = finding.DecisionForked, "the decision that the lockfile names joins several, and nobody signed it who may decide about it"
	}
	if h.code == "" {
		h.fold(j)
		h.final = h.nodes[len(h.nodes)-1].after
	}
	return h
}

// outlook is what a new decision starts from: the final effect, and for a fork,
// which it heals by naming all ends, what all of them bar. ok is false for a
// history that no decision can heal.
func (j *judge) outlook(h *history) (e effect, ok bool) {
	found := h.live
	if h.code != finding.DecisionForked {
		return h.final, h.code == ""
	}
	all := history{nodes: make([]node, len(found))}
	serials := make(map[canonical.Digest]int64, len(found))
	for i, r := range found {
		all.nodes[i].ref = r
		serials[r.entry.id] = r.item.Serial
	}
	if all.order(serials) != nil {
		return effect{}, false
	}
	all.fold(j)
	for i, r := range h.ends {
		if after := all.node(r.entry.id).after; i == 0 {
			e = after
		} else {
			e = e.merge(&after)
		}
	}
	e.approved = nil
	return e, true
}

// ends returns the decisions that no other of the list names as previous.
func ends(found []ref) []ref {
	if len(found) == 1 {
		return found
	}
	named := make(map[canonical.Digest]bool, len(found))
	for _, r := range found {
		for _, id := range r.item.Previous {
			named[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(r ref) bool { return named[r.entry.id] })
}

// walk collects every decision reached from the heads, each once.
func (j *judge) walk(l *Ledger, h *history, heads []canonical.Digest) (finding.Code, string) {
	if len(heads) == 0 {
		return finding.DecisionForked, "there are decisions about it, and the lockfile names none"
	}
	serials := map[canonical.Digest]int64{}
	for open := slices.Clone(heads); len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if _, seen := serials[id]; seen {
			continue
		}
		r, code, detail := j.link(l, h.key, id)
		if code != "" {
			return code, detail
		}
		serials[id] = r.item.Serial
		h.nodes = append(h.nodes, node{ref: r})
		open = append(open, r.item.Previous...)
	}
	if err := h.order(serials); err != nil {
		return finding.ItemConflict, err.Error()
	}
	return "", ""
}

// order sorts the nodes by serial, and holds that serials rise by one from what
// each names as previous.
func (h *history) order(serials map[canonical.Digest]int64) error {
	slices.SortFunc(h.nodes, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.item.Serial, b.item.Serial), compareDigests(a.entry.id, b.entry.id))
	})
	for _, n := range h.nodes {
		var last int64
		for _, id := range n.item.Previous {
			serial, ok := serials[id]
			if !ok {
				return fmt.Errorf("decision %s is missing", id.Short())
			}
			last = max(last, serial)
		}
		if n.item.Serial != last+1 {
			return fmt.Errorf("decision %s has the serial %d, and follows one with %d", n.entry.id.Short(), n.item.Serial, last)
		}
	}
	return nil
}

// link returns what the decision of that id says of an item.
func (j *judge) link(l *Ledger, key surface.Key, id canonical.Digest) (ref, finding.Code, string) {
	e := l.entries[id]
	if e == nil {
		return ref{}, finding.DecisionLost, fmt.Sprintf("decision %s is missing or not valid", id.Short())
	}
	if code, detail := j.foreign(&e.decision.Statement); code != "" {
		return ref{}, code, fmt.Sprintf("decision %s: %s", id.Short(), detail)
	}
	r, ok := e.of(key)
	if !ok {
		return ref{}, finding.DecisionForeign, fmt.Sprintf("decision %s says nothing about it", id.Short())
	}
	return r, "", ""
}

// fold lets the decisions take effect one after the other. One that names several
// as previous starts from what all of them bar and from nothing approved.
func (h *history) fold(j *judge) {
	at := make(map[canonical.Digest]int, len(h.nodes))
	for i := range h.nodes {
		n := &h.nodes[i]
		at[n.entry.id] = i
		for p, id := range n.item.Previous {
			if before := &h.nodes[at[id]].after; p == 0 {
				n.after = *before
			} else {
				n.after = n.after.merge(before)
			}
		}
		if len(n.item.Previous) > 1 {
			n.after.approved = nil
		}
		n.fresh = len(n.after.last) == 0
		if n.counts = j.counts(n.ref) && (n.action() != Rollback || h.approvedBefore(at, n)); n.counts {
			n.after.apply(&n.ref)
			n.effective = n.after.approved == &n.ref
			n.after.remember(&n.ref, j)
		}
	}
	for _, n := range slices.Backward(h.nodes) {
		if n.counts || h.nodes[at[n.entry.id]].overtaken {
			for _, id := range n.item.Previous {
				h.nodes[at[id]].overtaken = true
			}
		}
	}
}

// approvedBefore reports whether a decision before a rollback has put the digest in
// force that it goes back to; one that counted while the item was disabled has not. Proposers may go back, since the text was
// approved by others; so a rollback puts nothing in force that never was.
func (h *history) approvedBefore(at map[canonical.Digest]int, n *node) bool {
	seen := map[canonical.Digest]bool{}
	for next := slices.Clone(n.item.Previous); len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		before := &h.nodes[at[id]]
		if before.effective && before.item.Digest == n.item.Digest && before.item.GatewayDigest == n.item.GatewayDigest {
			return true
		}
		next = append(next, before.item.Previous...)
	}
	return false
}

// merge joins the effects of two ends of a fork: what either bars is barred.
func (e effect) merge(o *effect) effect {
	e.rejected = union(e.rejected, o.rejected)
	e.lifted = union(e.lifted, o.lifted)
	e.disabled, e.enabled = bar(e.disabled, e.enabled, o.disabled, o.enabled)
	e.paused, e.resumed = bar(e.paused, e.resumed, o.paused, o.resumed)
	e.last, e.agreed, e.first = union(e.last, o.last), union(e.agreed, o.agreed), union(e.first, o.first)
	return e
}

// union joins two lists, each decision once: the ends of a fork share what was
// before it.
func union(a, b []ref) []ref {
	if len(a) == 0 || len(b) == 0 {
		return slices.Concat(a, b)
	}
	there := make(map[*entry]bool, len(a))
	for _, r := range a {
		there[r.entry] = true
	}
	out := slices.Clone(a)
	for _, r := range b {
		if !there[r.entry] {
			out = append(out, r)
		}
	}
	return out
}

func bar(barred, lifted, otherBarred, otherLifted *ref) (*ref, *ref) {
	if barred == nil {
		barred = otherBarred
	}
	if lifted == nil {
		lifted = otherLifted
	}
	return barred, lifted
}

// apply lets a decision that counts take effect.
func (e *effect) apply(r *ref) {
	digest := r.item.Digest
	switch r.action() {
	case Approve, Rollback:
		if e.disabled == nil {
			e.approved = r
			if e.bars(digest) != nil {
				e.rejected = slices.DeleteFunc(slices.Clone(e.rejected), func(o ref) bool { return o.item.Digest == digest })
				e.lifted = append(slices.Clip(e.lifted), *r)
			}
		}
	case Reject:
		if e.approved != nil && e.approved.item.Digest == digest {
			e.approved = nil
		}
		e.rejected = append(slices.Clip(e.rejected), *r)
	case Disable:
		e.approved, e.disabled, e.enabled = nil, r, nil
	case Enable:
		e.disabled, e.enabled = nil, r
	case Pause:
		e.paused, e.resumed = r, nil
	case Resume:
		e.paused, e.resumed = nil, r
	}
}

// remember keeps a decision that has just put its digest in force as what later
// texts are graded against.
func (e *effect) remember(r *ref, j *judge) {
	if e.approved != r {
		return
	}
	one := []ref{*r}
	e.last = one
	if j.agreed(*r) {
		e.agreed = one
	}
	if len(e.first) == 0 {
		e.first = one
	}
}

// against lists the digests that a new text is graded against, each once; none
// where nothing has ever been in force.
func (e *effect) against() []canonical.Digest {
	refs := slices.Concat(e.last, e.agreed)
	if len(e.agreed) == 0 {
		refs = slices.Concat(refs, e.first)
	}
	digests := make([]canonical.Digest, len(refs))
	for i, r := range refs {
		digests[i] = r.item.Digest
	}
	return ordered(digests, compareDigests)
}

// before is the effect of all that a decision names as previous.
func (h *history) before(n *node) (e effect) {
	for i, id := range n.item.Previous {
		switch p := h.node(id); {
		case p == nil:
		case i == 0:
			e = p.after
		default:
			e = e.merge(&p.after)
		}
	}
	return e
}

// bars returns the newest decision that bars a digest.
func (e *effect) bars(digest canonical.Digest) *ref {
	for i, r := range slices.Backward(e.rejected) {
		if r.item.Digest == digest {
			return &e.rejected[i]
		}
	}
	return nil
}

// node returns what the history holds of the decision of that id, or nil.
func (h *history) node(id canonical.Digest) *node {
	i := slices.IndexFunc(h.nodes, func(n node) bool { return n.entry.id == id })
	if i < 0 {
		return nil
	}
	return &h.nodes[i]
}
