package trust

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"

	"github.com/google/go-cmp/cmp"
)

func refusalRule(err error) Rule {
	if re, ok := errors.AsType[*RefusalError](err); ok {
		return re.Rule
	}
	return ""
}

// TestAlone tells the story of one person who approves what they proposed.
func TestAlone(t *testing.T) {
	w := newWorld(t)
	w.proposers[digestOf("read 1")] = []string{"Alice"}
	if diff := cmp.Diff([]string{"approval-missing"}, codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
	w.decide([]string{"alice"}, Approve, w.allKeys()...)
	s := w.state()
	if diff := cmp.Diff([]string(nil), codes(s.Findings)); diff != "" {
		t.Error(diff)
	}
	it := s.Item(toolKey("read"))
	if it.Status != Approved || !it.SelfApproved || it.InForce.GatewayDigest != digestOf("gateway read 1") {
		t.Errorf("after an approval: %+v", it)
	}
	// A second person ends it, unless the decisions stand.
	bob := w.signer("bob", "Bob", Admin, Approver)
	ended := w.clone()
	ended.change([]string{"alice"}, Add(bob))
	ended.wantStatus(toolKey("read"), New)
	ended.wantStatus(toolKey("write"), Approved)
	if diff := cmp.Diff([]string{"approval-missing", "self-approval"}, codes(ended.state().Findings)); diff != "" {
		t.Error(diff)
	}
	w.change([]string{"alice"}, Add(bob), Stand(s.SelfApprovals(), nil))
	w.wantStatus(toolKey("read"), Approved)
	if _, err := w.state().Sign(t.Context(), mustDraft(t, w, Approve, toolKey("read")), w.now, testKey(t, "alice")); refusalRule(err) != RuleProposer {
		t.Errorf("a proposer signs: %v", err)
	}
}

func mustDraft(t *testing.T, w *world, action Action, keys ...surface.Key) *Statement {
	t.Helper()
	st, err := w.draft(action, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// team is a world with alice, bob and carol, approvers; alice is the admin.
func team(t testing.TB, settings ...Change) *world {
	w := newWorld(t)
	w.change([]string{"alice"}, append([]Change{Add(w.signer("bob", "Bob", Approver)), Add(w.signer("carol", "Carol", Approver))}, settings...)...)
	return w
}

func TestEffects(t *testing.T) {
	server := surface.Key{Server: "files", Kind: surface.KindServer}
	read, write := toolKey("read"), toolKey("write")
	bob := []string{"bob"}
	for _, test := range []struct {
		name  string
		do    func(w *world)
		key   surface.Key
		want  Status
		force string // the text in force
	}{
		{"nothing", func(*world) {}, read, New, ""},
		{"approve", func(w *world) { w.decide(bob, Approve, read) }, read, Approved, "read 1"},
		{"approve another item", func(w *world) { w.decide(bob, Approve, write) }, read, New, ""},
		{"relock", func(w *world) { w.decide(bob, Approve, read); w.relock("read", "read 2") }, read, Changed, "read 1"},
		{"relock and back", func(w *world) { w.decide(bob, Approve, read); w.relock("read", "read 2"); w.relock("read", "read 1") }, read, Approved, "read 1"},
		{"reject a new one", func(w *world) { w.decide(bob, Reject, read) }, read, Rejected, ""},
		{"reject a proposed one", func(w *world) {
			w.decide(bob, Approve, read)
			w.relock("read", "read 2")
			w.decide(bob, Reject, read)
		}, read, Rejected, "read 1"},
		{"reject a proposed one and go back", func(w *world) {
			w.decide(bob, Approve, read)
			w.relock("read", "read 2")
			w.decide(bob, Reject, read)
			w.relock("read", "read 1")
		}, read, Approved, "read 1"},
		{"reject what is in force", func(w *world) { w.decide(bob, Approve, read); w.decide(bob, Reject, read) }, read, Rejected, ""},
		{"approve what was rejected", func(w *world) { w.decide(bob, Reject, read); w.decide(bob, Approve, read) }, read, Approved, "read 1"},
		{"disable", func(w *world) { w.decide(bob, Approve, read); w.decide(bob, Disable, read) }, read, Disabled, ""},
		{"enable", func(w *world) {
			w.decide(bob, Approve, read)
			w.decide(bob, Disable, read)
			w.decide(bob, Enable, read)
		}, read, New, ""},
		{"approve after enable", func(w *world) {
			w.decide(bob, Disable, read)
			w.decide(bob, Enable, read)
			w.decide(bob, Approve, read)
		}, read, Approved, "read 1"},
		{"pause", func(w *world) { w.decide(bob, Approve, read); w.decide(bob, Pause, server) }, server, Paused, ""},
		{"pause leaves items", func(w *world) { w.decide(bob, Approve, read); w.decide(bob, Pause, server) }, read, Approved, "read 1"},
		{"resume", func(w *world) { w.decide(bob, Pause, server); w.decide(bob, Resume, server) }, server, Approved, ""},
		{"absent", func(w *world) { w.decide(bob, Approve, read); w.tool("read").Absent = true }, read, Absent, "read 1"},
		{"absent and back", func(w *world) {
			w.decide(bob, Approve, read)
			w.tool("read").Absent = true
			w.tool("read").Absent = false
		}, read, Approved, "read 1"},
		{"rollback", func(w *world) {
			w.decide(bob, Approve, read)
			w.relock("read", "read 2")
			w.decide(bob, Approve, read)
			w.relock("read", "read 1")
			w.decide(bob, Rollback, read)
		}, read, Approved, "read 1"},
		{"rollback by who proposed it", func(w *world) {
			w.decide(bob, Approve, read)
			w.relock("read", "read 2")
			w.decide(bob, Approve, read)
			w.relock("read", "read 1")
			w.proposers[digestOf("read 1")] = []string{"Alice", "Bob"}
			w.decide(bob, Rollback, read)
		}, read, Approved, "read 1"},
		{"gateway digest swapped", func(w *world) {
			w.decide(bob, Approve, read)
			w.tool("read").GatewayDigest = digestOf("another")
		}, read, Changed, "read 1"},
		{"source changed", func(w *world) {
			w.decide(bob, Approve, w.allKeys()...)
			w.lock.Server("files").Source.Args = []string{"server@2"}
		}, surface.Key{Server: "files", Kind: surface.KindSource}, Changed, ""},
		{"target changed", func(w *world) {
			w.decide(bob, Approve, w.allKeys()...)
			w.lock.Server("files").Target = "other"
		}, surface.Key{Server: "files", Kind: surface.KindSource}, Changed, ""},
		{"covers changed", func(w *world) {
			w.decide(bob, Approve, w.allKeys()...)
			w.lock.Server("files").Covers = []string{"tools"}
		}, surface.Key{Server: "files", Kind: surface.KindSource}, Changed, ""},
		{"a header template changed", func(w *world) {
			w.lock.Server("files").Source = &source.Source{Transport: source.HTTP, URL: "https://files.example.com", Headers: map[string]string{"A": "${A}"}}
			w.decide(bob, Approve, w.allKeys()...)
			w.lock.Server("files").Source.Headers["A"] = "${B}"
		}, surface.Key{Server: "files", Kind: surface.KindSource}, Changed, ""},
		{"the server is no longer configured", func(w *world) {
			w.decide(bob, Approve, read)
			w.lock.Server("files").Absent = true
		}, read, Absent, "read 1"},
		{"refused", func(w *world) {
			w.decide(bob, Approve, read)
			w.tool("read").Absent = true
			w.lock.Server("files").Refused = []surface.Refused{{Kind: surface.KindTool, Name: "read", Rule: canonical.RuleNumber, Raw: digestOf("raw")}}
		}, read, Refused, "read 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := team(t)
			test.do(w)
			w.wantStatus(test.key, test.want)
			it := w.state().Item(test.key)
			switch {
			case test.force == "" && it.InForce != nil && test.key.Kind == surface.KindTool:
				t.Errorf("%s is in force", it.InForce.Digest.Short())
			case test.force != "" && (it.InForce == nil || it.InForce.Digest != digestOf(test.force) || it.InForce.GatewayDigest != digestOf("gateway "+test.force)):
				t.Errorf("in force is %+v, not %s", it.InForce, test.force)
			}
		})
	}
}

func TestDraftRefusals(t *testing.T) {
	server := surface.Key{Server: "files", Kind: surface.KindServer}
	read := toolKey("read")
	bob := []string{"bob"}
	for _, test := range []struct {
		name   string
		do     func(w *world)
		action Action
		key    surface.Key
		want   Rule
	}{
		{"unknown item", func(*world) {}, Approve, toolKey("none"), RuleUnknownItem},
		{"approve of a disabled one", func(w *world) { w.decide(bob, Disable, read) }, Approve, read, RuleDisabled},
		{"enable of one that is not disabled", func(*world) {}, Enable, read, RuleNotDisabled},
		{"disable twice", func(w *world) { w.decide(bob, Disable, read) }, Disable, read, RuleAlready},
		{"reject twice", func(w *world) { w.decide(bob, Reject, read) }, Reject, read, RuleAlready},
		{"pause twice", func(w *world) { w.decide(bob, Pause, server) }, Pause, server, RuleAlready},
		{"resume of one that is not paused", func(*world) {}, Resume, server, RuleNotPaused},
		{"rollback to what nobody approved", func(*world) {}, Rollback, read, RuleNeverApproved},
		{"approve of an absent one", func(w *world) { w.tool("read").Absent = true }, Approve, read, RuleNotListed},
		{"approve without a digest", func(w *world) { w.tool("read").Digest = digestOf("x"); w.tool("read").Digest = [32]byte{} }, Approve, read, RuleNotLocked},
		{"a decision is lost", func(w *world) { delete(w.decisions, w.decide(bob, Approve, read)) }, Approve, read, RuleBroken},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := team(t)
			test.do(w)
			if _, err := w.draft(test.action, test.key); refusalRule(err) != test.want {
				t.Errorf("the error is %v, not one of %s", err, test.want)
			}
		})
	}
}

