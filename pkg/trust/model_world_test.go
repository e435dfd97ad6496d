package trust

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"

	"golang.org/x/crypto/ssh"
)

// cheapKey signs by hashing, so that many thousand signatures cost little: the
// key, then a hash of namespace, key and message.
type cheapKey string

const cheapPrefix = "cheap "

func cheapSum(key string, ns sshsig.Namespace, message []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(key), []byte{0}, []byte(ns), []byte{0}, message))
	return sum[:]
}

func (k cheapKey) Key() string { return string(k) }

func (k cheapKey) Sign(_ context.Context, ns sshsig.Namespace, message []byte) ([]byte, error) {
	return slices.Concat([]byte(cheapPrefix), []byte(k), cheapSum(string(k), ns, message)), nil
}

func (cheapKey) Verify(message, blob []byte, ns sshsig.Namespace) (string, error) {
	rest, ok := bytes.CutPrefix(blob, []byte(cheapPrefix))
	if !ok || len(rest) < sha256.Size {
		return "", errors.New("not a cheap signature")
	}
	key := string(rest[:len(rest)-sha256.Size])
	if !bytes.Equal(rest[len(key):], cheapSum(key, ns, message)) {
		return "", errors.New("does not fit this message and key")
	}
	return key, nil
}

func newCheapKey(name string) cheapKey {
	seed := sha256.Sum256([]byte(name))
	public, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(seed[:]).Public())
	if err != nil {
		panic(err)
	}
	return cheapKey(sshsig.FormatPublicKey(public))
}

// cast is everybody in the model test. What they may do changes as it runs.
var cast = func() []modelSigner {
	everybody := []modelSigner{
		{name: "alice@x", person: "Alice", admin: true, may: true, pattern: "*"},
		{name: "bob@x", person: "Bob", admin: true, may: true, pattern: "*"},
		{name: "bob-laptop@x", person: "Bob", may: true, pattern: "*"},
		{name: "carol@x", person: "Carol", may: true, pattern: "*"},
		{name: "dave@x", person: "Dave", may: true, pattern: "s1*"},
		{name: "erin@x", person: "Erin", may: true, pattern: "*2"},
		{name: "robot@x", person: "Robot", pattern: "*"},
	}
	for i := range everybody {
		everybody[i].keys = []string{string(newCheapKey(everybody[i].name))}
	}
	return everybody
}()

// mallory is never listed.
var mallory = newCheapKey("mallory@x")

func (s *modelSigner) listed() Signer {
	out := Signer{Principal: s.name, Person: s.person, Keys: slices.Clone(s.keys)}
	for role, has := range map[Role]bool{Admin: s.admin, Approver: s.may, Deployer: !s.admin && !s.may} {
		if has {
			out.Roles = append(out.Roles, role)
		}
	}
	if s.pattern != "*" {
		out.Servers = []string{s.pattern}
	}
	return out
}

// A tree is the real files and the model of them, side by side.
type tree struct {
	m         model
	versions  []File
	chain     *Chain
	files     map[canonical.Digest][]byte
	ledger    *Ledger
	serial    int    // names texts and reasons
	now       *State // of the files as they were last read
	proposers map[canonical.Digest][]string
}

var (
	modelRepository = digestOf("the model's repository")
	modelKeys       = []surface.Key{
		{Server: "s1", Kind: surface.KindServer}, {Server: "s1", Kind: surface.KindSource}, {Server: "s1", Kind: surface.KindTool, Name: "a"}, {Server: "s1", Kind: surface.KindTool, Name: "b"},
		{Server: "s2", Kind: surface.KindServer}, {Server: "s2", Kind: surface.KindTool, Name: "a"}, {Server: "s2", Kind: surface.KindInstructions},
	}
	modelTargets = map[string]string{"s1": "s1-target", "s2": "s2"}
)

func modelDigest(item surface.Key, text int) canonical.Digest {
	return digestOf(fmt.Sprintf("%v text %d", item, text))
}

func gatewayOf(item surface.Key, d canonical.Digest) canonical.Digest {
	if item.Kind != surface.KindTool || d.IsZero() {
		return canonical.Digest{}
	}
	return digestOf("gateway " + d.String())
}

