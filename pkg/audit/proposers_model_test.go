package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

var (
	modelSeed  = flag.Uint64("model.seed", 1, "seed of the model of pull requests; 0 takes one from the clock")
	modelSteps = flag.Int("model.steps", 6000, "steps of the model of pull requests")
)

// TestPullRequests plays pull requests by honest and dishonest people: words are
// locked, reverted, merged with -s ours and brought back; decisions are made with
// the tool or forged with any record; what passes the gate is merged by any button.
// After each merge what is in force must be what an independent count of signatures
// puts in force: never an approval short of its threshold.
func TestPullRequests(t *testing.T) {
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	counts := map[string]int{}
	for steps, world := 0, uint64(0); steps < *modelSteps; world++ {
		m := newPulls(t, rand.New(rand.NewPCG(seed, world)))
		for range 60 {
			what := m.step()
			counts[what]++
			steps++
			if m.wrong != "" {
				t.Fatalf("seed %d, world %d: %s\n%s", seed, world, m.wrong, strings.Join(m.story, "\n"))
			}
		}
	}
	t.Log(counts)
	for _, what := range []string{"lock", "revert", "ours", "theirs", "approve", "forge", "disable", "enable", "passed", "approved", "refused"} {
		if counts[what] == 0 && *modelSteps >= 6000 {
			t.Errorf("the step %s was never done", what)
		}
	}
}

// fakeKey signs by hashing.
type fakeKey string

func newFakeKey(name string) fakeKey {
	seed := sha256.Sum256([]byte(name))
	public, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(seed[:]).Public())
	if err != nil {
		panic(err)
	}
	return fakeKey(sshsig.FormatPublicKey(public))
}

func (k fakeKey) sum(ns sshsig.Namespace, message []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(k), []byte(ns), message))
	return sum[:]
}

func (k fakeKey) Key() string { return string(k) }

func (k fakeKey) Sign(_ context.Context, ns sshsig.Namespace, message []byte) ([]byte, error) {
	return slices.Concat([]byte(k), k.sum(ns, message)), nil
}

func (fakeKey) Verify(message, blob []byte, ns sshsig.Namespace) (string, error) {
	if len(blob) < sha256.Size {
		return "", errors.New("short")
	}
	k := fakeKey(blob[:len(blob)-sha256.Size])
	if !bytes.Equal(k.sum(ns, message), blob[len(k):]) {
		return "", errors.New("another text")
	}
	return string(k), nil
}

var pullPersons = []string{"alice", "bob", "carol"}

const pullTexts = 7

// pullGrade is critical for texts that are far from each other.
func pullGrade(a, b int) finding.Grade {
	if max(a-b, b-a) > 1 {
		return finding.Critical
	}
	return finding.Warning
}

// A pullCommit is a commit of the model.
type pullCommit struct {
	id        gitrepo.Hash
	parents   []*pullCommit
	text      int
	wrote     bool // the author locked the text in it
	pointer   canonical.Digest
	decisions map[canonical.Digest][]byte
	author    string
	committer string
	blob      gitrepo.Hash
	lock      *lock
}

// pulls is a repository with one item, its main branch, and what the independent
// count has found on it.
type pulls struct {
	t     *testing.T
	rng   *rand.Rand
	chain *trust.Chain
	known *trust.Ledger
	main  *pullCommit
	work  *pullCommit // of the pull request that is open
	all   []*pullCommit
	n     uint32
	now   int64
	story []string
	wrong string

	oracle oracle
}

// An oracle counts signatures by itself.
type oracle struct {
	force, last, agreed, first int // texts; -1 for none
	ever                       map[int]bool
	disabled                   bool
	seen                       map[canonical.Digest]bool
}

var pullKey = surface.Key{Server: "s", Kind: surface.KindPrompt, Name: "p"}

