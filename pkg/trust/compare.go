package trust

import (
	"fmt"
	"path"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// A Side is one of the two trees that [CompareBase] compares.
type Side struct {
	Chain  *Chain // nil where there is no trust list
	Ledger *Ledger
	// State is the state of the lockfile in the tree; of a change it is judged by
	// the chain of the base. nil where there is no lockfile.
	State *State
}

// A Recount finds anew what decisions record of the texts that are locked.
type Recount struct {
	Proposers *Proposers
	// Grade returns the grade of a text against those of other digests, of which the
	// worst counts (see [State.Against]); ok is false where one is not at hand.
	Grade func(key surface.Key, digest canonical.Digest, against []canonical.Digest) (grade finding.Grade, ok bool)
	// Merged says that the commits are as a merge made them (see [Proposers]): then
	// a text that is not at hand was at hand where the change was judged.
	Merged bool
}

// CompareBase tells where a change goes back behind its base: trust versions and
// decisions that are lost, items whose newest decision is an older one, and
// decisions that are new and not made under the base's newest trust version, or
// record less than is found anew. What is wrong with the change by itself is
// told by [Evaluate].
func CompareBase(base, head Side, again Recount) []finding.Finding {
	c := comparison{base: base, head: head, again: again}
	if head.State != nil {
		c.folder = head.State.input.Folder
	}
	c.versions()
	c.decisions()
	if base.State != nil && head.State != nil {
		c.items()
	}
	finding.Sort(c.findings)
	return c.findings
}

type comparison struct {
	base, head Side
	again      Recount
	folder     string
	findings   []finding.Finding
}

func (c *comparison) report(code finding.Code, place finding.Place, format string, args ...any) *finding.Finding {
	c.findings = append(c.findings, finding.New(code, place, fmt.Sprintf(format, args...)))
	return &c.findings[len(c.findings)-1]
}

func (c *comparison) decisionPlace(id canonical.Digest) finding.Place {
	return finding.Place{File: path.Join(c.folder, DecisionPath(id))}
}

// versions compares the two chains.
func (c *comparison) versions() {
	place := func(n int) finding.Place { return finding.Place{File: path.Join(c.folder, VersionPath(n))} }
	switch base, head := c.base.Chain, c.head.Chain; {
	case base == nil && head == nil:
	case base == nil && !head.Pinned():
		f := c.report(finding.TrustUnpinned, place(1), "the change brings a trust list, and no trust root says that it is the right one")
		f.Grade, f.Hint = finding.Critical, "Pin it with `--trust-root` or AGENTGATEWAY_TRUST_ROOT once its digest was compared with who made it."
	case base == nil:
	case head == nil:
		c.report(finding.TrustMissing, place(1), "the base has a trust list of %d versions, and this tree has none", base.Len())
	default:
		for n := 1; n <= base.Len(); n++ {
			_, want := base.Version(n)
			_, have := head.Version(n)
			if have == want {
				continue
			}
			if have.IsZero() {
				c.report(finding.TrustLost, place(n), "trust version %d of the base is not in force here", n)
				return
			}
			c.report(finding.TrustForked, place(n), "trust version %d is %s, and %s on the base", n, have.Short(), want.Short())
			return
		}
	}
}

// decisions compares the two ledgers.
func (c *comparison) decisions() {
	if c.base.Ledger != nil {
		for _, id := range c.base.Ledger.IDs() {
			c.kept(id)
		}
	}
	if c.head.Ledger == nil {
		return
	}
	for _, id := range c.head.Ledger.IDs() {
		if c.base.Ledger == nil || c.base.Ledger.entries[id] == nil {
			c.added(c.head.Ledger.entries[id])
		}
	}
}

// worthless reports a decision of this lockfile that could never count for any of
// its items.
func (s *State) worthless(e *entry) bool {
	if s == nil || s.judge == nil {
		return false
	}
	st := &e.decision.Statement
	if code, _ := s.judge.foreign(st); code != "" {
		return false
	}
	for i := range st.Items {
		if s.judge.couldEver(ref{entry: e, item: &st.Items[i]}) {
			return false
		}
	}
	return true
}

// kept holds that a decision of the base is there, with all its signatures, and
// with no further one after it was overtaken.
func (c *comparison) kept(id canonical.Digest) {
	before := c.base.Ledger.entries[id]
	if c.base.State.worthless(before) {
		return // it may go
	}
	var now *entry
	if c.head.Ledger != nil {
		now = c.head.Ledger.entries[id]
	}
	if now == nil {
		c.report(finding.DecisionLost, c.decisionPlace(id), "decision %s of the base is missing or not valid", id.Short())
		return
	}
	for _, key := range before.keys {
		if !slices.Contains(now.keys, key) {
			c.report(finding.DecisionLost, c.decisionPlace(id), "decision %s lacks the signature by %s that it has on the base", id.Short(), fingerprint(key))
			return
		}
	}
	if len(now.keys) > len(before.keys) && c.base.State != nil {
		c.overtaken(before)
	}
}

// overtaken reports a signature that was added to a decision which, on the base,
// did not count for an item and had been overtaken.
func (c *comparison) overtaken(e *entry) {
	for i := range e.decision.Statement.Items {
		key := e.decision.Statement.Items[i].Key
		it := c.base.State.Item(key)
		if it == nil {
			continue
		}
		if n := it.history.node(e.id); n != nil && !n.counts && n.overtaken {
			c.report(finding.DecisionOvertaken, c.decisionPlace(e.id), "decision %s was signed after a later one had overtaken it", e.id.Short())
			return
		}
	}
}

// added judges a decision that the base lacks.
func (c *comparison) added(e *entry) {
	st := &e.decision.Statement
	chain := c.base.Chain
	if chain == nil {
		chain = c.head.Chain
	}
	if chain == nil || c.head.State == nil || st.Lockfile != c.head.State.input.Path {
		return
	}
	if st.Trust != chain.Digest() {
		c.report(finding.DecisionOutdated, c.decisionPlace(e.id), "decision %s names the trust version %s, and the newest of the base is %s", e.id.Short(), st.Trust.Short(), chain.Digest().Short())
	}
	if actions[st.Action].gives {
		c.recount(e)
	}
}

// recount finds again what a new decision records of its texts, whether they are
// locked or not and whether it counts yet or not: once it is on the base, what it
// records is taken.
func (c *comparison) recount(e *entry) {
	s := c.head.State
	for i := range e.decision.Statement.Items {
		r := ref{entry: e, item: &e.decision.Statement.Items[i]}
		it := s.Item(r.item.Key)
		if it == nil || r.item.Digest.IsZero() || s.judge == nil {
			continue
		}
		c.recountProposers(r, it)
		n := it.history.node(e.id)
		never := n != nil && n.overtaken && !n.counts
		if r.action().puts() && c.again.Grade != nil && !never {
			c.regrade(r, it)
		}
	}
}

func (c *comparison) recountProposers(r ref, it *ItemState) {
	if r.action() == Rollback {
		return
	}
	j := c.head.State.judge
	for _, person := range c.again.Proposers.of(j, r) {
		recorded := func(name string) bool { return name == person || j.chain.Person(name) == person }
		if !slices.ContainsFunc(r.item.Proposers, recorded) {
			c.report(finding.ProposerMissing, c.head.State.place(it), "decision %s does not name %s, who brought this text in", r.entry.id.Short(), textcheck.Quote(person, textcheck.QuoteLength))
		}
	}
}

// regrade holds that the recorded grade is not below the one that is found. A text
// that is not at hand makes it critical where that asks for more signatures.
func (c *comparison) regrade(r ref, it *ItemState) {
	s := c.head.State
	grade, ok := c.again.Grade(r.item.Key, r.item.Digest, s.Against(r.item.Key, r.entry.id))
	if grade <= r.item.Grade || !ok && (c.again.Merged || !s.judge.criticalNeedsMore()) {
		return
	}
	f := c.report(finding.GradeUnderstated, s.place(it), "decision %s records the grade %s, and the change is %s", r.entry.id.Short(), r.item.Grade, grade)
	if !ok {
		f.Detail = "A text that was in force before is not at hand, so the change cannot be graded; a clone with the whole history may have it."
	}
}

// items holds that the newest decision of every item is the base's or one after
// it.
func (c *comparison) items() {
	for _, before := range c.base.State.Items {
		if before.Decision.IsZero() {
			continue
		}
		now := c.head.State.Item(before.Key)
		switch {
		case now == nil:
			place := finding.PlaceOf(before.Key)
			place.File = c.head.State.lockfilePath()
			c.report(finding.ItemDropped, place, "it is decided on the base, and the lockfile does not hold it")
		case now.history.code != finding.DecisionLost && now.serial() < before.serial():
			c.report(finding.SerialLowered, c.head.State.place(now), "its newest decision is %s with the serial %d, and on the base %s with %d",
				shortOrNone(now.Decision), now.serial(), before.Decision.Short(), before.serial())
		}
	}
}

// serial is that of the newest decision, as the lockfile names it; 0 for none.
func (it *ItemState) serial() int64 {
	if n := len(it.history.nodes); n > 0 {
		return it.history.nodes[n-1].item.Serial
	}
	return 0
}

func shortOrNone(d canonical.Digest) string {
	if d.IsZero() {
		return "none"
	}
	return d.Short()
}
