package trust

import (
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// DecisionType is the type of a decision's statement.
const DecisionType = "agentgateway-decision/v1"

// An Action is what a decision does to its items.
type Action string

// The actions. Pause and Resume are about servers, all others about everything
// else.
const (
	Approve  Action = "approve"
	Reject   Action = "reject"
	Disable  Action = "disable"
	Enable   Action = "enable"
	Pause    Action = "pause"
	Resume   Action = "resume"
	Rollback Action = "rollback"
)

// actions says of each action whether it is about servers and whether it gives
// something, and so needs the threshold.
var actions = map[Action]struct{ server, gives bool }{
	Approve: {false, true}, Reject: {false, false}, Disable: {false, false}, Enable: {false, true},
	Rollback: {false, true}, Pause: {true, false}, Resume: {true, true},
}

// puts reports an action that puts a digest in force.
func (a Action) puts() bool { return a == Approve || a == Rollback }

// An Item is what a statement says of one item.
type Item struct {
	surface.Key
	Digest        canonical.Digest   // zero for a server
	GatewayDigest canonical.Digest   // zero for a server, a source and instructions
	Previous      []canonical.Digest // ids of the decisions before; two or more heal a fork; sorted
	Serial        int64              // 1 for the first, else one more than the highest of the previous
	Grade         finding.Grade      // of the change against what was in force
	Proposers     []string           // the persons who brought the digest in, sorted
}

// A Text names the text of an item by its digests.
type Text struct {
	surface.Key

	Digest, GatewayDigest canonical.Digest
}

// Text is the text that is decided about.
func (it *Item) Text() Text { return Text{it.Key, it.Digest, it.GatewayDigest} }

// A Statement is what the signatures of a decision are over.
type Statement struct {
	Repository canonical.Digest
	Lockfile   string           // the path from the folder that holds .agentgateway, with slashes
	Trust      canonical.Digest // the trust version in force when it was made; for audit
	Action     Action
	Items      []Item // sorted by key, each once; one or more
	Reason     string
	// AcceptSuspicious says that text which the checks warn of was accepted.
	AcceptSuspicious bool
	// NotMine are the ids of unsigned commits that bear the name of one who signs
	// and are not theirs, sorted; mostly none.
	NotMine []string
	At      int64  // seconds since 1970, by the clock of who made it
	By      string // the principal of the first signer
}

// A Decision is a statement with its signatures.
type Decision struct {
	Statement  Statement
	Signatures [][]byte // SSHSIG blobs, sorted by key
}

// DecisionFolder is where decisions are, from the folder that holds .agentgateway. It
// holds nothing else.
const DecisionFolder = lockfile.Folder + "/decisions"

const decisionSubject = "decision"

// DecisionPath is where the decision of that id stands, from the folder that
// holds .agentgateway.
func DecisionPath(id canonical.Digest) string {
	name := id.String()
	return DecisionFolder + "/" + name[:2] + "/" + name + ".json"
}

// ParseDecisionPath returns the id of the decision that stands at path; ok is
// false where none can.
func ParseDecisionPath(path string) (id canonical.Digest, ok bool) {
	name, ok := strings.CutPrefix(path, DecisionFolder+"/")
	if !ok || len(name) < 3 {
		return canonical.Digest{}, false
	}
	id, err := canonical.ParseDigest(strings.TrimSuffix(name[3:], ".json"))
	return id, err == nil && path == DecisionPath(id)
}

// ParseDecision reads a decision: its form, and everything that one can say of
// itself. It does not verify signatures: see [Ledger]. The error is a
// [*FormatError].
func ParseDecision(src []byte) (*Decision, error) {
	d, _, err := parseDecision(src)
	return d, err
}

// parseDecision also returns the canonical form of the statement.
func parseDecision(src []byte) (*Decision, []byte, error) {
	d := &Decision{}
	raw, err := readWhole(decisionSubject, src, MaxDecisionSize, "statement", func(p *parser) error { return p.statement(&d.Statement) }, &d.Signatures)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Statement.Check(); err != nil {
		return nil, nil, err
	}
	text := d.Statement.Canonical()
	if err := sameForm(decisionSubject, raw, text); err != nil {
		return nil, nil, err
	}
	return d, text, nil
}

func (p *parser) statement(s *Statement) error {
	var action string
	err := p.objectWith([]field{{"notMine", p.texts(&s.NotMine, MaxNotMine, 64)}},
		field{"type", p.literal(DecisionType)},
		field{"repository", p.digest(&s.Repository, false)},
		field{"lockfile", p.text(&s.Lockfile, maxText)},
		field{"trust", p.digest(&s.Trust, false)},
		field{"action", p.text(&action, maxName)},
		field{"items", func() error {
			s.Items = []Item{}
			return p.array(MaxItems, func() error {
				s.Items = append(s.Items, Item{})
				return p.item(&s.Items[len(s.Items)-1])
			})
		}},
		field{"reason", p.text(&s.Reason, maxReason)},
		field{"acceptSuspicious", p.flag(&s.AcceptSuspicious)},
		field{"at", p.integer(&s.At, 0, maxTime)},
		field{"by", p.text(&s.By, maxName)},
	)
	s.Action = Action(action)
	return err
}

func (p *parser) item(it *Item) error {
	var kind, grade string
	var at int
	err := p.object(
		field{"server", p.text(&it.Server, maxText)},
		field{"kind", p.text(&kind, maxName)},
		field{"name", p.text(&it.Name, maxText)},
		field{"digest", p.digest(&it.Digest, true)},
		field{"gatewayDigest", p.digest(&it.GatewayDigest, true)},
		field{"previous", p.digests(&it.Previous, MaxPrevious)},
		field{"serial", p.integer(&it.Serial, 1, maxTime)},
		field{"grade", func() error { at = p.r.Offset(); return p.text(&grade, maxName)() }},
		field{"proposers", p.texts(&it.Proposers, MaxProposers, maxName)},
	)
	if err != nil {
		return err
	}
	it.Kind = surface.Kind(kind)
	if it.Grade, err = finding.ParseGrade(grade); err != nil {
		return p.within("grade", p.failAt(at, RuleValue, "%v", err))
	}
	return nil
}

// write writes the statement in the order of the documentation.
func (s *Statement) write() *writer {
	w := &writer{dst: make([]byte, 0, s.size())}
	w.open("", '{')
	w.text("type", DecisionType)
	w.digest("repository", s.Repository)
	w.text("lockfile", s.Lockfile)
	w.digest("trust", s.Trust)
	w.text("action", string(s.Action))
	w.open("items", '[')
	for i := range s.Items {
		w.item(&s.Items[i])
	}
	w.close(']')
	w.text("reason", s.Reason)
	w.flag("acceptSuspicious", s.AcceptSuspicious)
	if len(s.NotMine) > 0 {
		w.texts("notMine", s.NotMine)
	}
	w.integer("at", s.At)
	w.text("by", s.By)
	w.close('}')
	return w
}

func (w *writer) item(it *Item) {
	w.open("", '{')
	w.text("server", it.Server)
	w.text("kind", string(it.Kind))
	w.text("name", it.Name)
	w.digest("digest", it.Digest)
	w.digest("gatewayDigest", it.GatewayDigest)
	w.digests("previous", it.Previous)
	w.integer("serial", it.Serial)
	w.text("grade", it.Grade.String())
	w.texts("proposers", it.Proposers)
	w.close('}')
}

// appendCanonical writes the canonical form directly, members in byte order: it
// is made of every decision that is read.
func (s *Statement) appendCanonical(dst []byte, review bool) []byte {
	w := writer{dst: dst}
	w.open("", '{')
	w.flag("acceptSuspicious", s.AcceptSuspicious)
	w.text("action", string(s.Action))
	if !review {
		w.integer("at", s.At)
		w.text("by", s.By)
	}
	w.open("items", '[')
	for i := range s.Items {
		it := &s.Items[i]
		w.open("", '{')
		w.digest("digest", it.Digest)
		w.digest("gatewayDigest", it.GatewayDigest)
		w.text("grade", it.Grade.String())
		w.text("kind", string(it.Kind))
		w.text("name", it.Name)
		w.digests("previous", it.Previous)
		w.texts("proposers", it.Proposers)
		w.integer("serial", it.Serial)
		w.text("server", it.Server)
		w.close('}')
	}
	w.close(']')
	w.text("lockfile", s.Lockfile)
	if len(s.NotMine) > 0 {
		w.texts("notMine", s.NotMine)
	}
	w.text("reason", s.Reason)
	w.digest("repository", s.Repository)
	w.digest("trust", s.Trust)
	w.text("type", DecisionType)
	w.close('}')
	return w.dst
}

// size guesses the length of the statement's text.
func (s *Statement) size() int { return 512 + 512*len(s.Items) }

// Canonical returns the canonical form, which is what is signed.
func (s *Statement) Canonical() []byte { return s.appendCanonical(make([]byte, 0, s.size()), false) }

// ID identifies the decision; its file is named by it.
func (s *Statement) ID() canonical.Digest { return canonical.Sum(s.Canonical()) }

// ReviewDigest identifies what a person agrees to: the hash of the canonical form
// without the members by and at.
func (s *Statement) ReviewDigest() canonical.Digest {
	return canonical.Sum(s.appendCanonical(make([]byte, 0, s.size()), true))
}

// Format returns the bytes of the decision's file.
func (d *Decision) Format() []byte { return d.Statement.write().file("statement", d.Signatures) }