func newPulls(t *testing.T, rng *rand.Rand) *pulls {
	m := &pulls{t: t, rng: rng, now: testNow.Unix() - 1e6}
	var v *trust.Version
	for i, name := range pullPersons {
		s := trust.Signer{Principal: name + "@example.com", Person: name, Keys: []string{string(newFakeKey(name))}}
		if i == 0 {
			v, _ = trust.Init(canonical.SumString("pulls"), s)
		} else if err := trust.Add(s)(&v.Signed); err != nil {
			t.Fatal(err)
		}
	}
	for i := range v.Signed.Signers {
		if len(v.Signed.Signers[i].Servers) == 0 {
			v.Signed.Signers[i].Servers = []string{}
		}
	}
	v.Signed.Thresholds.Critical = 2
	v, err := (*trust.Chain)(nil).Sign(t.Context(), v, newFakeKey("alice"))
	if err != nil {
		t.Fatal(err)
	}
	if m.chain, err = trust.LoadChain([]trust.File{{Number: 1, Data: v.Format()}}, nil, fakeKey("")); err != nil {
		t.Fatal(err)
	}
	m.oracle = oracle{force: -1, last: -1, agreed: -1, first: -1, ever: map[int]bool{}, seen: map[canonical.Digest]bool{}}
	m.main = m.commit(&pullCommit{author: "oscar", decisions: map[canonical.Digest][]byte{}})
	m.work = m.main
	return m
}

func (m *pulls) commit(c *pullCommit) *pullCommit {
	m.n++
	var id [20]byte
	binary.BigEndian.PutUint32(id[:], m.n)
	id[19] = 1
	c.id, _ = gitrepo.ParseHash(fmt.Sprintf("%x", id))
	id[19] = 2
	c.blob, _ = gitrepo.ParseHash(fmt.Sprintf("%x", id))
	for _, p := range c.parents {
		if p.text == c.text && p.pointer == c.pointer {
			c.blob = p.blob
		}
	}
	if c.committer == "" {
		c.committer = c.author
	}
	d, g := pullDigest(c.text), canonical.SumString("gateway "+pullDigest(c.text).String())
	f := &lockfile.File{Servers: []*lockfile.Server{{Name: "s", Covers: []string{"prompts"}, Lists: map[surface.Kind][]lockfile.Item{
		surface.KindPrompt: {{Name: "p", Digest: d, GatewayDigest: g, Decision: c.pointer}},
	}}}}
	c.lock = newLock(f)
	m.all = append(m.all, c)
	return c
}

func pullDigest(text int) canonical.Digest { return canonical.SumString(fmt.Sprint("text ", text)) }

func pullText(d canonical.Digest) int {
	for i := range pullTexts {
		if pullDigest(i) == d {
			return i
		}
	}
	return -1
}

// child is a commit on the open pull request.
func (m *pulls) child(author string, edit func(*pullCommit)) {
	c := &pullCommit{parents: []*pullCommit{m.work}, text: m.work.text, pointer: m.work.pointer, decisions: m.work.decisions, author: author}
	edit(c)
	m.work = m.commit(c)
}

func (m *pulls) tell(what, format string, args ...any) string {
	m.story = append(m.story, what+": "+fmt.Sprintf(format, args...))
	return what
}

func (m *pulls) anybody() string { return append(slices.Clone(pullPersons), "oscar")[m.rng.IntN(4)] }

func (m *pulls) step() string {
	switch n := m.rng.IntN(100); {
	case n < 18:
		who, text := m.anybody(), m.rng.IntN(pullTexts)
		if m.rng.IntN(2) == 0 { // mostly near what is in force
			text = min(pullTexts-1, max(0, m.work.text+m.rng.IntN(3)-1))
		}
		m.child(who, func(c *pullCommit) { c.wrote, c.text = c.text != text, text })
		return m.tell("lock", "text %d by %s", text, who)
	case n < 24:
		who, old := m.anybody(), m.ancestors(m.work)
		back := old[m.rng.IntN(len(old))].text
		m.child(who, func(c *pullCommit) { c.wrote, c.text = c.text != back, back })
		return m.tell("revert", "to text %d by %s", back, who)
	case n < 32:
		other, who := m.all[m.rng.IntN(len(m.all))], m.anybody()
		theirs := m.rng.IntN(3) == 0
		m.child(who, func(c *pullCommit) {
			c.parents = append(c.parents, other)
			if theirs {
				c.text = other.text // a resolution by hand, which a parent has
			}
		})
		if theirs {
			return m.tell("theirs", "merge commit %d by %s, its text %d", m.n, who, other.text)
		}
		return m.tell("ours", "merge -s ours by %s hides text %d", who, other.text)
	case n < 50:
		return m.decide(pullPersons[m.rng.IntN(3)], trust.Approve)
	case n < 55:
		return m.decide(pullPersons[m.rng.IntN(3)], trust.Disable)
	case n < 62:
		return m.decide(pullPersons[m.rng.IntN(3)], trust.Enable)
	case n < 66:
		return m.decide(pullPersons[m.rng.IntN(3)], trust.Reject)
	case n < 74:
		return m.forge()
	case n < 80:
		m.work = m.main
		if m.rng.IntN(4) == 0 {
			m.work = m.all[m.rng.IntN(len(m.all))]
		}
		return m.tell("branch", "from text %d", m.work.text)
	}
	return m.merge()
}

