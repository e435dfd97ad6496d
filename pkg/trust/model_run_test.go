package trust

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

var (
	modelSeed = flag.Uint64("model.seed", 1, "seed of the model test; 0 takes one from the clock")
	modelTake = flag.Int("model.steps", 0, "steps of the model test; 0 takes the usual number")
)

// TestModel takes random steps (lock, decide, co-sign, change the trust list,
// branch and merge, tamper without a key) and holds every item's state after each
// step against the model.
func TestModel(t *testing.T) {
	seed, steps := *modelSeed, *modelTake
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if steps == 0 {
		steps = modelSteps
		if testing.Short() {
			steps /= 10
		}
	}
	t.Logf("seed %d, %d steps", seed, steps)
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	const perWorld = 60
	var next, taken atomic.Int64
	var done [len(stepNames)]atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for world := next.Add(1); taken.Load() < int64(steps) && !t.Failed(); world = next.Add(1) {
				r := &run{rng: rand.New(rand.NewPCG(seed, uint64(world)))}
				if err := r.play(perWorld); err != nil {
					t.Errorf("seed %d, world %d: %v\n%s", seed, world, err, strings.Join(r.story, "\n"))
				}
				taken.Add(int64(len(r.story)))
				for i, n := range r.done {
					done[i].Add(int64(n))
				}
			}
		})
	}
	workers.Wait()
	counts := make([]string, len(stepNames))
	for i, name := range stepNames {
		counts[i] = fmt.Sprintf("%s %d", name, done[i].Load())
		if done[i].Load() == 0 && steps > 10_000 {
			t.Errorf("the step %s was never done", name)
		}
	}
	t.Logf("%d steps: %s", taken.Load(), strings.Join(counts, ", "))
}

// run is one world.
type run struct {
	rng   *rand.Rand
	t     *tree
	other *tree // a branch, or nil
	story []string
	// changed says that the tree is to be read and checked again.
	changed bool
	done    [len(stepNames)]int // steps that had an effect
}

const (
	stepLock = iota
	stepAbsent
	stepDecide
	stepDecideRefused
	stepCosign
	stepCosignRefused
	stepForce
	stepTrust
	stepTrustRefused
	stepStand
	stepBranch
	stepMerge
	stepTamper
)

var stepNames = [...]string{"lock", "absent", "decide", "decide-refused", "cosign", "cosign-refused", "force", "trust", "trust-refused", "stand", "branch", "merge", "tamper"}

func (r *run) tell(step int, format string, args ...any) {
	r.done[step]++
	r.changed = r.changed || step != stepDecideRefused && step != stepCosignRefused && step != stepTamper
	r.story = append(r.story, stepNames[step]+": "+fmt.Sprintf(format, args...))
}

func (r *run) chance(percent int) bool { return r.rng.IntN(100) < percent }

func pick[E any](r *run, list []E) E { return list[r.rng.IntN(len(list))] }