func newTree() (*tree, error) {
	t := &tree{files: map[canonical.Digest][]byte{}, proposers: map[canonical.Digest][]string{}}
	t.m = model{decisions: map[canonical.Digest]*modelDecision{}, items: map[surface.Key]*modelItem{}, targets: modelTargets}
	for _, key := range modelKeys {
		t.m.items[key] = &modelItem{}
		if key.Kind != surface.KindServer {
			t.m.items[key].digest = modelDigest(key, 0)
		}
	}
	v, err := Init(modelRepository, cast[0].listed())
	if err != nil {
		return nil, err
	}
	if v, err = (*Chain)(nil).Sign(context.Background(), v, cheapKey(cast[0].keys[0])); err != nil {
		return nil, err
	}
	t.versions = []File{{1, v.Format()}}
	t.m.versions = []modelVersion{{digest: v.Signed.Digest(), signers: []modelSigner{cast[0]}, approve: 1, critical: 1, admin: 1, stands: map[canonical.Digest]bool{}}}
	return t, t.load()
}

// load reads the files again.
func (t *tree) load() (err error) {
	t.now = nil
	if t.chain == nil {
		if t.chain, err = LoadChain(t.versions, nil, mallory); err != nil {
			return err
		}
	}
	files := make([]DecisionFile, 0, len(t.files))
	for id, data := range t.files {
		files = append(files, DecisionFile{DecisionPath(id), data})
	}
	t.ledger, err = NewLedger(files, t.ledger, mallory)
	return err
}

func (t *tree) clone() *tree {
	out := *t
	out.versions = slices.Clone(t.versions)
	out.files = maps.Clone(t.files)
	out.proposers = maps.Clone(t.proposers)
	out.m.versions = slices.Clone(t.m.versions)
	out.m.decisions = maps.Clone(t.m.decisions)
	out.m.items = make(map[surface.Key]*modelItem, len(t.m.items))
	for key, it := range t.m.items {
		item := *it
		out.m.items[key] = &item
	}
	return &out
}

// lock makes the lockfile that the model speaks of.
func (t *tree) lock() *lockfile.File {
	f := &lockfile.File{}
	for _, name := range []string{"s1", "s2"} {
		s := &lockfile.Server{Name: name, Covers: []string{}, Lists: map[surface.Kind][]lockfile.Item{}}
		if modelTargets[name] != name {
			s.Target = modelTargets[name]
		}
		for _, key := range modelKeys {
			it := t.m.items[key]
			switch {
			case key.Server != name:
			case key.Kind == surface.KindServer:
				s.Decision = it.pointer
			case key.Kind == surface.KindSource:
				// The source's digest is computed: the model learns it in turn.
				s.Source = &source.Source{Transport: source.Stdio, Command: it.digest.String()}
				s.SourceDecision = it.pointer
			case key.Kind == surface.KindInstructions:
				s.Instructions = &lockfile.Instructions{Hash: it.digest, Decision: it.pointer, Absent: it.absent}
			default:
				s.Lists[key.Kind] = append(s.Lists[key.Kind], lockfile.Item{Name: key.Name, Digest: it.digest, GatewayDigest: gatewayOf(key, it.digest), Decision: it.pointer, Absent: it.absent})
			}
		}
		f.Servers = append(f.Servers, s)
	}
	return f
}

// sources maps the digests of sources to those the model knows them by.
var sources = func() map[canonical.Digest]canonical.Digest {
	out := map[canonical.Digest]canonical.Digest{}
	for text := range modelTexts {
		d := modelDigest(modelKeys[1], text)
		out[lockfile.SourceDigest(&lockfile.Server{
			Name: "s1", Target: modelTargets["s1"], Covers: []string{}, Source: &source.Source{Transport: source.Stdio, Command: d.String()},
		})] = d
	}
	return out
}()

// modelTexts is how many texts an item can have.
const modelTexts = 4

