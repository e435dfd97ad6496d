package trust

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// A Proposal is what somebody wants to decide.
type Proposal struct {
	Action           Action
	Items            []ProposedItem
	Reason           string
	AcceptSuspicious bool
}

// A ProposedItem is one item of a proposal.
type ProposedItem struct {
	surface.Key
	// Digest and GatewayDigest are computed from the text that was shown. Zero
	// stands for what is locked, which is enough for all actions but approve and
	// rollback. A rollback names the earlier text.
	Digest, GatewayDigest canonical.Digest
	Grade                 finding.Grade // of the change against what is in force
	Proposers             []string      // the persons who brought the digest in
}

// The rules by which a decision is refused before it is signed.
const (
	RuleNoTrust       Rule = "no-trust-list"  // there is nobody who could decide
	RuleUnknownItem   Rule = "unknown-item"   // the lockfile does not hold it
	RuleBroken        Rule = "broken"         // its decisions cannot be followed
	RuleDisabled      Rule = "disabled"       // it must be enabled first
	RuleNotDisabled   Rule = "not-disabled"   // there is nothing to enable
	RuleAlready       Rule = "already"        // it is so already
	RuleNotPaused     Rule = "not-paused"     // there is nothing to resume
	RuleNotListed     Rule = "not-listed"     // it is absent or refused
	RuleNotLocked     Rule = "not-locked"     // the digest is another than the locked one, or there is none
	RuleNeverApproved Rule = "never-approved" // no decision that counts approved the digest
	RuleNotApprover   Rule = "not-approver"   // the key is no approver's
	RuleNotAllowed    Rule = "not-allowed"    // the signer's patterns do not allow the server
	RuleProposer      Rule = "proposer"       // the signer brought the digest in
	RuleOvertaken     Rule = "overtaken"      // a later decision counts
	RuleNothing       Rule = "nothing"        // the signature would not be missing anywhere
)

// A RefusalError says why a decision is not made.
type RefusalError struct {
	Rule   Rule
	Key    surface.Key // the item; empty where it is about the whole
	Detail string      // one sentence; input in it is quoted
	Advice string      // what to do next
}

// Error implements error; it does not hold the hint.
func (e *RefusalError) Error() string {
	if e.Key == (surface.Key{}) {
		return fmt.Sprintf("%s [%s]", e.Detail, e.Rule)
	}
	return fmt.Sprintf("%s: %s [%s]", textcheck.Quote(e.Key.String(), textcheck.QuoteLength), e.Detail, e.Rule)
}

// Hint says what to do next.
func (e *RefusalError) Hint() string { return e.Advice }

// Draft makes the statement of a proposal, without by and at, which [State.Sign]
// adds. It computes previous decisions and serials. The error is a
// [*RefusalError], or a [*FormatError] for what no statement can hold.
func (s *State) Draft(p Proposal) (*Statement, error) {
	if s.judge == nil {
		return nil, errNoTrust()
	}
	st := &Statement{
		Repository: s.judge.chain.Repository(), Lockfile: s.input.Path, Trust: s.judge.chain.Digest(),
		Action: p.Action, Reason: p.Reason, AcceptSuspicious: p.AcceptSuspicious,
	}
	for i := range p.Items {
		it, err := s.draftItem(p.Action, &p.Items[i])
		if err != nil {
			return nil, err
		}
		st.Items = append(st.Items, it)
	}
	slices.SortFunc(st.Items, func(a, b Item) int { return a.Compare(b.Key) })
	checked := *st
	checked.By = "nobody"
	return st, checked.Check()
}

func errNoTrust() error {
	return &RefusalError{Rule: RuleNoTrust, Detail: "there is no trust list", Advice: "run agentgateway trust init, or restore .agentgateway/trust with git"}
}