func (r *run) play(steps int) (err error) {
	if r.t, err = newTree(); err != nil {
		return err
	}
	for range r.rng.IntN(6) { // most worlds begin with a team
		if err := r.enlist(); err != nil {
			return err
		}
	}
	table := []struct {
		weight int
		step   func() error
	}{{14, r.lock}, {2, r.absent}, {40, r.decide}, {16, r.cosign}, {6, r.force}, {7, r.trust}, {3, r.branch}, {4, r.merge}, {8, r.tamper}}
	for tries := 0; len(r.story) < steps && tries < 20*steps; tries++ {
		n := r.rng.IntN(100)
		for _, entry := range table {
			if n -= entry.weight; n < 0 {
				if err := entry.step(); err != nil {
					return err
				}
				break
			}
		}
		if !r.changed {
			continue
		}
		r.changed = false
		if err := r.t.load(); err != nil {
			return err
		}
		if err := r.t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) lock() error {
	key := pick(r, modelKeys)
	if key.Kind == surface.KindServer {
		return nil
	}
	it := r.t.m.items[key]
	it.digest = modelDigest(key, r.rng.IntN(modelTexts))
	var proposers []string
	for _, s := range cast {
		if r.chance(10) {
			proposers = append(proposers, s.person)
		}
	}
	r.t.proposers[it.digest] = proposers
	r.tell(stepLock, "%v is %s, proposed by %v", key, it.digest.Short(), proposers)
	return nil
}

func (r *run) absent() error {
	key := pick(r, modelKeys)
	if key.Kind == surface.KindServer || key.Kind == surface.KindSource {
		return nil
	}
	it := r.t.m.items[key]
	it.absent = !it.absent
	r.tell(stepAbsent, "%v: %v", key, it.absent)
	return nil
}

// proposal draws an action and items that it could be about.
func (r *run) proposal() Proposal {
	p := Proposal{Action: pick(r, []Action{Approve, Approve, Approve, Approve, Reject, Disable, Enable, Pause, Resume, Rollback})}
	server := p.Action == Pause || p.Action == Resume
	// Mostly what can be enabled or resumed is.
	needs := map[Action]Status{Enable: Disabled, Resume: Paused}[p.Action]
	sensible := r.chance(85)
	chosen := map[surface.Key]bool{}
	for range 1 + r.rng.IntN(3) {
		key := pick(r, modelKeys)
		if chosen[key] || (key.Kind == surface.KindServer) != server {
			continue
		}
		if status, _ := r.t.m.state(key); sensible && needs != "" && status != needs || sensible && p.Action.puts() && (status == Disabled || status == Absent) {
			continue
		}
		chosen[key] = true
		it := r.t.m.items[key]
		digest := it.digest
		if p.Action == Rollback || p.Action == Approve && r.chance(2) {
			digest = modelDigest(key, r.rng.IntN(modelTexts))
		}
		if p.Action == Rollback && sensible && !r.t.m.everApproved(key, digest) {
			continue
		}
		if server {
			digest = canonical.Digest{}
		}
		item := ProposedItem{Key: key, Digest: real(key, digest), Grade: finding.Warning, Proposers: r.t.proposers[digest]}
		item.GatewayDigest = gatewayOf(key, item.Digest)
		if r.chance(20) {
			item.Grade = finding.Critical
		}
		p.Items = append(p.Items, item)
	}
	r.t.serial++
	p.Reason = fmt.Sprint("reason ", r.t.serial, r.rng.Uint64())
	return p
}

// anyKey draws the key of somebody, mostly one who is listed.
func (r *run) anyKey() cheapKey {
	switch n := r.rng.IntN(100); {
	case n < 3:
		return mallory
	case n < 15:
		return cheapKey(pick(r, cast).keys[0])
	}
	return cheapKey(pick(r, r.t.m.current().signers).keys[0])
}

// expected makes the model's view of a proposal.
func (r *run) expected(p *Proposal) *modelDecision {
	d := &modelDecision{action: p.Action, trust: r.t.m.current().digest, about: map[surface.Key]modelAbout{}}
	for _, it := range p.Items {
		about := modelAbout{digest: known(it.Key, it.Digest), proposers: it.Proposers, critical: it.Grade == finding.Critical, serial: 1}
		for _, id := range r.t.m.ends(it.Key) {
			about.previous = append(about.previous, id)
			about.serial = max(about.serial, r.t.m.decisions[id].about[it.Key].serial+1)
		}
		d.about[it.Key] = about
	}
	return d
}

func (r *run) decide() error {
	p := r.proposal()
	if len(p.Items) == 0 {
		return nil
	}
	key := r.anyKey()
	want := r.expected(&p)
	may := r.t.m.mayDecide(want, string(key))
	s := r.t.state()
	st, err := s.Draft(p)
	var d *Decision
	if err == nil {
		d, err = s.Sign(context.Background(), st, testNow, key)
	}
	if may != (err == nil) {
		return fmt.Errorf("%s %v by %s: the model says %v, and the error is %w", p.Action, p.Items, key[len(key)-8:], may, err)
	}
	if err != nil {
		if _, ok := errors.AsType[*RefusalError](err); !ok {
			return fmt.Errorf("not a RefusalError: %w", err)
		}
		r.tell(stepDecideRefused, "%v", err)
		return nil
	}
	for _, it := range st.Items {
		about := want.about[it.Key]
		slices.SortFunc(about.previous, compareDigests)
		if it.Serial != about.serial || !slices.Equal(it.Previous, about.previous) {
			return fmt.Errorf("%v: serial %d after %v; the model says %d after %v", it.Key, it.Serial, it.Previous, about.serial, about.previous)
		}
	}
	if again, err := s.Draft(p); err != nil || again.ReviewDigest() != d.Statement.ReviewDigest() {
		return fmt.Errorf("the review digest is not the same twice: %w", err)
	}
	id := r.t.add(d, []string{string(key)})
	r.tell(stepDecide, "%s %s %v by %s", id.Short(), p.Action, slices.Collect(maps.Keys(want.about)), d.Statement.By)
	return nil
}

func (r *run) cosign() error {
	ids := r.t.ledger.IDs()
	if len(ids) == 0 {
		return nil
	}
	// Prefer decisions that lack something.
	slices.SortStableFunc(ids, func(a, b canonical.Digest) int { return r.rng.IntN(3) - 1 })
	key := r.anyKey()
	id := ids[0]
	for _, o := range ids {
		if d := r.t.m.decisions[o]; d != nil && len(d.keys) == 1 && r.chance(60) && slices.ContainsFunc(slices.Collect(maps.Keys(d.about)), func(k surface.Key) bool { return !r.t.m.counts(o, k) }) {
			id = o
			break
		}
	}
	may := r.t.m.mayCosign(id, string(key))
	d, err := r.t.state().Cosign(context.Background(), id, key)
	if may != (err == nil) {
		return fmt.Errorf("a signature by %s to %s: the model says %v, and the error is %w", key[len(key)-8:], id.Short(), may, err)
	}
	if err != nil {
		r.tell(stepCosignRefused, "%v", err)
		return nil
	}
	r.t.files[id] = d.Format()
	signed := *r.t.m.decisions[id]
	signed.keys = append(slices.Clone(signed.keys), string(key))
	r.t.m.decisions[id] = &signed
	r.tell(stepCosign, "%s by %s", id.Short(), key[len(key)-8:])
	return nil
}

// force makes a decision with another tool, which checks nothing: any action by
// any holder of a key.
func (r *run) force() error {
	p := r.proposal()
	if len(p.Items) == 0 {
		return nil
	}
	want := r.expected(&p)
	st := Statement{Repository: modelRepository, Lockfile: "agentgateway.lock", Trust: pick(r, r.t.m.versions).digest, Action: p.Action, Reason: p.Reason, At: testNow.Unix()}
	for _, it := range p.Items {
		about := want.about[it.Key]
		item := Item{Key: it.Key, Digest: it.Digest, GatewayDigest: it.GatewayDigest, Previous: ordered(about.previous, compareDigests), Serial: about.serial, Grade: it.Grade, Proposers: ordered(it.Proposers, strings.Compare)}
		if len(item.Previous) > 0 && r.chance(4) {
			item.Previous, item.Serial = []canonical.Digest{}, 1
		}
		if item.Serial > 1 && r.chance(3) {
			item.Serial++
		}
		if !item.Digest.IsZero() && r.chance(20) {
			item.Proposers = []string{}
		}
		st.Items = append(st.Items, item)
	}
	slices.SortFunc(st.Items, func(a, b Item) int { return a.Compare(b.Key) })
	switch r.rng.IntN(12) {
	case 0:
		st.Repository = digestOf("elsewhere")
	case 1:
		st.Lockfile = "other.lock"
	case 2:
		st.At = testNow.Add(time.Hour).Unix()
	case 3:
		st.Trust = digestOf("no version")
	}
	var keys []string
	st.By = pick(r, cast).name
	d := &Decision{}
	for range 1 + r.rng.IntN(3) {
		key := r.anyKey()
		if slices.Contains(keys, string(key)) {
			continue
		}
		keys = append(keys, string(key))
		if i := slices.IndexFunc(cast, func(s modelSigner) bool { return s.keys[0] == string(key) }); i >= 0 && r.chance(70) {
			st.By = cast[i].name
		}
	}
	d.Statement = st
	for _, key := range keys {
		var err error
		if d.Signatures, err = addSignature(context.Background(), cheapKey(key), sshsigDecision, st.Canonical(), d.Signatures); err != nil {
			return err
		}
	}
	id := r.t.add(d, keys)
	r.tell(stepForce, "%s %s %v by %s", id.Short(), p.Action, slices.Collect(maps.Keys(want.about)), st.By)
	// Most such files never get through review: they are taken out again.
	if r.chance(70) {
		if err := r.t.load(); err != nil {
			return err
		}
		if err := r.t.check(); err != nil {
			return err
		}
		for _, it := range st.Items {
			pointer := canonical.Digest{}
			if previous := want.about[it.Key].previous; len(previous) > 0 {
				pointer = previous[0]
			}
			r.t.m.items[it.Key].pointer = pointer
		}
		delete(r.t.files, id)
		delete(r.t.m.decisions, id)
	}
	return nil
}
