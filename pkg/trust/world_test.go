package trust

import (
	"maps"
	"slices"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// A world is a repository in memory: trust files, decision files and a lockfile.
type world struct {
	t         testing.TB
	versions  []File
	root      *canonical.Digest
	decisions map[canonical.Digest][]byte
	lock      *lockfile.File
	path      string
	now       time.Time
	proposers map[canonical.Digest][]string // of a locked digest
}

var testNow = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// newWorld makes a repository in which alice, an admin, made a trust list. There
// is one server, files, with the tools read and write.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, decisions: map[canonical.Digest][]byte{}, path: "agentgateway.lock", now: testNow, proposers: map[canonical.Digest][]string{}}
	w.lock = &lockfile.File{Servers: []*lockfile.Server{{
		Name:         "files",
		Source:       &source.Source{Transport: source.Stdio, Command: "npx", Args: []string{"server@1"}},
		Covers:       []string{"instructions", "tools"},
		Instructions: &lockfile.Instructions{Hash: digestOf("instructions 1")},
		Lists: map[surface.Kind][]lockfile.Item{surface.KindTool: {
			{Name: "read", Digest: digestOf("read 1"), GatewayDigest: digestOf("gateway read 1")},
			{Name: "write", Digest: digestOf("write 1"), GatewayDigest: digestOf("gateway write 1")},
		}},
	}}}
	first, err := Init(digestOf("a repository"), Signer{Principal: "alice@example.com", Person: "Alice", Keys: []string{testKey(t, "alice").Key()}})
	if err != nil {
		t.Fatal(err)
	}
	w.addVersion(first, "alice")
	return w
}