func TestThreshold(t *testing.T) {
	w := team(t, Set("threshold.approve", "2"))
	read := toolKey("read")
	id := w.decide([]string{"bob"}, Approve, read)
	w.wantStatus(read, New)
	it := w.state().Item(read)
	if len(it.Pending) != 1 || it.Pending[0].Decision != id {
		t.Fatalf("pending: %+v", it.Pending)
	}
	want := Tally{Need: 2, Have: []string{"Bob"}, Could: []string{"Alice", "Carol"}}
	if diff := cmp.Diff(want, it.Pending[0].Tally); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"approval-missing", "threshold-unmet"}, codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
	st := w.state().ledger.Decision(id).Statement
	if found, ok := w.state().FindReview(st.ReviewDigest()); !ok || found != id {
		t.Errorf("the review of a pending decision is not found")
	}
	if _, err := w.state().Cosign(t.Context(), id, testKey(t, "bob")); err == nil {
		t.Errorf("one key signs twice")
	}
	d, err := w.state().Cosign(t.Context(), id, testKey(t, "carol"))
	if err != nil {
		t.Fatal(err)
	}
	w.decisions[id] = d.Format()
	w.wantStatus(read, Approved)
	if _, err := w.state().Cosign(t.Context(), id, testKey(t, "alice")); refusalRule(err) != RuleNothing {
		t.Errorf("a signature that nothing lacks: %v", err)
	}
	// What only takes away needs one.
	w.decide([]string{"bob"}, Disable, read)
	w.wantStatus(read, Disabled)
}

