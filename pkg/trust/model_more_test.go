package trust

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
)

const sshsigDecision = sshsig.NamespaceDecision

// enlist adds somebody with the signatures of everybody.
func (r *run) enlist() error {
	next := *r.t.m.current()
	next.signers, next.stands = slices.Clone(next.signers), maps.Clone(next.stands)
	who := pick(r, cast)
	if slices.ContainsFunc(next.signers, func(o modelSigner) bool { return o.name == who.name }) {
		return nil
	}
	next.signers = append(next.signers, who)
	if persons := len(next.signers) / 2; r.chance(50) && persons > 1 {
		next.approve = 2
	}
	if !next.feasible() {
		next.approve = 1
	}
	v, err := r.t.chain.Next(Add(who.listed()), Set("threshold.approve", strconv.Itoa(next.approve)))
	if err != nil {
		return err
	}
	return r.signVersion(v, next, false)
}

// trust makes the next trust version, or tries to.
func (r *run) trust() error {
	if r.other != nil {
		return nil // one branch changes the list
	}
	m := &r.t.m
	next := *m.current()
	next.signers = slices.Clone(next.signers)
	next.stands = maps.Clone(next.stands)
	var changes []Change
	s := r.t.state()
	whole := !slices.ContainsFunc(modelKeys, func(k surface.Key) bool { return !m.whole(k) })
	stand := false
	switch n := r.rng.IntN(10); {
	case n < 4: // add
		who := pick(r, cast)
		if slices.ContainsFunc(next.signers, func(o modelSigner) bool { return o.name == who.name }) {
			return nil
		}
		next.signers = append(next.signers, who)
		changes = append(changes, Add(who.listed()))
		if r.chance(50) {
			// A key that is listed again brings back what it signed before.
			stand = !slices.ContainsFunc(m.versions, func(v modelVersion) bool { return v.signer(who.keys[0]) != nil })
			ids := s.SelfApprovals()
			for _, id := range ids {
				next.stands[id] = true
			}
			changes = append(changes, Stand(ids, nil))
		}
	case n < 6: // remove
		who := pick(r, next.signers)
		next.signers = slices.DeleteFunc(next.signers, func(o modelSigner) bool { return o.name == who.name })
		changes = append(changes, Remove(who.name))
		if r.chance(60) {
			stand = true
			ids := s.Stands(who.name)
			for _, id := range ids {
				next.stands[id] = true
			}
			changes = append(changes, Stand(ids, nil))
		} else if r.chance(50) {
			ids := s.SignedBy(who.name)
			for _, id := range ids {
				delete(next.stands, id)
			}
			changes = append(changes, Stand(nil, ids))
		}
	default:
		value := 1 + r.rng.IntN(3)
		switch pick(r, []string{"approve", "critical", "admin", "self", "new"}) {
		case "new":
			next.newItems = !next.newItems
			changes = append(changes, Set("newItems", map[bool]string{true: "critical", false: "warning"}[next.newItems]))
		case "approve":
			next.approve = value
			changes = append(changes, Set("threshold.approve", strconv.Itoa(value)))
		case "critical":
			next.critical = value
			changes = append(changes, Set("threshold.critical", strconv.Itoa(value)))
		case "admin":
			next.admin = value
			changes = append(changes, Set("threshold.admin", strconv.Itoa(value)))
		default:
			next.allowSelf = !next.allowSelf
			changes = append(changes, Set("allowSelfApproval", strconv.FormatBool(next.allowSelf)))
		}
	}
	v, err := r.t.chain.Next(changes...)
	if feasible := next.feasible(); feasible != (err == nil) {
		return fmt.Errorf("the next version: the model says %v, and the error is %w", feasible, err)
	}
	if err != nil {
		r.tell(stepTrustRefused, "%v", err)
		return nil
	}
	return r.signVersion(v, next, stand && whole)
}

func (v *modelVersion) feasible() bool {
	may, admins := map[string]bool{}, map[string]bool{}
	for _, s := range v.signers {
		if s.may {
			may[s.person] = true
		}
		if s.admin {
			admins[s.person] = true
		}
	}
	return len(v.signers) > 0 && len(may) >= max(v.approve, v.critical) && len(admins) >= v.admin
}

// met reports whether the keys meet the admin threshold of a version.
func (v *modelVersion) met(keys []string) bool {
	persons := map[string]bool{}
	for _, key := range keys {
		if s := v.signer(key); s != nil && s.admin {
			persons[s.person] = true
		}
	}
	return len(persons) >= v.admin
}