func (s *State) draftItem(action Action, p *ProposedItem) (Item, error) {
	refuse := func(rule Rule, detail, hint string) (Item, error) {
		return Item{}, &RefusalError{Rule: rule, Key: p.Key, Detail: detail, Advice: hint}
	}
	st := s.byKey[p.Key]
	if st == nil {
		return refuse(RuleUnknownItem, "the lockfile does not hold it", "run agentgateway lock first")
	}
	before, ok := s.outlook(st)
	if !ok {
		return refuse(RuleBroken, "its decisions cannot be followed: "+st.history.detail, "restore .agentgateway/decisions and the lockfile with git")
	}
	it := Item{Key: p.Key, Digest: p.Digest, GatewayDigest: p.GatewayDigest, Previous: []canonical.Digest{}, Serial: 1, Grade: p.Grade, Proposers: ordered(p.Proposers, strings.Compare)}
	if it.Digest.IsZero() {
		it.Digest, it.GatewayDigest = st.Digest, st.GatewayDigest
	}
	for _, r := range st.history.ends {
		it.Previous = append(it.Previous, r.entry.id)
		it.Serial = max(it.Serial, r.item.Serial+1)
	}
	slices.SortFunc(it.Previous, compareDigests)
	if err := s.admissible(action, st, &it, &before); err != nil {
		err.Key = p.Key
		return Item{}, err
	}
	return it, nil
}

// admissible tells whether an action makes sense for an item in its state.
func (s *State) admissible(action Action, st *ItemState, it *Item, before *effect) *RefusalError {
	forked := st.history.code != ""
	switch {
	case action.puts() && st.gone != "":
		return &RefusalError{Rule: RuleNotListed, Detail: fmt.Sprintf("it is %s, so there is no text to approve", st.gone), Advice: "run agentgateway lock once the server lists it again"}
	case st.Kind != surface.KindServer && it.Digest.IsZero():
		return &RefusalError{Rule: RuleNotLocked, Detail: "the lockfile holds no digest of it", Advice: "run agentgateway lock"}
	case action.puts() && before.disabled != nil:
		return &RefusalError{Rule: RuleDisabled, Detail: "it is disabled", Advice: "run agentgateway enable first; it needs a fresh approval after that"}
	case action == Approve && (it.Digest != st.Digest || it.GatewayDigest != st.GatewayDigest):
		return &RefusalError{Rule: RuleNotLocked, Detail: fmt.Sprintf("the text has the digest %s, and the lockfile holds %s", it.Digest.Short(), st.Digest.Short()), Advice: "run agentgateway lock, then review again"}
	case action == Rollback && !st.history.approvedOnce(it.Digest, it.GatewayDigest):
		return &RefusalError{Rule: RuleNeverApproved, Detail: fmt.Sprintf("no decision in force ever approved the digest %s", it.Digest.Short()), Advice: "roll back to a digest that agentgateway audit log shows as approved"}
	case action == Enable && before.disabled == nil:
		return &RefusalError{Rule: RuleNotDisabled, Detail: "it is not disabled", Advice: "nothing is to be done"}
	case action == Disable && before.disabled != nil && !forked:
		return &RefusalError{Rule: RuleAlready, Detail: "it is disabled already", Advice: "nothing is to be done"}
	case action == Reject && before.bars(it.Digest) != nil && !forked:
		return &RefusalError{Rule: RuleAlready, Detail: "this text is rejected already", Advice: "nothing is to be done"}
	case action == Pause && before.paused != nil && !forked:
		return &RefusalError{Rule: RuleAlready, Detail: "the server is paused already", Advice: "nothing is to be done"}
	case action == Resume && before.paused == nil && !forked:
		return &RefusalError{Rule: RuleNotPaused, Detail: "the server is not paused", Advice: "nothing is to be done"}
	}
	return nil
}

// approvedOnce reports whether a decision that counts put the digests in force.
func (h *history) approvedOnce(digest, gateway canonical.Digest) bool {
	return slices.ContainsFunc(h.nodes, func(n node) bool {
		return n.effective && n.item.Digest == digest && n.item.GatewayDigest == gateway
	})
}

