package trust

import (
	"fmt"
	"slices"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// future is how far ahead of the clock a decision may be dated.
const future = 10 * time.Minute

// A judge tells which decisions count under the newest version of a chain.
type judge struct {
	chain     *Chain
	lockfile  string
	now       time.Time
	targets   map[string]string // of servers that have an entry
	proposers *Proposers        // nil for those recorded
	stands    map[canonical.Digest]bool
	selfOK    bool // proposers may approve
	verdicts  map[*entry]*verdict
}

// Proposers find again who brought texts in.
type Proposers struct {
	// Of returns the persons and identities behind the commits that brought a text
	// in. Those of notMine count only by who signed them.
	Of func(t Text, notMine []string) []string
	// Merged says that the commits are as a host's buttons, or whoever merged by
	// hand, made them, with other authors, committers and co-authors than the change
	// had: then what a decision records is taken, and Of is asked only where that
	// names no listed person.
	Merged bool
	// Judged tells the decisions that were judged before, such as those of the base:
	// what they record is taken. nil for none.
	Judged func(id canonical.Digest) bool
}

// of returns the listed persons who brought the text of an item in and whom a
// decision should record.
func (p *Proposers) of(j *judge, r ref) []string {
	if p == nil || p.Judged != nil && p.Judged(r.entry.id) || p.Merged && slices.ContainsFunc(r.item.Proposers, j.isListed) {
		return nil
	}
	found := p.Of(r.item.Text(), r.entry.decision.Statement.NotMine)
	return slices.DeleteFunc(slices.Clone(found), func(name string) bool { return !j.isListed(name) })
}

// isListed reports whether any trust version lists somebody of that name,
// principal or email.
func (j *judge) isListed(name string) bool { return j.chain.Person(name) != "" }

func newJudge(chain *Chain, lockfile string, now time.Time) *judge {
	current := &chain.Current().Signed
	j := &judge{chain: chain, lockfile: lockfile, now: now, selfOK: current.selfApproval(), verdicts: map[*entry]*verdict{},
		stands: make(map[canonical.Digest]bool, len(current.Stands))}
	for _, id := range current.Stands {
		j.stands[id] = true
	}
	return j
}

// selfApproval reports whether proposers may approve: by the rule, or because
// nobody else is listed.
func (s *Signed) selfApproval() bool {
	for i := range s.Signers {
		if s.Signers[i].Person != s.Signers[0].Person {
			return s.Rules.AllowSelfApproval
		}
	}
	return true
}

// A verdict is what holds for a decision as a whole.
type verdict struct {
	// code is empty for a decision whose signatures may count; detail is one
	// sentence.
	code    finding.Code
	detail  string
	selfOK  bool
	signers []*Signer // of each key of the entry; nil for one that is nobody's
}

// verdict judges a decision once.
func (j *judge) verdict(e *entry) *verdict {
	v := j.verdicts[e]
	if v == nil {
		v = j.judgeEntry(e)
		j.verdicts[e] = v
	}
	return v
}

func (j *judge) judgeEntry(e *entry) *verdict {
	s := &e.decision.Statement
	v := &verdict{selfOK: j.selfOK, signers: make([]*Signer, len(e.keys))}
	if v.code, v.detail = j.foreign(s); v.code != "" {
		return v
	}
	made := j.chain.index(s.Trust)
	if made < 0 {
		v.code, v.detail = finding.StatementForeign, fmt.Sprintf("it names the trust version %s, which is not in force here", s.Trust.Short())
		return v
	}
	listed, signed := false, false // then
	for _, key := range e.keys {
		if signer := j.chain.links[made].signers[key]; signer != nil {
			listed, signed = true, signed || signer.Principal == s.By
		}
	}
	switch at := time.Unix(s.At, 0); {
	case !listed:
		v.code, v.detail = finding.DecisionInvalid, fmt.Sprintf("no key that signed it is listed in trust version %d, which it names", made+1)
		return v
	case !signed:
		v.code, v.detail = finding.DecisionInvalid, fmt.Sprintf("it says that it is by %s, who has not signed it", textcheck.Quote(s.By, textcheck.QuoteLength))
		return v
	case at.After(j.now.Add(future)):
		v.code, v.detail = finding.DecisionFuture, fmt.Sprintf("it is dated %s, more than ten minutes ahead", at.UTC().Format(time.RFC3339))
		return v
	}
	if j.stands[e.id] && !v.selfOK {
		v.selfOK = j.chain.links[made].version.Signed.selfApproval()
	}
	for i, key := range e.keys {
		v.signers[i] = j.signer(e.id, key)
	}
	return v
}

// foreign tells whether a statement is of another repository or lockfile.
func (j *judge) foreign(s *Statement) (finding.Code, string) {
	switch {
	case s.Repository != j.chain.Repository():
		return finding.StatementForeign, "it was made in another repository"
	case s.Lockfile != j.lockfile:
		return finding.StatementForeign, fmt.Sprintf("it was made for the lockfile %s", textcheck.Quote(s.Lockfile, textcheck.QuoteLength))
	}
	return "", ""
}

// signer returns whose key it is: of the newest version, and for a decision that
// stands of the newest that lists it.
func (j *judge) signer(id canonical.Digest, key string) *Signer {
	if s := j.chain.Signer(key); s != nil || !j.stands[id] {
		return s
	}
	for i := len(j.chain.links) - 2; i >= 0; i-- {
		if s := j.chain.links[i].signers[key]; s != nil {
			return s
		}
	}
	return nil
}

// about returns what the decisions of a ledger that were made here say of an item.
func (j *judge) about(l *Ledger, key surface.Key) []ref {
	return l.items[home{j.chain.Repository(), j.lockfile}][key]
}

// heads returns where the chain of an item begins to be followed: the decision
// that the lockfile names, or where that could never count the ones before it.
func (j *judge) heads(l *Ledger, key surface.Key, head canonical.Digest) []canonical.Digest {
	var heads []canonical.Digest
	seen := map[canonical.Digest]bool{{}: true}
	for open := []canonical.Digest{head}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		if r, code, _ := j.link(l, key, id); code == "" && !j.couldEver(r) {
			open = append(open, r.item.Previous...)
			continue
		}
		heads = append(heads, id)
	}
	return heads
}