func (r *run) signVersion(v *Version, next modelVersion, stand bool) error {
	m := &r.t.m
	var keys []string
	for _, s := range cast {
		key := cheapKey(s.keys[0])
		if r.chance(15) {
			continue
		}
		signed, err := r.t.chain.Sign(context.Background(), v, key)
		old, now := m.current().signer(s.keys[0]), next.signer(s.keys[0])
		if admin := old != nil && old.admin || now != nil && now.admin; admin != (err == nil) {
			return fmt.Errorf("%s signs a version: the model says %v, and the error is %w", s.name, admin, err)
		}
		if err == nil {
			v = signed
			keys = append(keys, s.keys[0])
		}
	}
	before := map[surface.Key]Status{}
	for _, key := range modelKeys {
		before[key], _ = m.state(key)
	}
	r.t.versions = append(r.t.versions, File{v.Signed.Version, v.Format()})
	r.t.chain = nil
	if err := r.t.load(); err != nil {
		return err
	}
	if !m.current().met(keys) || !next.met(keys) {
		if w := r.t.chain.Waiting(); w == nil || w.Digest != v.Signed.Digest() || r.t.chain.Len() != len(m.versions) {
			return fmt.Errorf("a version with too few signatures does not wait")
		}
		r.t.versions, r.t.chain = r.t.versions[:len(r.t.versions)-1], nil
		r.tell(stepTrustRefused, "version %d waits", v.Signed.Version)
		return r.t.load()
	}
	next.digest = v.Signed.Digest()
	m.versions = append(m.versions, next)
	r.tell(stepTrust, "version %d: %d signers, %d/%d/%d", v.Signed.Version, len(next.signers), next.approve, next.critical, next.admin)
	if !stand {
		return nil
	}
	// What stands goes on counting: no item loses anything.
	r.done[stepStand]++
	for _, key := range modelKeys {
		if after, _ := m.state(key); after != before[key] && (before[key] == Approved || before[key] == Disabled || before[key] == Rejected || before[key] == Paused) && !r.gained(key, before[key]) {
			return fmt.Errorf("%v was %s and is %s, although what made it so stands", key, before[key], after)
		}
	}
	return nil
}

// gained reports a state that changed because more counts now, not less: who is
// alone may approve what they proposed.
func (r *run) gained(key surface.Key, before Status) bool {
	m := &r.t.m
	if len(m.versions) < 2 {
		return false
	}
	old := m.versions[len(m.versions)-2]
	return !old.alone() && m.current().alone() && before != Approved
}

func (r *run) branch() error {
	if r.other == nil {
		r.other = r.t.clone()
		r.tell(stepBranch, "")
		return nil
	}
	r.t, r.other = r.other, r.t
	return nil
}

// merge joins the branch: all decisions of both, the signatures of both, and for
// each item the pointer and the text of one of them.
func (r *run) merge() error {
	if r.other == nil || r.chance(60) {
		return nil
	}
	a, b := r.t, r.other
	r.other = nil
	for id, data := range b.files {
		mine, ok := a.files[id]
		if !ok {
			a.files[id], a.m.decisions[id] = data, b.m.decisions[id]
			continue
		}
		x, err := ParseDecision(mine)
		if err != nil {
			return err
		}
		y, err := ParseDecision(data)
		if err != nil {
			return err
		}
		merged, err := MergeDecisions(x, y, mallory)
		if err != nil {
			return err
		}
		a.files[id] = merged.Format()
		both := *a.m.decisions[id]
		both.keys = slices.Clone(both.keys)
		for _, key := range b.m.decisions[id].keys {
			if !slices.Contains(both.keys, key) {
				both.keys = append(both.keys, key)
			}
		}
		a.m.decisions[id] = &both
	}
	for _, key := range modelKeys {
		switch mine, theirs := a.m.items[key], b.m.items[key]; {
		case a.m.follows(theirs.pointer, mine.pointer, key):
			*mine = *theirs // only they moved on
		case !a.m.follows(mine.pointer, theirs.pointer, key) && r.chance(50):
			*mine = *theirs
		}
	}
	maps.Copy(a.proposers, b.proposers)
	r.tell(stepMerge, "%d decisions", len(a.files))
	return nil
}

// follows reports whether the decision later names earlier, near or far.
func (m *model) follows(later, earlier canonical.Digest, key surface.Key) bool {
	if later == earlier || later.IsZero() {
		return false
	}
	if earlier.IsZero() {
		return true
	}
	before := map[canonical.Digest]bool{}
	m.reach(later, key, before)
	return before[earlier]
}