// ancestors lists a commit and all before it, parents first.
func (m *pulls) ancestors(of *pullCommit) []*pullCommit {
	seen, list := map[*pullCommit]bool{}, []*pullCommit{}
	var visit func(*pullCommit)
	visit = func(c *pullCommit) {
		if seen[c] {
			return
		}
		seen[c] = true
		for _, p := range c.parents {
			visit(p)
		}
		list = append(list, c)
	}
	visit(of)
	return list
}

func (m *pulls) ledger(c *pullCommit) *trust.Ledger {
	files := make([]trust.DecisionFile, 0, len(c.decisions))
	for id, data := range c.decisions {
		files = append(files, trust.DecisionFile{Path: trust.DecisionPath(id), Data: data})
	}
	l, err := trust.NewLedger(files, m.known, fakeKey(""))
	if err != nil {
		m.t.Fatal(err)
	}
	return l
}

func (m *pulls) state(c *pullCommit, l *trust.Ledger, p *trust.Proposers) *trust.State {
	return trust.Evaluate(trust.Input{Chain: m.chain, Ledger: l, Lockfile: c.lock.file, Path: lockfile.DefaultName, Now: testNow, Proposers: p})
}

// proposals asks the package who brought texts in.
func (m *pulls) proposals(head, base *pullCommit, since func(trust.Text) bool, texts []trust.Text) *Proposals {
	p := &proposers{opts: &ProposersOptions{Chain: m.chain, Since: since}, lib: newLibrary(nil, layout{}, nil), out: newProposals(m.chain, texts), onBase: map[gitrepo.Hash]bool{}}
	p.restrict(base.lock)
	for _, c := range m.ancestors(base) {
		p.onBase[c.id] = true
	}
	w := &walk{index: map[gitrepo.Hash]int{}}
	commits := m.ancestors(head)
	for i, c := range commits {
		n := gitrepo.Node{ID: c.id}
		for _, parent := range c.parents {
			n.Parents = append(n.Parents, parent.id)
		}
		w.nodes, w.index[c.id] = append(w.nodes, n), i
		w.points = append(w.points, &point{lockfile: gitrepo.Entry{ID: c.blob}})
		_, _ = p.lib.lockfiles.get(c.blob, func() (*lock, int, error) { return c.lock, 0, nil })
	}
	for i, c := range commits {
		brought := map[trust.Text]bool{}
		if err := p.byLockfile(m.t.Context(), w, i, w.nodes[i], brought); err != nil {
			m.t.Fatal(err)
		}
		for t := range brought {
			p.out.found[t].Commits = append(p.out.found[t].Commits, CommitFacts{Commit: c.id, Author: c.author + "@example.com", Committer: c.committer + "@example.com", Signature: NotSigned})
		}
	}
	return p.out
}

func pullGrades(state *trust.State) func(surface.Key, canonical.Digest, []canonical.Digest) (finding.Grade, bool) {
	return func(key surface.Key, digest canonical.Digest, against []canonical.Digest) (finding.Grade, bool) {
		if len(against) == 0 {
			return state.GradeOfNew(key.Kind), true
		}
		grade := finding.Info
		for _, d := range against {
			if d != digest {
				grade = max(grade, pullGrade(pullText(d), pullText(digest)))
			}
		}
		return grade, true
	}
}