// TestOvertaken holds that a decision which a later one overtook cannot be
// completed, and that a change which does so all the same is reported.
func TestOvertaken(t *testing.T) {
	w := team(t, Set("threshold.approve", "2"))
	read := toolKey("read")
	w.relock("read", "read 2")
	pending := w.decide([]string{"bob"}, Approve, read)
	w.relock("read", "read 3")
	w.decide([]string{"carol"}, Reject, read)
	if _, err := w.state().Cosign(t.Context(), pending, testKey(t, "carol")); refusalRule(err) != RuleOvertaken {
		t.Errorf("the error is %v", err)
	}
	base := w.clone()
	st := w.ledger().Decision(pending).Statement
	lock := w.lock
	w.lock = w.clone().lock
	w.force([]string{"bob", "carol"}, &st)
	w.lock = lock
	if diff := cmp.Diff([]string{"decision-overtaken"}, codes(compare(base, w, Recount{}))); diff != "" {
		t.Error(diff)
	}
}

// compare judges the world head as a change of base.
func compare(base, head *world, again Recount) (findings []finding.Finding) {
	side := func(w *world) Side {
		return Side{Chain: w.chain(), Ledger: w.ledger(), State: Evaluate(Input{
			Chain: base.chain(), Tree: w.chain(), Ledger: w.ledger(), Lockfile: w.lock, Path: w.path, Now: w.now,
		})}
	}
	return CompareBase(side(base), side(head), again)
}