// live returns the decisions about an item that have a place in its chain: those
// that somebody signed who could count for it now, the heads, and all that these
// lead to. Any other is worth nothing: it takes no serial and forks nothing, so
// that who may not decide about an item cannot end what is in force of it either.
func (j *judge) live(l *Ledger, key surface.Key, heads []canonical.Digest) []ref {
	all := j.about(l, key)
	if !slices.ContainsFunc(all, func(r ref) bool { return !j.couldCount(r) }) {
		return all
	}
	byID := make(map[canonical.Digest]ref, len(all))
	var open []ref
	for _, r := range all {
		byID[r.entry.id] = r
		if j.couldCount(r) || slices.Contains(heads, r.entry.id) {
			open = append(open, r)
		}
	}
	reached := make(map[canonical.Digest]bool, len(all))
	for len(open) > 0 {
		r := open[len(open)-1]
		open = open[:len(open)-1]
		if reached[r.entry.id] {
			continue
		}
		reached[r.entry.id] = true
		for _, id := range r.item.Previous {
			if p, ok := byID[id]; ok {
				open = append(open, p)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(r ref) bool { return !reached[r.entry.id] })
}

// couldCount reports whether one who signed may decide about the item now, or
// could where they had not proposed the text.
func (j *judge) couldCount(r ref) bool {
	if j.verdict(r.entry).code == finding.DecisionInvalid {
		return false
	}
	return slices.ContainsFunc(r.entry.keys, func(key string) bool { return j.mayDecide(j.signer(r.entry.id, key), r.item.Server) })
}

// couldEver reports whether one who signed may decide about the item now, or could
// when it was made.
func (j *judge) couldEver(r ref) bool {
	if j.couldCount(r) {
		return true
	}
	made := j.chain.index(r.entry.decision.Statement.Trust)
	if made < 0 || j.verdict(r.entry).code == finding.DecisionInvalid {
		return false
	}
	return slices.ContainsFunc(r.entry.keys, func(key string) bool { return j.mayDecide(j.chain.links[made].signers[key], r.item.Server) })
}

// mayDecide reports whether a signer is an approver whose patterns allow a server
// and its target; nil is nobody.
func (j *judge) mayDecide(s *Signer, server string) bool {
	return s != nil && s.Has(Approver) && s.allows(server, j.target(server))
}

func (j *judge) target(server string) string {
	if t := j.targets[server]; t != "" {
		return t
	}
	return server
}

// A standing says whether a signature counts for an item.
type standing byte

const (
	counts      standing = iota
	unknown              // the key is nobody's
	notApprover          // the signer may not sign decisions
	notAllowed           // the signer's patterns do not allow the server and its target
	proposer             // the signer brought the digest in
)

// standing judges one signature for one item.
func (j *judge) standing(r ref, v *verdict, s *Signer) standing {
	switch {
	case s == nil:
		return unknown
	case !s.Has(Approver):
		return notApprover
	case !s.allows(r.item.Server, j.target(r.item.Server)):
		return notAllowed
	case !v.selfOK && actions[r.action()].gives && r.action() != Rollback && j.proposed(r, s.Person):
		return proposer
	}
	return counts
}

func (r ref) action() Action { return r.entry.decision.Statement.Action }

// proposed reports whether a person brought the digest in that r is about: as the
// decision records it, under any name the person has, or as it was found again.
func (j *judge) proposed(r ref, person string) bool {
	for _, name := range r.item.Proposers {
		if name == person || j.chain.Person(name) == person {
			return true
		}
	}
	return slices.Contains(j.proposers.of(j, r), person)
}

// need is how many persons must sign r.
func (j *judge) need(r ref) int {
	t := j.chain.Current().Signed.Thresholds
	switch {
	case !actions[r.action()].gives:
		return 1
	case r.item.Kind == surface.KindSource || r.item.Grade == finding.Critical || r.fresh && r.action().puts() && j.newIsCritical(r.item.Kind):
		return max(t.Critical, t.Approve)
	}
	return t.Approve
}

// newIsCritical reports whether the rule newItems makes what has never been in
// force critical.
func (j *judge) newIsCritical(kind surface.Kind) bool {
	_, listed := surface.ListKindOf(kind)
	return listed && j.chain.Current().Signed.Rules.NewItemsCritical
}

// criticalNeedsMore reports whether a critical change needs more signatures than
// another.
func (j *judge) criticalNeedsMore() bool {
	t := j.chain.Current().Signed.Thresholds
	return t.Critical > t.Approve
}

// counts reports whether r has the signatures it needs.
func (j *judge) counts(r ref) bool { return j.signedBy(r, j.need(r)) }

// agreed reports whether as many have signed r as a critical change needs.
func (j *judge) agreed(r ref) bool {
	t := j.chain.Current().Signed.Thresholds
	return j.signedBy(r, max(t.Critical, t.Approve))
}

// signedBy reports whether so many persons have signed r who count.
func (j *judge) signedBy(r ref, need int) bool {
	v := j.verdict(r.entry)
	if v.code != "" {
		return false
	}
	var few [8]string
	persons := few[:0]
	for _, s := range v.signers {
		if j.standing(r, v, s) == counts && !slices.Contains(persons, s.Person) {
			if persons = append(persons, s.Person); len(persons) == need {
				return true
			}
		}
	}
	return false
}

// A Tally tells what signatures a decision has and lacks for one item.
type Tally struct {
	Need       int
	Have       []string // persons who count
	Proposers  []string // persons who signed and proposed the digest
	NotAllowed []string // persons who signed and are no approvers for the server
	Unknown    []string // fingerprints of keys that are nobody's
	Could      []string // persons who could sign
	// Code and Problem say why none of the signatures can count; empty where they
	// may.
	Code    finding.Code
	Problem string
}

// Missing is how many persons must still sign.
func (t *Tally) Missing() int { return max(0, t.Need-len(t.Have)) }

func (j *judge) tally(r ref) Tally {
	v := j.verdict(r.entry)
	t := Tally{Need: j.need(r), Code: v.code, Problem: v.detail}
	if v.code == "" {
		for i, s := range v.signers {
			switch j.standing(r, v, s) {
			case counts:
				t.Have = append(t.Have, s.Person)
			case proposer:
				t.Proposers = append(t.Proposers, s.Person)
			case unknown:
				t.Unknown = append(t.Unknown, fingerprint(r.entry.keys[i]))
			default:
				t.NotAllowed = append(t.NotAllowed, s.Person)
			}
		}
		signers := j.chain.Current().Signed.Signers
		for i := range signers {
			if j.standing(r, v, &signers[i]) == counts && !slices.Contains(t.Have, signers[i].Person) {
				t.Could = append(t.Could, signers[i].Person)
			}
		}
	}
	for _, list := range []*[]string{&t.Have, &t.Proposers, &t.Unknown, &t.NotAllowed, &t.Could} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return t
}