// decide decides with the tool, as the project does.
func (m *pulls) decide(who string, action trust.Action) string {
	l := m.ledger(m.work)
	state := m.state(m.work, l, nil)
	it := state.Item(pullKey)
	found := m.proposals(m.work, m.main, state.EverInForce, []trust.Text{it.Text()})
	state = m.state(m.work, l, &trust.Proposers{Of: found.Persons, Judged: func(id canonical.Digest) bool { return m.main.decisions[id] != nil }})
	key := newFakeKey(who)
	var d *trust.Decision
	var err error
	if it = state.Item(pullKey); len(it.Pending) > 0 && it.Pending[0].Action == action && it.Pending[0].Decision == it.Decision {
		d, err = state.Cosign(m.t.Context(), it.Decision, key)
	} else {
		grade, _ := pullGrades(state)(pullKey, it.Digest, state.Against(pullKey, canonical.Digest{}))
		var st *trust.Statement
		st, err = state.Draft(trust.Proposal{Action: action, Reason: fmt.Sprint(m.n), Items: []trust.ProposedItem{{
			Key: pullKey, Digest: it.Digest, GatewayDigest: it.GatewayDigest, Grade: grade, Proposers: found.Persons(it.Text(), nil),
		}}})
		if err == nil {
			d, err = state.Sign(m.t.Context(), st, time.Unix(m.now, 0), key)
		}
	}
	if err != nil {
		return m.tell("refused", "%s by %s: %v", action, who, err)
	}
	m.put(who, d)
	return m.tell(string(action), "text %d by %s, proposed by %v", m.work.text, who, d.Statement.Items[0].Proposers)
}

func (m *pulls) put(who string, d *trust.Decision) {
	m.child(who, func(c *pullCommit) {
		c.decisions = maps.Clone(c.decisions)
		c.pointer = d.Statement.ID()
		c.decisions[c.pointer] = d.Format()
	})
}

// forge makes a decision with another tool: any record, signed by one or two.
func (m *pulls) forge() string {
	state := m.state(m.work, m.ledger(m.work), nil)
	it := state.Item(pullKey)
	action := []trust.Action{trust.Approve, trust.Approve, trust.Approve, trust.Rollback, trust.Enable, trust.Disable}[m.rng.IntN(6)]
	text := m.work.text
	if m.rng.IntN(3) == 0 {
		text = m.rng.IntN(pullTexts)
	}
	st, err := state.Draft(trust.Proposal{Action: trust.Reject, Reason: fmt.Sprint(m.n), Items: []trust.ProposedItem{{Key: pullKey, Digest: pullDigest(text), GatewayDigest: canonical.SumString("gateway " + pullDigest(text).String()), Grade: finding.Warning}}})
	if err != nil {
		return m.tell("refused", "a draft: %v", err)
	}
	st.Action, st.At = action, m.now
	if m.rng.IntN(3) == 0 {
		st.Items[0].Proposers = []string{"oscar@example.com"}
	}
	first := m.rng.IntN(3)
	signers := []string{pullPersons[first]}
	if m.rng.IntN(4) == 0 {
		signers = append(signers, pullPersons[(first+1)%3])
	}
	st.By = signers[0] + "@example.com"
	d := &trust.Decision{Statement: *st}
	for _, who := range signers {
		blob, _ := newFakeKey(who).Sign(m.t.Context(), sshsig.NamespaceDecision, st.Canonical())
		d.Signatures = append(d.Signatures, blob)
	}
	slices.SortFunc(d.Signatures, bytes.Compare)
	m.put(signers[0], d)
	return m.tell("forge", "%s of text %d by %v, status %s", action, text, signers, it.Status)
}