func TestFork(t *testing.T) {
	read := toolKey("read")
	w := team(t)
	w.decide([]string{"bob"}, Approve, read)
	a, b := w.clone(), w.clone()
	a.relock("read", "read 2")
	a.decide([]string{"bob"}, Approve, read)
	b.decide([]string{"carol"}, Disable, read)
	for name, merged := range map[string]*world{"ours": merge(a, b), "theirs": merge(b, a)} {
		t.Run(name, func(t *testing.T) {
			merged.wantStatus(read, Conflict)
			if diff := cmp.Diff([]string{"approval-missing", "decision-forked"}, codes(merged.state().Findings)); diff != "" {
				t.Error(diff)
			}
			if merged.state().Item(read).InForce != nil {
				t.Error("something is in force")
			}
			// One branch disabled it, so it stays disabled until somebody enables it.
			if _, err := merged.draft(Approve, read); refusalRule(err) != RuleDisabled {
				t.Errorf("the error is %v", err)
			}
			merged.decide([]string{"bob"}, Enable, read)
			merged.wantStatus(read, New)
			merged.decide([]string{"bob"}, Approve, read)
			merged.wantStatus(read, Approved)
			if it := merged.state().Item(read); it.history.nodes[len(it.history.nodes)-1].item.Serial != 4 {
				t.Errorf("the serial is %d", it.history.nodes[len(it.history.nodes)-1].item.Serial)
			}
		})
	}
}

// merge is a git merge in which a conflict in the lockfile is resolved as in a.
func merge(a, b *world) *world {
	out := a.clone()
	for id, data := range b.decisions {
		if _, ok := out.decisions[id]; !ok {
			out.decisions[id] = data
		}
	}
	return out
}

func TestRemoveSigner(t *testing.T) {
	read, write := toolKey("read"), toolKey("write")
	w := team(t)
	w.decide([]string{"bob"}, Approve, read)
	w.decide([]string{"bob"}, Disable, write)
	stands := w.state().Stands("bob@example.com")
	kept, gone := w.clone(), w.clone()
	kept.change([]string{"alice"}, Remove("bob@example.com"), Stand(stands, nil))
	kept.wantStatus(read, Approved)
	kept.wantStatus(write, Disabled)
	if _, err := kept.state().Sign(t.Context(), mustDraft(t, kept, Approve, read), kept.now, testKey(t, "bob")); refusalRule(err) != RuleNotApprover {
		t.Errorf("who was removed signs: %v", err)
	}
	gone.change([]string{"alice"}, Remove("bob@example.com"))
	gone.wantStatus(read, New)
	gone.wantStatus(write, New)
	// Found out later: what stood is dropped.
	kept.change([]string{"alice"}, Stand(nil, kept.state().SignedBy("bob@example.com")))
	kept.wantStatus(read, New)
}