// tamper changes files as somebody could who holds no listed key. The state must
// be what the model makes of the changed files, and a change of what is in force
// must be reported; then everything is put back.
func (r *run) tamper() error {
	bad := r.t.clone()
	ids := slices.SortedFunc(maps.Keys(bad.files), compareDigests)
	key := pick(r, modelKeys)
	what := r.tamperFiles(bad, ids, key)
	if what == "" {
		return nil
	}
	if err := bad.load(); err != nil {
		return err
	}
	if err := bad.check(); err != nil {
		return fmt.Errorf("tampered, %s: %w", what, err)
	}
	before, after := r.t.state(), Evaluate(Input{Chain: r.t.chain, Tree: bad.chain, Ledger: bad.ledger, Lockfile: bad.lock(), Path: "agentgateway.lock", Now: testNow})
	found := slices.Concat(after.Findings, CompareBase(Side{r.t.chain, r.t.ledger, before}, Side{bad.chain, bad.ledger, after}, Recount{}))
	for _, key := range modelKeys {
		old, now := before.Item(key), after.Item(key)
		same := (old.InForce == nil) == (now.InForce == nil) && (old.InForce == nil || old.InForce.Digest == now.InForce.Digest)
		if old.Status == now.Status && same && before.Paused(key.Server) == after.Paused(key.Server) {
			continue
		}
		if !same && now.InForce != nil && !r.t.m.everApproved(key, known(key, now.InForce.Digest)) {
			return fmt.Errorf("tampered, %s: %v has in force what nobody approved", what, key)
		}
		if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Grade == finding.Critical }) && (!same || !now.Passes(false)) {
			return fmt.Errorf("tampered, %s: %v was %s and is %s, and nothing says so", what, key, old.Status, now.Status)
		}
	}
	r.tell(stepTamper, "%s", what)
	return nil
}

func (r *run) tamperFiles(bad *tree, ids []canonical.Digest, key surface.Key) string {
	it := bad.m.items[key]
	var id canonical.Digest
	if len(ids) > 0 {
		id = pick(r, ids)
	}
	switch n := r.rng.IntN(8); {
	case n == 0:
		it.pointer = id
		return "a pointer is moved"
	case n == 1:
		it.pointer = canonical.Digest{}
		return "a pointer is dropped"
	case n == 2 && key.Kind != surface.KindServer:
		it.digest = modelDigest(key, r.rng.IntN(modelTexts))
		return "a digest is changed"
	case len(ids) == 0:
		return ""
	case n == 3:
		delete(bad.files, id)
		delete(bad.m.decisions, id)
		return "a decision is deleted"
	case n == 4:
		data := slices.Clone(bad.files[id])
		at := r.rng.IntN(len(data))
		for flip := data[at]; data[at] == flip; {
			data[at] = byte(rand.N(256))
		}
		return r.garble(bad, id, data)
	case n == 5:
		d, err := ParseDecision(bad.files[id])
		if err != nil || slices.Contains(bad.m.decisions[id].keys, string(mallory)) {
			return ""
		}
		d.Signatures, _ = addSignature(context.Background(), mallory, sshsigDecision, d.Statement.Canonical(), d.Signatures)
		bad.files[id] = d.Format()
		signed := *bad.m.decisions[id]
		signed.keys = append(slices.Clone(signed.keys), string(mallory))
		bad.m.decisions[id] = &signed
		return "a stranger signs too"
	case n == 6:
		// The pointer and everything after an earlier decision are taken back.
		d := bad.m.decisions[id]
		if _, ok := d.about[key]; !ok {
			return ""
		}
		for _, later := range ids {
			if bad.m.follows(later, id, key) && later != id {
				delete(bad.files, later)
				delete(bad.m.decisions, later)
			}
		}
		it.pointer = id
		return "an item is taken back to an earlier decision"
	}
	// The statement of a decision is changed, its signatures stay.
	d, err := ParseDecision(bad.files[id])
	if err != nil {
		return ""
	}
	forged := *d
	forged.Statement.Reason += "!"
	forgedID := forged.Statement.ID()
	bad.files[forgedID] = forged.Format()
	if _, ok := bad.m.decisions[id].about[key]; ok {
		it.pointer = forgedID
	}
	return "a statement is changed under its signatures"
}

// garble puts other bytes in the place of a decision. What they say to the model
// is what a reader of the whole file says: the same or nothing.
func (r *run) garble(bad *tree, id canonical.Digest, data []byte) string {
	bad.files[id] = data
	same, err := ParseDecision(data)
	old, _ := ParseDecision(r.t.files[id])
	if err != nil || string(same.Format()) != string(old.Format()) {
		delete(bad.m.decisions, id)
	}
	return "a byte is changed"
}