// MaySign tells whether the signature of a key as "type base64" would count for
// every item of a statement that is about to be made. The error is a
// [*RefusalError].
func (s *State) MaySign(st *Statement, key string) error {
	if s.judge == nil {
		return errNoTrust()
	}
	signer := s.judge.chain.Signer(key)
	v := &verdict{selfOK: s.judge.selfOK}
	e := &entry{decision: &Decision{Statement: *st}}
	for i := range st.Items {
		r := ref{entry: e, item: &st.Items[i]}
		if err := s.refusal(r, s.judge.standing(r, v, signer), signer, key); err != nil {
			return err
		}
	}
	return nil
}

// refusal explains a standing other than counts.
func (s *State) refusal(r ref, standing standing, signer *Signer, key string) error {
	switch standing {
	case unknown:
		return &RefusalError{Rule: RuleNotApprover, Detail: fmt.Sprintf("the trust list does not have the key %s", fingerprint(key)), Advice: "ask an admin for agentgateway trust add, or sign with another key (--ssh-key)"}
	case notApprover:
		return &RefusalError{Rule: RuleNotApprover, Detail: fmt.Sprintf("%s has not the role approver", signer.Principal), Advice: "ask an approver, or an admin for the role"}
	case notAllowed:
		return &RefusalError{Rule: RuleNotAllowed, Key: r.item.Key, Detail: fmt.Sprintf("the patterns of %s do not allow the server %s with the target %s", signer.Principal, textcheck.Quote(r.item.Server, textcheck.QuoteLength), textcheck.Quote(s.judge.target(r.item.Server), textcheck.QuoteLength)), Advice: "ask an approver of this server"}
	case proposer:
		return &RefusalError{Rule: RuleProposer, Key: r.item.Key, Detail: fmt.Sprintf("%s proposed this text", textcheck.Quote(signer.Person, textcheck.QuoteLength)), Advice: "ask another approver: nobody approves what they proposed; a commit that only has the name is named with approve --not-mine COMMIT"}
	}
	return nil
}

// Sign makes a decision of a statement: by whose key it is, at that time. Nothing
// is signed that could not count.
func (s *State) Sign(ctx context.Context, st *Statement, at time.Time, key SigningKey) (*Decision, error) {
	if err := s.MaySign(st, key.Key()); err != nil {
		return nil, err
	}
	d := &Decision{Statement: *st}
	d.Statement.At, d.Statement.By = at.Unix(), s.judge.chain.Signer(key.Key()).Principal
	if err := d.Statement.Check(); err != nil {
		return nil, err
	}
	if size := len(d.Format()); size > MaxDecisionSize-MaxSignatures*maxSignatureText {
		return nil, &FormatError{Subject: decisionSubject, Rule: RuleSize, Detail: fmt.Sprintf("it would have %d bytes without signatures; decide about fewer items at once", size)}
	}
	signatures, err := addSignature(ctx, key, sshsig.NamespaceDecision, d.Statement.Canonical(), nil)
	if err != nil {
		return nil, err
	}
	d.Signatures = signatures
	return d, nil
}

// Cosign returns the decision of that id with one more signature. It refuses one
// that would be missing for no item, one to a decision that a later one overtook,
// and one to a text that is no longer the locked one.
func (s *State) Cosign(ctx context.Context, id canonical.Digest, key SigningKey) (*Decision, error) {
	e := s.ledger.entries[id]
	if s.judge == nil || e == nil {
		return nil, &RefusalError{Rule: RuleBroken, Detail: fmt.Sprintf("there is no decision %s that could be signed", id.Short()), Advice: "run agentgateway review again"}
	}
	if v := s.judge.verdict(e); v.code != "" {
		return nil, &RefusalError{Rule: RuleBroken, Detail: fmt.Sprintf("decision %s cannot count: %s", id.Short(), v.detail), Advice: "decide again"}
	}
	if err := s.mayCosign(e, key.Key()); err != nil {
		return nil, err
	}
	signatures, err := addSignature(ctx, key, sshsig.NamespaceDecision, e.decision.Statement.Canonical(), e.decision.Signatures)
	if err != nil {
		return nil, fmt.Errorf("decision %s: %w", id.Short(), err)
	}
	return &Decision{Statement: e.decision.Statement, Signatures: signatures}, nil
}

