package trust

import (
	"cmp"
	"slices"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// A Status is the state of an item, as it is shown to people.
type Status string

// The statuses. A server is Approved where nothing bars it.
const (
	Approved Status = "approved" // the locked digest is in force
	Changed  Status = "changed"  // another digest is in force
	New      Status = "new"      // nothing is in force
	Rejected Status = "rejected" // the locked digest is barred
	Disabled Status = "disabled" // nothing can be in force until it is enabled
	Refused  Status = "refused"  // the definition is refused by a rule
	Absent   Status = "absent"   // no longer listed or configured
	Conflict Status = "conflict" // its decisions do not form one chain
	Paused   Status = "paused"   // of a server
)

// Input is what [Evaluate] judges.
type Input struct {
	// Chain judges; nil where there is no trust list. For a change it is the
	// chain of the base.
	Chain *Chain
	// Tree is the chain that stands beside the lockfile, where it is another one
	// than Chain.
	Tree     *Chain
	Ledger   *Ledger // nil for an empty one
	Lockfile *lockfile.File
	Path     string // the lockfile's, from the folder that holds .agentgateway, with slashes
	Folder   string // the folder that holds .agentgateway, from the repository's root, with slashes; for places of findings
	Now      time.Time
	// Proposers find again who brought texts in, beside those that decisions record;
	// nil where nobody is asked.
	Proposers *Proposers
}

// A State is what is decided about every item of a lockfile. Its fields may be
// read by many at once; its methods are for one at a time.
type State struct {
	// Unsigned says that there is no trust list, so that what is locked counts as
	// approved.
	Unsigned bool
	// Items holds the items of the lockfile, sorted by key. Every server has one of
	// its own kind.
	Items []*ItemState
	// Findings tells what is wrong, and what is worth a note.
	Findings []finding.Finding

	input  Input
	judge  *judge // nil without a trust list
	byKey  map[surface.Key]*ItemState
	ledger *Ledger
}

// InForce is the text that a decision put in force.
type InForce struct {
	Digest        canonical.Digest
	GatewayDigest canonical.Digest
	Decision      canonical.Digest // zero in an unsigned repository
	By            []string         // the persons who approved
	At            time.Time
}

// A Pending decision lacks signatures.
type Pending struct {
	Decision      canonical.Digest
	Action        Action
	Digest        canonical.Digest
	GatewayDigest canonical.Digest
	Tally         Tally
}

// An ItemState is what is decided about one item.
type ItemState struct {
	surface.Key
	Status Status
	// Digest and GatewayDigest are what the lockfile holds.
	Digest, GatewayDigest canonical.Digest
	Line                  int              // in the lockfile, from 1
	Decision              canonical.Digest // the newest, as the lockfile names it
	InForce               *InForce         // nil for nothing
	// Pending holds decisions without enough signatures that nothing overtook,
	// newest first.
	Pending []Pending
	// RejectedBefore holds the ids of decisions that rejected the locked digest,
	// of this or any other item.
	RejectedBefore []canonical.Digest
	SelfApproved   bool // one who proposed what is in force is among those who approved it
	Expired        bool // what is in force is older than the rule maxAge allows
	Why            string

	// Last is the digest that was in force last, whatever was decided since, such as
	// that it is disabled; zero where nothing has ever been in force. Of a fork it
	// is that of the newest end.
	Last canonical.Digest

	gone    Status // Absent or Refused, as the lockfile says; else empty
	history history
}

// Text is the text that the lockfile holds.
func (it *ItemState) Text() Text { return Text{it.Key, it.Digest, it.GatewayDigest} }

// Passes reports whether the gate lets the item pass; enforced is the rule of that
// name.
func (it *ItemState) Passes(enforced bool) bool {
	switch it.Status {
	case Approved, Disabled, Absent, Refused, Paused:
		return true
	case Rejected:
		return enforced
	}
	return false
}

// Item returns the state of an item, or nil.
func (s *State) Item(key surface.Key) *ItemState { return s.byKey[key] }

// Paused reports whether a server may not be used at all: it is paused, or what
// was decided about that is in conflict.
func (s *State) Paused(server string) bool {
	it := s.byKey[surface.Key{Server: server, Kind: surface.KindServer}]
	return it != nil && (it.Status == Paused || it.Status == Conflict)
}

// Evaluate tells the state of every item of a lockfile. What the lockfile says of
// itself is not judged here: its hashes are checked by pkg/lockfile.
func Evaluate(in Input) *State {
	s := &State{input: in, ledger: in.Ledger}
	if s.ledger == nil {
		s.ledger = &Ledger{}
	}
	s.list()
	switch {
	case in.Chain != nil:
		s.judge = newJudge(in.Chain, in.Path, in.Now)
		s.judge.proposers = in.Proposers
		s.judge.targets = make(map[string]string, len(in.Lockfile.Servers))
		for _, server := range in.Lockfile.Servers {
			s.judge.targets[server.Name] = server.TargetName()
		}
		s.decide()
	case s.decided():
		for _, it := range s.Items {
			it.Status = cmp.Or(it.Status, New)
			it.Why = "decisions need the trust list that is missing"
		}
	default:
		s.unsigned()
	}
	s.find()
	return s
}

// list makes an item of everything that is decided by itself. What is absent or
// refused has its status already.
func (s *State) list() {
	s.byKey = map[surface.Key]*ItemState{}
	for locked := range s.input.Lockfile.Items() {
		it := &ItemState{Key: locked.Key, Digest: locked.Digest, GatewayDigest: locked.GatewayDigest, Line: locked.Line}
		if locked.Decision != nil {
			it.Decision = *locked.Decision
		}
		switch {
		case locked.Rule != "":
			it.Status, it.Why = Refused, "refused by the rule "+string(locked.Rule)
		case locked.Absent:
			it.Status = Absent
		}
		s.Items = append(s.Items, it)
		s.byKey[it.Key] = it
	}
	slices.SortFunc(s.Items, func(a, b *ItemState) int { return a.Compare(b.Key) })
}

// decided reports whether the repository has any decision, and so is never
// unsigned.
func (s *State) decided() bool {
	return s.ledger.Len() > 0 || len(s.ledger.invalid) > 0 || !s.input.Lockfile.Trust.IsZero() || s.input.Tree != nil ||
		slices.ContainsFunc(s.Items, func(it *ItemState) bool { return !it.Decision.IsZero() })
}

// unsigned takes what is locked for approved.
func (s *State) unsigned() {
	s.Unsigned = true
	for _, it := range s.Items {
		if it.Status != "" {
			continue
		}
		it.Status = Approved
		it.Why = "locked; there is no trust list"
		if it.Kind != surface.KindServer {
			it.InForce = &InForce{Digest: it.Digest, GatewayDigest: it.GatewayDigest}
		}
	}
}

// decide follows the decisions about every item.
func (s *State) decide() {
	rejected := s.rejections()
	for _, it := range s.Items {
		it.gone = it.Status
		it.history = s.judge.follow(s.ledger, it.Key, it.Decision)
		s.conclude(it)
		if !it.Digest.IsZero() {
			it.RejectedBefore = rejected[it.Digest]
		}
	}
}

// rejections maps a digest to the decisions by which an approver rejected it, under
// whatever name and for whatever lockfile.
func (s *State) rejections() map[canonical.Digest][]canonical.Digest {
	rejected := map[canonical.Digest][]canonical.Digest{}
	for _, id := range s.ledger.IDs() {
		e := s.ledger.entries[id]
		if e.decision.Statement.Action != Reject || e.decision.Statement.Repository != s.input.Chain.Repository() {
			continue
		}
		of := *s.judge
		of.lockfile, of.verdicts = e.decision.Statement.Lockfile, map[*entry]*verdict{}
		for i := range e.decision.Statement.Items {
			if it := &e.decision.Statement.Items[i]; of.counts(ref{entry: e, item: it}) {
				rejected[it.Digest] = append(rejected[it.Digest], id)
			}
		}
	}
	return rejected
}

// conclude turns the history of an item into its state.
func (s *State) conclude(it *ItemState) {
	h := &it.history
	if e, ok := s.outlook(it); ok {
		for i, r := range e.last {
			if i == 0 || r.item.Serial > e.last[i-1].item.Serial {
				it.Last = r.item.Digest
			}
		}
	}
	if h.code != "" {
		it.Status, it.Why = Conflict, h.detail
		return
	}
	if r := h.final.approved; r != nil {
		it.InForce = s.inForce(r)
		it.SelfApproved = s.selfApproved(r)
		age := s.judge.chain.Current().Signed.Rules.MaxAge
		it.Expired = age > 0 && s.input.Now.After(it.InForce.At.Add(time.Duration(age)*time.Second))
	}
	s.pending(it)
	if it.Status != "" {
		return
	}
	it.Status, it.Why = status(it)
}

// status is the state of an item that is listed and whose chain is whole.
func status(it *ItemState) (Status, string) {
	final := &it.history.final
	switch bar := final.bars(it.Digest); {
	case it.Kind == surface.KindServer && final.paused != nil:
		return Paused, "paused by decision " + final.paused.entry.id.Short()
	case it.Kind == surface.KindServer:
		return Approved, "nothing bars it"
	case final.disabled != nil:
		return Disabled, "disabled by decision " + final.disabled.entry.id.Short()
	case it.InForce != nil && it.InForce.Digest == it.Digest && it.InForce.GatewayDigest == it.GatewayDigest:
		return Approved, "approved by decision " + it.InForce.Decision.Short()
	case bar != nil:
		return Rejected, "rejected by decision " + bar.entry.id.Short()
	case it.InForce != nil && it.InForce.Digest == it.Digest:
		return Changed, "the gateway digest is another than decision " + it.InForce.Decision.Short() + " approved"
	case it.InForce != nil:
		return Changed, "decision " + it.InForce.Decision.Short() + " approved another text"
	case it.Digest.IsZero():
		return New, "the lockfile holds no digest of it; run agentgateway lock"
	case it.Decision.IsZero():
		return New, "nobody has decided about it"
	}
	return New, "no decision about it puts anything in force"
}

// outlook is what a new decision about an item starts from; see judge.outlook.
func (s *State) outlook(it *ItemState) (effect, bool) {
	return s.judge.outlook(&it.history)
}

// Against returns the digests that a text of an item is graded against, of which
// the worst grade counts: at each end of the item's chain the one that was in
// force last, whatever was decided since; and the one that as many persons as
// thresholds.critical asks for approved last, or else the first that was in
// force. None means that nothing has ever been in force. decision is that whose
// text is graded; zero for a new one.
func (s *State) Against(key surface.Key, decision canonical.Digest) []canonical.Digest {
	it := s.byKey[key]
	if it == nil || s.judge == nil {
		return nil
	}
	if n := it.history.node(decision); n != nil {
		e := it.history.before(n)
		return e.against()
	}
	e, _ := s.outlook(it)
	return e.against()
}

// GradeOfNew is the grade of a text where nothing of its item has ever been in
// force.
func (s *State) GradeOfNew(kind surface.Kind) finding.Grade {
	if kind == surface.KindSource || s.judge != nil && s.judge.newIsCritical(kind) {
		return finding.Critical
	}
	return finding.Warning
}

// EverInForce reports whether a text has ever been in force, by the decisions that
// count.
func (s *State) EverInForce(t Text) bool {
	it := s.byKey[t.Key]
	return it != nil && slices.ContainsFunc(it.history.nodes, func(n node) bool {
		return n.effective && n.item.Text() == t
	})
}

func (s *State) inForce(r *ref) *InForce {
	st := &r.entry.decision.Statement
	return &InForce{
		Digest: r.item.Digest, GatewayDigest: r.item.GatewayDigest, Decision: r.entry.id,
		By: s.judge.tally(*r).Have, At: time.Unix(st.At, 0).UTC(),
	}
}

// selfApproved reports whether a person who proposed r is among those who count.
func (s *State) selfApproved(r *ref) bool {
	v := s.judge.verdict(r.entry)
	return v.selfOK && slices.ContainsFunc(v.signers, func(signer *Signer) bool {
		return s.judge.standing(*r, v, signer) == counts && s.judge.proposed(*r, signer.Person)
	})
}

// pending lists the decisions that lack signatures and are not overtaken.
func (s *State) pending(it *ItemState) {
	for _, n := range slices.Backward(it.history.nodes) {
		if n.counts || n.overtaken {
			continue
		}
		it.Pending = append(it.Pending, Pending{n.entry.id, n.action(), n.item.Digest, n.item.GatewayDigest, s.judge.tally(n.ref)})
	}
}

// A Step is one decision in the history of an item.
type Step struct {
	Decision  canonical.Digest
	Action    Action
	Item      Item
	Counts    bool // it took effect
	Overtaken bool // a decision that counts came after it
	Tally     Tally
}

// History returns the decisions about an item from the first to the newest, as far
// as its chain can be followed.
func (s *State) History(key surface.Key) []Step {
	it := s.byKey[key]
	if it == nil || s.judge == nil {
		return nil
	}
	steps := make([]Step, 0, len(it.history.nodes))
	for i := range it.history.nodes {
		n := &it.history.nodes[i]
		steps = append(steps, Step{n.entry.id, n.action(), *n.item, n.counts, n.overtaken, s.judge.tally(n.ref)})
	}
	return steps
}