func TestUnsigned(t *testing.T) {
	w := newWorld(t)
	in := Input{Lockfile: w.lock, Path: w.path, Now: w.now}
	s := Evaluate(in)
	if it := s.Item(toolKey("read")); !s.Unsigned || it.Status != Approved || it.InForce.Digest != digestOf("read 1") {
		t.Errorf("without a trust list: %+v", it)
	}
	if len(s.Findings) != 1 || s.Findings[0].Code != "unsigned" {
		t.Errorf("findings: %+v", s.Findings)
	}
	w.decide([]string{"alice"}, Approve, toolKey("read"))
	for name, in := range map[string]Input{
		"the lockfile names a decision": {Lockfile: w.lock, Path: w.path, Now: w.now},
		"there is a decision":           {Lockfile: w.lock, Ledger: w.ledger(), Path: w.path, Now: w.now},
	} {
		s := Evaluate(in)
		if s.Unsigned || s.Item(toolKey("read")).Status != New || s.Item(toolKey("read")).InForce != nil {
			t.Errorf("%s: %+v", name, s.Item(toolKey("read")))
		}
		if diff := cmp.Diff([]string{"trust-missing"}, codes(s.Findings)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestHistory(t *testing.T) {
	w := team(t, Set("threshold.approve", "2"))
	read := toolKey("read")
	first := w.decide([]string{"bob"}, Approve, read)
	second := w.decide([]string{"carol"}, Reject, read)
	var got []string
	for _, step := range w.state().History(read) {
		got = append(got, fmt.Sprintf("%s %s %d %v %v %v", step.Decision.Short(), step.Action, step.Item.Serial, step.Counts, step.Overtaken, step.Tally.Have))
	}
	want := []string{first.Short() + " approve 1 false true [Bob]", second.Short() + " reject 2 true false [Carol]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMaxAge(t *testing.T) {
	w := team(t, Set("maxAge", "90d"))
	w.decide([]string{"bob"}, Approve, w.allKeys()...)
	w.now = w.now.AddDate(0, 0, 90)
	if diff := cmp.Diff([]string(nil), codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
	w.now = w.now.Add(time.Second)
	if diff := cmp.Diff([]string{"decision-expired"}, codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
	w.wantStatus(toolKey("read"), Approved)
	w.decide([]string{"bob"}, Approve, w.allKeys()...)
	if diff := cmp.Diff([]string(nil), codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
}

func TestEnforced(t *testing.T) {
	w := team(t)
	w.decide([]string{"bob"}, Approve, w.allKeys()...)
	w.decide([]string{"bob"}, Reject, toolKey("read"))
	if diff := cmp.Diff([]string{"item-rejected"}, codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
	w.change([]string{"alice"}, Set("enforced", "true"))
	if diff := cmp.Diff([]string(nil), codes(w.state().Findings)); diff != "" {
		t.Error(diff)
	}
}

// TestCritical holds that a source, and a change graded critical, need the
// threshold of that name, or the other one where it is higher.
func TestCritical(t *testing.T) {
	source := surface.Key{Server: "files", Kind: surface.KindSource}
	for _, test := range []struct {
		approve, critical string
		tool, source      int
	}{{"1", "1", 1, 1}, {"1", "2", 1, 2}, {"2", "1", 2, 2}, {"3", "2", 3, 3}} {
		w := team(t, Set("threshold.approve", test.approve), Set("threshold.critical", test.critical))
		s := w.state()
		need := func(key surface.Key, grade finding.Grade) int {
			st, err := s.Draft(Proposal{Action: Approve, Items: []ProposedItem{{Key: key, Grade: grade}}})
			if err != nil {
				t.Fatal(err)
			}
			return s.judge.need(ref{entry: &entry{decision: &Decision{Statement: *st}}, item: &st.Items[0]})
		}
		if got := need(toolKey("read"), finding.Warning); got != test.tool {
			t.Errorf("%+v: a tool needs %d", test, got)
		}
		if got := need(toolKey("read"), finding.Critical); got != test.source {
			t.Errorf("%+v: a critical change needs %d", test, got)
		}
		if got := need(source, finding.Note); got != test.source {
			t.Errorf("%+v: a source needs %d", test, got)
		}
	}
}

// TestPatterns holds that a mixed statement counts item by item.
func TestPatterns(t *testing.T) {
	w := team(t)
	git := *w.lock.Servers[0]
	git.Name = "git"
	w.lock.Put(&git)
	w.change([]string{"alice"}, Add(Signer{Principal: "dave@example.com", Person: "Dave", Keys: []string{testKey(t, "dave").Key()}, Servers: []string{"fi*"}}))
	read, other := toolKey("read"), surface.Key{Server: "git", Kind: surface.KindTool, Name: "read"}
	st := mustDraft(t, w, Approve, read, other)
	if _, err := w.state().Sign(t.Context(), st, w.now, testKey(t, "dave")); refusalRule(err) != RuleNotAllowed {
		t.Errorf("the error is %v", err)
	}
	w.force([]string{"dave"}, st)
	w.wantStatus(read, Approved)
	w.wantStatus(other, New)
}

// TestForkAgain holds that an item can be forked and healed many times without
// what is remembered of it doubling each time.
func TestForkAgain(t *testing.T) {
	read := toolKey("read")
	w := team(t)
	w.decide([]string{"bob"}, Reject, read)
	for range 25 {
		a, b := w.clone(), w.clone()
		a.decide([]string{"bob"}, Disable, read)
		b.decide([]string{"carol"}, Disable, read)
		w = merge(a, b)
		w.decide([]string{"bob"}, Enable, read)
	}
	it := w.state().Item(read)
	if it.Status != Rejected || len(it.history.final.rejected) != 1 || it.serial() != 51 {
		t.Errorf("it is %s, barred by %d decisions, at serial %d", it.Status, len(it.history.final.rejected), it.serial())
	}
}

// TestSizeLimit holds that what would be too large is refused before anybody is
// asked for a signature.
func TestSizeLimit(t *testing.T) {
	w := team(t)
	st := mustDraft(t, w, Approve, toolKey("read"))
	item := st.Items[0]
	st.Items = nil
	for i := range 200 {
		item.Name = fmt.Sprintf("%04d", i) + strings.Repeat("x", 1<<16)
		st.Items = append(st.Items, item)
	}
	if _, err := w.state().Sign(t.Context(), st, w.now, untouched{testKey(t, "bob")}); ruleOf(err) != RuleSize {
		t.Errorf("the error is %v", err)
	}
}

// untouched is a key that must not be asked to sign.
type untouched struct{ SigningKey }

func (untouched) Sign(context.Context, sshsig.Namespace, []byte) ([]byte, error) {
	return nil, errors.New("asked for a signature")
}

// A rollback to a text that no decision before it approved puts nothing in force,
// whoever signs it: else an approver could bring in what they wrote.
func TestRollbackForged(t *testing.T) {
	w := newWorld(t)
	w.change([]string{"alice"}, Add(w.signer("bob", "Bob", Admin, Approver)))
	read := toolKey("read")
	w.decide([]string{"bob"}, Approve, read)
	w.relock("read", "read 2", "Bob")
	st := mustDraft(t, w, Approve, read)
	st.Action = Rollback
	w.force([]string{"bob"}, st)
	w.wantStatus(read, Changed)
	if it := w.state().Item(read); it.InForce == nil || it.InForce.Digest != digestOf("read 1") {
		t.Errorf("in force: %+v", it.InForce)
	}
}