func (w *world) chain() *Chain {
	w.t.Helper()
	c, err := LoadChain(w.versions, w.root, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// addVersion signs a version with keys and adds its file.
func (w *world) addVersion(v *Version, keys ...string) {
	w.t.Helper()
	var c *Chain
	if len(w.versions) > 0 {
		c = w.chain()
	}
	for _, name := range keys {
		signed, err := c.Sign(w.t.Context(), v, testKey(w.t, name))
		if err != nil {
			w.t.Fatal(err)
		}
		v = signed
	}
	w.versions = append(w.versions, File{v.Signed.Version, v.Format()})
}

// change makes the next trust version, signed with keys.
func (w *world) change(keys []string, changes ...Change) {
	w.t.Helper()
	v, err := w.chain().Next(changes...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.addVersion(v, keys...)
}

// signer is a signer of that name with a key of its own.
func (w *world) signer(name, person string, roles ...Role) Signer {
	return Signer{Principal: name + "@example.com", Person: person, Keys: []string{testKey(w.t, name).Key()}, Roles: roles}
}

func (w *world) ledger() *Ledger {
	w.t.Helper()
	var files []DecisionFile
	for _, id := range slices.SortedFunc(maps.Keys(w.decisions), compareDigests) {
		files = append(files, DecisionFile{DecisionPath(id), w.decisions[id]})
	}
	l, err := NewLedger(files, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) state() *State {
	w.t.Helper()
	return Evaluate(Input{Chain: w.chain(), Ledger: w.ledger(), Lockfile: w.lock, Path: w.path, Now: w.now})
}

func (w *world) tool(name string) *lockfile.Item {
	return w.lock.Server("files").Item(surface.KindTool, name)
}

// relock gives a tool another text, brought in by persons.
func (w *world) relock(name, text string, persons ...string) {
	it := w.tool(name)
	it.Digest, it.GatewayDigest = digestOf(text), digestOf("gateway "+text)
	w.proposers[it.Digest] = persons
}

func toolKey(name string) surface.Key {
	return surface.Key{Server: "files", Kind: surface.KindTool, Name: name}
}

// draft makes the statement of an action about items as they are locked.
func (w *world) draft(action Action, keys ...surface.Key) (*Statement, error) {
	s := w.state()
	p := Proposal{Action: action, Reason: "for a test"}
	for _, key := range keys {
		item := ProposedItem{Key: key, Grade: finding.Warning}
		if it := s.Item(key); it != nil {
			item.Digest, item.GatewayDigest, item.Proposers = it.Digest, it.GatewayDigest, w.proposers[it.Digest]
		}
		p.Items = append(p.Items, item)
	}
	return s.Draft(p)
}

// decide makes a decision with the keys of names, the first by State.Sign and the
// others by State.Cosign, and names it in the lockfile.
func (w *world) decide(names []string, action Action, keys ...surface.Key) canonical.Digest {
	w.t.Helper()
	st, err := w.draft(action, keys...)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.sign(names, st)
}

func (w *world) sign(names []string, st *Statement) canonical.Digest {
	w.t.Helper()
	d, err := w.state().Sign(w.t.Context(), st, w.now, testKey(w.t, names[0]))
	if err != nil {
		w.t.Fatal(err)
	}
	id := w.record(d)
	for _, name := range names[1:] {
		if d, err = w.state().Cosign(w.t.Context(), id, testKey(w.t, name)); err != nil {
			w.t.Fatal(err)
		}
		w.decisions[id] = d.Format()
	}
	return id
}

// force makes a decision without any of the checks, as somebody with a key and
// another tool could.
func (w *world) force(names []string, st *Statement) canonical.Digest {
	w.t.Helper()
	forced := *st
	if forced.By == "" {
		forced.By = names[0] + "@example.com"
	}
	if forced.At == 0 {
		forced.At = w.now.Unix()
	}
	d := &Decision{Statement: forced}
	for _, name := range names {
		var err error
		if d.Signatures, err = addSignature(w.t.Context(), testKey(w.t, name), "agentgateway-decision@v1", forced.Canonical(), d.Signatures); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.record(d)
}

func (w *world) record(d *Decision) canonical.Digest {
	w.t.Helper()
	id := d.Statement.ID()
	w.decisions[id] = d.Format()
	if d.Statement.Lockfile != w.path {
		return id
	}
	if err := Record(w.lock, &d.Statement); err != nil {
		w.t.Fatal(err)
	}
	return id
}

// clone is a branch: what is done in it does not touch the world it came from.
func (w *world) clone() *world {
	out := *w
	out.versions = slices.Clone(w.versions)
	out.decisions = maps.Clone(w.decisions)
	out.proposers = maps.Clone(w.proposers)
	lock, err := lockfile.Parse(lockfile.Format(w.normal()))
	if err != nil {
		w.t.Fatal(err)
	}
	out.lock = lock
	return &out
}

// normal fills in what a lockfile must have to be written.
func (w *world) normal() *lockfile.File {
	f := *w.lock
	f.GeneratedBy, f.GeneratedAt = "test", "2026-11-30T12:00:00.000Z"
	for _, s := range f.Servers {
		for i := range s.Lists[surface.KindTool] {
			it := &s.Lists[surface.KindTool][i]
			if it.Tool == nil {
				it.Tool = &surface.ToolHashes{Name: canonical.SumString(it.Name), Description: it.Digest, InputSchema: it.Digest}
			}
		}
		s.SurfaceHash = digestOf("surface")
	}
	return &f
}

// codes lists the codes of findings above note, sorted, each once.
func codes(findings []finding.Finding) []string {
	var list []string
	for _, f := range findings {
		if f.Grade > finding.Note {
			list = append(list, string(f.Code))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// allKeys are the items of the world's lockfile that an approval is about.
func (w *world) allKeys() []surface.Key {
	return []surface.Key{{Server: "files", Kind: surface.KindSource}, {Server: "files", Kind: surface.KindInstructions}, toolKey("read"), toolKey("write")}
}

// wantStatus holds the status of an item.
func (w *world) wantStatus(key surface.Key, want Status) {
	w.t.Helper()
	it := w.state().Item(key)
	switch {
	case it == nil:
		w.t.Errorf("there is no item %v", key)
	case it.Status != want:
		w.t.Errorf("%v is %s (%s), not %s", key, it.Status, it.Why, want)
	}
}