// real turns a digest of the model into the one that decisions name.
func real(item surface.Key, d canonical.Digest) canonical.Digest {
	if item.Kind != surface.KindSource {
		return d
	}
	for real, known := range sources {
		if known == d {
			return real
		}
	}
	return d
}

// known is the inverse of real.
func known(item surface.Key, d canonical.Digest) canonical.Digest {
	if m, ok := sources[d]; ok && item.Kind == surface.KindSource {
		return m
	}
	return d
}

func (t *tree) state() *State {
	if t.now == nil {
		t.now = Evaluate(Input{Chain: t.chain, Ledger: t.ledger, Lockfile: t.lock(), Path: "agentgateway.lock", Now: testNow})
	}
	return t.now
}

// check holds the state of every item against the model.
func (t *tree) check() error {
	s := t.state()
	if len(s.Items) != len(modelKeys) {
		return fmt.Errorf("there are %d items, not %d", len(s.Items), len(modelKeys))
	}
	failing := 0
	for _, key := range modelKeys {
		it := s.Item(key)
		status, want := t.m.state(key)
		var force, by canonical.Digest
		if it.InForce != nil {
			force, by = known(key, it.InForce.Digest), it.InForce.Decision
			if it.InForce.GatewayDigest != gatewayOf(key, it.InForce.Digest) {
				return fmt.Errorf("%v: the gateway digest in force is of another text", key)
			}
		}
		if it.Status != status || force != want.force || by != want.by {
			return fmt.Errorf("%v: it is %s (%s), in force %s by %s; the model says %s, %s by %s",
				key, it.Status, it.Why, force.Short(), by.Short(), status, want.force.Short(), want.by.Short())
		}
		if err := t.checkAgainst(s, key, status == Conflict); err != nil {
			return err
		}
		if !it.Passes(false) {
			failing++
		}
		if key.Kind == surface.KindServer && s.Paused(key.Server) != (status == Paused || status == Conflict) {
			return fmt.Errorf("%v: paused is %v", key, s.Paused(key.Server))
		}
	}
	critical := slices.ContainsFunc(s.Findings, func(f finding.Finding) bool { return f.Grade == finding.Critical })
	if failing > 0 && !critical {
		return fmt.Errorf("%d items do not pass, and nothing says so", failing)
	}
	return nil
}

// checkAgainst holds what a text is graded against, of a new decision and of those
// that are made.
func (t *tree) checkAgainst(s *State, key surface.Key, conflict bool) error {
	same := func(decision canonical.Digest, want modelState) error {
		have := s.Against(key, decision)
		for i := range have {
			have[i] = known(key, have[i])
		}
		if model := slices.SortedFunc(maps.Keys(want.against()), compareDigests); !slices.Equal(ordered(have, compareDigests), model) {
			return fmt.Errorf("%v: after %s a text is graded against %v; the model says %v", key, decision.Short(), have, model)
		}
		return nil
	}
	if conflict && !t.m.healable(key) {
		return nil
	}
	if err := same(canonical.Digest{}, t.m.after(t.m.ends(key), key)); err != nil || conflict {
		return err
	}
	for _, id := range t.m.live(key) {
		if err := same(id, t.m.after(t.m.decisions[id].about[key].previous, key)); err != nil {
			return err
		}
	}
	return nil
}

// add puts a decision into the files and the model, and moves the pointers of its
// items.
func (t *tree) add(d *Decision, keys []string) canonical.Digest {
	st := &d.Statement
	id := st.ID()
	m := &modelDecision{
		action: st.Action, trust: st.Trust, by: st.By, keys: slices.Clone(keys), about: map[surface.Key]modelAbout{},
		foreign: st.Repository != modelRepository || st.Lockfile != "agentgateway.lock",
		future:  st.At > testNow.Add(10*time.Minute).Unix(),
	}
	for _, it := range st.Items {
		m.about[it.Key] = modelAbout{known(it.Key, it.Digest), it.Proposers, it.Grade == finding.Critical, it.Previous, it.Serial}
		t.m.items[it.Key].pointer = id
	}
	t.m.decisions[id] = m
	t.files[id] = d.Format()
	return id
}
