package trust

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// Code is the code of the finding that the error makes.
func (e *ChainError) Code() finding.Code {
	switch e.Rule {
	case RuleNoList:
		return finding.TrustMissing
	case RuleRoot:
		return finding.TrustRootMismatch
	case RuleLost:
		return finding.TrustLost
	}
	return finding.TrustInvalid
}

// Finding tells the error as a finding; folder is that of [Input].
func (e *ChainError) Finding(folder string) finding.Finding {
	place := finding.Place{File: path.Join(folder, VersionFolder)}
	if e.Version > 0 {
		place.File = path.Join(folder, VersionPath(e.Version))
	}
	f := finding.New(e.Code(), place, e.Error())
	f.Hint = e.Advice
	return f
}

// ListFindings tells what is worth saying of a trust list by itself: that no root
// pins it, that a version waits. c may be nil.
func ListFindings(c *Chain, folder string) []finding.Finding {
	var findings []finding.Finding
	if c == nil {
		return nil
	}
	place := func(n int) finding.Place { return finding.Place{File: path.Join(folder, VersionPath(n))} }
	if !c.Pinned() {
		f := finding.New(finding.TrustUnpinned, place(c.Len()), "no trust root is pinned, so the repository vouches for itself")
		f.Detail = fmt.Sprintf("The newest version is %v.", c.Digest())
		findings = append(findings, f)
	}
	if w := c.Waiting(); w != nil {
		f := finding.New(finding.TrustWaiting, place(w.Version.Signed.Version), fmt.Sprintf("trust version %d waits for signatures", w.Version.Signed.Version))
		for _, q := range w.Missing {
			f.Detail += fmt.Sprintf("Of the admins of version %d, %d of %d have signed; %s could.\n", q.Version, len(q.Have), q.Need, people(q.Could))
		}
		f.Detail = strings.TrimSuffix(f.Detail, "\n")
		findings = append(findings, f)
	}
	return findings
}

// people lists persons for a sentence.
func people(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = textcheck.Quote(name, textcheck.QuoteLength)
	}
	if len(quoted) == 0 {
		return "nobody"
	}
	return strings.Join(quoted, ", ")
}

// A collector gathers findings, one for each decision and code.
type collector struct {
	s         *State
	decisions map[canonical.Digest]map[finding.Code]int // index of the finding
	items     map[int]int                               // by index: how many items it is about
}

// find tells everything that is wrong.
func (s *State) find() {
	c := &collector{s: s, decisions: map[canonical.Digest]map[finding.Code]int{}, items: map[int]int{}}
	for _, f := range s.ledger.invalid {
		s.report(finding.DecisionInvalid, finding.Place{File: path.Join(s.input.Folder, f.Path)}, f.Err.Error())
	}
	switch {
	case s.Unsigned:
		s.report(finding.Unsigned, finding.Place{}, "there is no trust list, so what is locked counts as approved")
		return
	case s.judge == nil:
		s.report(finding.TrustMissing, finding.Place{File: path.Join(s.input.Folder, VersionFolder)}, "there are decisions, and no trust list to judge them by")
		return
	}
	tree := s.input.Tree
	if tree == nil {
		tree = s.input.Chain
	}
	s.Findings = append(s.Findings, ListFindings(tree, s.input.Folder)...)
	if d := s.input.Lockfile.Trust; !d.IsZero() && !tree.Contains(d) {
		s.report(finding.TrustLost, finding.Place{File: s.lockfilePath(), Line: 1}, fmt.Sprintf("the lockfile names the trust version %s, which is not in force", d.Short()))
	}
	c.ledger()
	c.dropped()
	for _, it := range s.Items {
		c.item(it)
	}
	for i, n := range c.items {
		if n > 1 {
			f := &s.Findings[i]
			f.Detail = strings.TrimPrefix(fmt.Sprintf("%s\nThe same holds for %s of this decision.", f.Detail, textcheck.Count(n, "item")), "\n")
		}
	}
	finding.Sort(s.Findings)
}

func (s *State) report(code finding.Code, place finding.Place, summary string) *finding.Finding {
	s.Findings = append(s.Findings, finding.New(code, place, summary))
	return &s.Findings[len(s.Findings)-1]
}

func (s *State) lockfilePath() string {
	if p := s.input.Lockfile.Path; p != "" {
		return p
	}
	return path.Join(s.input.Folder, s.input.Path)
}

func (s *State) place(it *ItemState) finding.Place {
	place := finding.PlaceOf(it.Key)
	place.File, place.Line = s.lockfilePath(), it.Line
	return place
}

// decision reports something about a decision, once; further items only count.
func (c *collector) decision(id canonical.Digest, code finding.Code, summary string) *finding.Finding {
	codes := c.decisions[id]
	if codes == nil {
		codes = map[finding.Code]int{}
		c.decisions[id] = codes
	}
	i, there := codes[code]
	if !there {
		i = len(c.s.Findings)
		codes[code] = i
		c.s.report(code, finding.Place{File: path.Join(c.s.input.Folder, DecisionPath(id))}, "decision "+id.Short()+": "+summary)
	}
	c.items[i]++
	return &c.s.Findings[i]
}