func (s *State) mayCosign(e *entry, key string) error {
	v, signer := s.judge.verdict(e), s.judge.chain.Signer(key)
	var first error = &RefusalError{Rule: RuleNothing, Detail: fmt.Sprintf("decision %s lacks no signature", e.id.Short()), Advice: "nothing is to be done"}
	useful := false
	for i := range e.decision.Statement.Items {
		r := ref{entry: e, item: &e.decision.Statement.Items[i]}
		st := s.byKey[r.item.Key]
		if st == nil || st.history.code != "" {
			return &RefusalError{Rule: RuleBroken, Key: r.item.Key, Detail: "its decisions cannot be followed", Advice: "review and decide again"}
		}
		n := st.history.node(e.id)
		switch {
		case n == nil:
			return &RefusalError{Rule: RuleBroken, Key: r.item.Key, Detail: "the decision has no place among those about it: nobody who signed it may decide about it", Advice: "review and decide again"}
		case n.counts:
			continue
		case n.overtaken:
			return &RefusalError{Rule: RuleOvertaken, Key: r.item.Key, Detail: "a later decision about it counts", Advice: "review and decide again"}
		}
		if r.item.Digest != st.Digest || r.item.GatewayDigest != st.GatewayDigest {
			return &RefusalError{Rule: RuleNotLocked, Key: r.item.Key, Detail: "the lockfile holds another text now", Advice: "review and decide again"}
		}
		switch err := s.refusal(r, s.judge.standing(r, v, signer), signer, key); {
		case err == nil:
			useful = true
		case !useful:
			first = err
		}
	}
	if useful {
		return nil
	}
	return first
}

// FindReview returns the decision whose statement has that review digest and lacks
// signatures: the one that a second person is to co-sign.
func (s *State) FindReview(review canonical.Digest) (id canonical.Digest, ok bool) {
	seen := map[canonical.Digest]bool{}
	for _, it := range s.Items {
		for _, p := range it.Pending {
			if !seen[p.Decision] && s.ledger.entries[p.Decision].decision.Statement.ReviewDigest() == review {
				return p.Decision, true
			}
			seen[p.Decision] = true
		}
	}
	return canonical.Digest{}, false
}

// Record names a decision in a lockfile as the newest about each of its items.
func Record(f *lockfile.File, st *Statement) error {
	id := st.ID()
	for i := range st.Items {
		it, ok := f.Locked(st.Items[i].Key)
		if !ok {
			return &RefusalError{Rule: RuleUnknownItem, Key: st.Items[i].Key, Detail: "the lockfile does not hold it", Advice: "run agentgateway lock first"}
		}
		*it.Decision = id
	}
	return nil
}

// MergeDecisions returns the decision with the signatures of both files, for two
// branches in which different persons signed the same statement. A nil verifier
// means [SSH].
func MergeDecisions(a, b *Decision, v Verifier) (*Decision, error) {
	message := a.Statement.Canonical()
	if string(message) != string(b.Statement.Canonical()) {
		return nil, &FormatError{Subject: decisionSubject, Rule: RuleForm, Detail: "the two statements differ"}
	}
	if v == nil {
		v = SSH{}
	}
	signatures, err := mergeSignatures(v, message, sshsig.NamespaceDecision, a.Signatures, b.Signatures)
	if err != nil {
		return nil, err
	}
	return &Decision{Statement: a.Statement, Signatures: signatures}, nil
}