// merge runs the gate on the pull request, and merges what passes; and what brings
// no decision, since a person may merge what is still to be decided.
func (m *pulls) merge() string {
	head := m.work
	if !slices.Contains(m.ancestors(head), m.main) {
		old := m.work
		m.child("oscar", func(c *pullCommit) {
			c.parents = append(c.parents, m.main)
			c.decisions = maps.Clone(c.decisions)
			maps.Copy(c.decisions, m.main.decisions)
			if old.pointer.IsZero() || m.main.decisions[old.pointer] != nil {
				c.pointer = m.main.pointer
			}
		})
		head = m.work
	}
	base := m.main
	baseLedger, headLedger := m.ledger(base), m.ledger(head)
	baseState := m.state(base, baseLedger, nil)
	var texts []trust.Text
	fresh := 0
	for _, id := range headLedger.IDs() {
		if baseLedger.Decision(id) == nil {
			fresh++
			texts = append(texts, headLedger.Decision(id).Statement.Items[0].Text())
		}
	}
	found := m.proposals(head, base, baseState.EverInForce, texts)
	again := &trust.Proposers{Of: found.Persons, Judged: func(id canonical.Digest) bool { return baseLedger.Decision(id) != nil }}
	state := m.state(head, headLedger, again)
	findings := slices.Concat(state.Findings, trust.CompareBase(trust.Side{Chain: m.chain, Ledger: baseLedger, State: baseState},
		trust.Side{Chain: m.chain, Ledger: headLedger, State: state}, trust.Recount{Proposers: again, Grade: pullGrades(state)}))
	failed := slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Grade == finding.Critical && f.Code != finding.TrustUnpinned })
	it := state.Item(pullKey)
	waits := map[finding.Code]bool{finding.ApprovalMissing: true, finding.ApprovalOutdated: true, finding.ItemRejected: true, finding.TrustUnpinned: true}
	lost := slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Grade == finding.Critical && !waits[f.Code] })
	if failed && (fresh > 0 || lost || m.rng.IntN(3) > 0) {
		return m.tell("failed", "%v", it.Status)
	}
	wrote := map[string]bool{}
	for _, c := range m.ancestors(head) {
		if c.wrote {
			wrote[fmt.Sprint(c.author, c.text)] = true
		}
	}
	what := "unsafe"
	if !failed {
		what = "passed"
	}
	if button := m.rng.IntN(3); button == 0 && !failed { // a squash, by whoever
		head = m.commit(&pullCommit{parents: []*pullCommit{base}, text: head.text, pointer: head.pointer, decisions: head.decisions, author: m.firstAuthor(base, head), committer: "noreply"})
	} else {
		head = m.commit(&pullCommit{parents: []*pullCommit{base, head}, text: head.text, pointer: head.pointer, decisions: head.decisions, author: pullPersons[m.rng.IntN(3)], committer: "noreply"})
	}
	m.main, m.work, m.known = head, head, headLedger
	m.oracle.count(m, headLedger, wrote)
	if it.InForce != nil && m.oracle.force != pullText(it.InForce.Digest) {
		m.wrong = fmt.Sprintf("text %d is in force by %s, and by the signatures text %d is; the gate: %s", pullText(it.InForce.Digest), it.InForce.By, m.oracle.force, what)
	}
	m.tell(what, "text %d is %s, in force %d", head.text, it.Status, m.oracle.force)
	if !failed && it.Status == trust.Approved {
		return "approved"
	}
	return what
}

func (m *pulls) firstAuthor(base, head *pullCommit) string {
	onBase := m.ancestors(base)
	for _, c := range m.ancestors(head) {
		if !slices.Contains(onBase, c) {
			return c.author
		}
	}
	return head.author
}

// count lets the decisions that are new on main take effect, by nothing but who
// signed them, who wrote the texts, and how far these are from each other.
func (o *oracle) count(m *pulls, l *trust.Ledger, wrote map[string]bool) {
	before := maps.Clone(o.ever) // what was in force on the base
	ids := slices.DeleteFunc(l.IDs(), func(id canonical.Digest) bool { return o.seen[id] })
	slices.SortFunc(ids, func(a, b canonical.Digest) int {
		return int(l.Decision(a).Statement.Items[0].Serial - l.Decision(b).Statement.Items[0].Serial)
	})
	for _, id := range ids {
		o.seen[id] = true
		st := &l.Decision(id).Statement
		text := pullText(st.Items[0].Digest)
		valid := 0
		for _, key := range l.Keys(id) {
			who := m.chain.Signer(key).Person
			if before[text] || st.Action == trust.Rollback && o.ever[text] || !wrote[fmt.Sprint(who, text)] {
				valid++
			}
		}
		switch st.Action {
		case trust.Approve, trust.Rollback:
			need := 1
			strong := o.agreed
			if strong < 0 {
				strong = o.first
			}
			for _, old := range []int{o.last, strong} {
				if old >= 0 && old != text && pullGrade(old, text) == finding.Critical {
					need = 2
				}
			}
			if valid < need || o.disabled || st.Action == trust.Rollback && !o.ever[text] {
				continue
			}
			o.force, o.last, o.ever[text] = text, text, true
			if valid >= 2 {
				o.agreed = text
			}
			if o.first < 0 {
				o.first = text
			}
		case trust.Disable:
			o.disabled, o.force = true, -1
		case trust.Enable:
			o.disabled = false
		case trust.Reject:
			if o.force == text {
				o.force = -1
			}
		}
	}
}