// ledger reports decisions that can have no effect at all, and keys that are
// nobody's.
func (c *collector) ledger() {
	unknown := map[string]int{}
	for _, id := range c.s.ledger.IDs() {
		e := c.s.ledger.entries[id]
		st := &e.decision.Statement
		if st.Repository == c.s.input.Chain.Repository() && st.Lockfile != c.s.input.Path {
			continue
		}
		v := c.s.judge.verdict(e)
		if v.code != "" {
			c.decision(id, v.code, v.detail)
			continue
		}
		for i, signer := range v.signers {
			if signer == nil {
				unknown[e.keys[i]]++
			}
		}
		for i := range st.Items {
			if r := (ref{entry: e, item: &st.Items[i]}); st.Lockfile == c.s.input.Path && !c.s.judge.couldEver(r) {
				c.decision(id, finding.DecisionInvalid, "nobody who signed it may decide about "+textcheck.Quote(r.item.String(), textcheck.QuoteLength))
			}
		}
	}
	keys := make([]string, 0, len(unknown))
	for key := range unknown {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		c.s.report(finding.SignerUnknown, finding.Place{File: path.Join(c.s.input.Folder, DecisionFolder)},
			fmt.Sprintf("the key %s signed %s, and the trust list does not have it", fingerprint(key), textcheck.Count(unknown[key], "decision")))
	}
}

// dropped reports items that were decided and are not in the lockfile.
func (c *collector) dropped() {
	var keys []surface.Key
	for key := range c.s.ledger.items[home{c.s.judge.chain.Repository(), c.s.input.Path}] {
		if c.s.byKey[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, surface.Key.Compare)
	for _, key := range keys {
		place := finding.PlaceOf(key)
		place.File = c.s.lockfilePath()
		c.s.report(finding.ItemDropped, place, "it was decided, and the lockfile does not hold it")
	}
}

// item reports what keeps an item from passing, and why.
func (c *collector) item(it *ItemState) {
	s := c.s
	rules := &s.input.Chain.Current().Signed.Rules
	switch it.Status {
	case Conflict:
		s.report(it.history.code, s.place(it), it.Why)
		return
	case New:
		s.report(finding.ApprovalMissing, s.place(it), it.Why).Detail = c.waits(it)
	case Changed:
		s.report(finding.ApprovalOutdated, s.place(it), it.Why).Detail = c.waits(it)
	case Rejected:
		f := s.report(finding.ItemRejected, s.place(it), it.Why)
		if f.Detail = c.waits(it); rules.Enforced {
			f.Grade = finding.Note
		}
	}
	if it.SelfApproved && it.Status == Approved {
		f := c.decision(it.InForce.Decision, finding.SelfApproval, "approved by a person who proposed it")
		f.Grade, f.Hint = finding.Note, "Nothing, while nobody else is listed or the rule allowSelfApproval is meant."
	}
	if it.Expired && it.Status == Approved {
		c.decision(it.InForce.Decision, finding.DecisionExpired, fmt.Sprintf("made at %s, which is longer ago than the rule maxAge allows", it.InForce.At.Format("2006-01-02")))
	}
	if !it.Passes(rules.Enforced) {
		c.pending(it)
	}
}

// waits says what signatures a decision about the locked text lacks.
func (c *collector) waits(it *ItemState) string {
	detail := ""
	if !it.Digest.IsZero() {
		detail = fmt.Sprintf("Locked is %v.", it.Digest)
	}
	if it.InForce != nil {
		detail += fmt.Sprintf("\nIn force is %v.", it.InForce.Digest)
	}
	if len(it.RejectedBefore) > 0 {
		detail += fmt.Sprintf("\nThis text was rejected before, by decision %s.", it.RejectedBefore[0].Short())
	}
	return strings.TrimPrefix(detail, "\n")
}

// pending reports why decisions that would put the locked text in force do not
// count.
func (c *collector) pending(it *ItemState) {
	for i := range it.Pending {
		p := &it.Pending[i]
		if it.Kind != surface.KindServer && (!p.Action.puts() || p.Digest != it.Digest) {
			continue
		}
		t := &p.Tally
		code, why := finding.ThresholdUnmet, "it lacks signatures"
		switch {
		case t.Code != "":
			code, why = t.Code, t.Problem
		case len(t.Proposers) > 0:
			code, why = finding.SelfApproval, fmt.Sprintf("signed by %s, who proposed the text", people(t.Proposers))
		case len(t.Unknown) > 0:
			code, why = finding.SignerUnknown, "signed by a key that the trust list does not have"
		case len(t.NotAllowed) > 0:
			why = fmt.Sprintf("%s may not decide about this server", people(t.NotAllowed))
		}
		f := c.decision(p.Decision, code, why)
		f.Grade = finding.Critical
		if f.Detail == "" && t.Code == "" {
			f.Detail = fmt.Sprintf("%d of %d persons have signed; %s could.", len(t.Have), t.Need, people(t.Could))
		}
	}
}
