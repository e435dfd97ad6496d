package trust

import (
	"maps"
	"path"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// The model says in the plainest way who may do what and what is in force. It
// shares no code with the package but the names of things, keeps no caches, and
// works on sets.
type model struct {
	versions  []modelVersion // newest last
	decisions map[canonical.Digest]*modelDecision
	items     map[surface.Key]*modelItem
	targets   map[string]string
}

type modelVersion struct {
	digest                   canonical.Digest
	signers                  []modelSigner
	approve, critical, admin int
	allowSelf, newItems      bool
	stands                   map[canonical.Digest]bool
}

type modelSigner struct {
	name, person string
	keys         []string
	admin, may   bool // may decide
	pattern      string
}

// modelItem is what the lockfile holds of an item.
type modelItem struct {
	digest  canonical.Digest
	absent  bool
	pointer canonical.Digest
}

type modelDecision struct {
	action  Action
	trust   canonical.Digest
	by      string
	keys    []string
	about   map[surface.Key]modelAbout
	foreign bool // of another repository or lockfile
	future  bool
}

type modelAbout struct {
	digest    canonical.Digest
	proposers []string
	critical  bool
	previous  []canonical.Digest
	serial    int64
}

// modelState is what decisions have made of an item.
type modelState struct {
	force            canonical.Digest
	by               canonical.Digest
	barred           map[canonical.Digest]bool
	disabled, paused bool
	// What a new text is graded against; see State.Against.
	last, agreed, first map[canonical.Digest]bool
}

func (m *model) current() *modelVersion { return &m.versions[len(m.versions)-1] }

func (v *modelVersion) signer(key string) *modelSigner {
	for i := range v.signers {
		if slices.Contains(v.signers[i].keys, key) {
			return &v.signers[i]
		}
	}
	return nil
}

func (v *modelVersion) alone() bool {
	persons := map[string]bool{}
	for _, s := range v.signers {
		persons[s.person] = true
	}
	return len(persons) == 1 || v.allowSelf
}

func (m *model) made(d *modelDecision) *modelVersion {
	for i := range m.versions {
		if m.versions[i].digest == d.trust {
			return &m.versions[i]
		}
	}
	return nil
}

func gives(a Action) bool { return a == Approve || a == Rollback || a == Enable || a == Resume }

// who returns the person that a key counts as for an item of a decision; empty for
// nobody.
func (m *model) who(id canonical.Digest, d *modelDecision, key string, item surface.Key) string {
	now := m.current()
	s := now.signer(key)
	self := now.alone()
	if now.stands[id] {
		self = self || m.made(d).alone()
		for i := len(m.versions) - 1; i >= 0 && s == nil; i-- {
			s = m.versions[i].signer(key)
		}
	}
	if s == nil || !s.may {
		return ""
	}
	server, _ := path.Match(s.pattern, item.Server)
	target, _ := path.Match(s.pattern, m.targets[item.Server])
	if !server || !target {
		return ""
	}
	if gives(d.action) && d.action != Rollback && !self && slices.Contains(d.about[item].proposers, s.person) {
		return ""
	}
	return s.person
}

func (m *model) need(d *modelDecision, item surface.Key) int {
	now := m.current()
	switch {
	case !gives(d.action):
		return 1
	case d.about[item].critical || item.Kind == surface.KindSource, now.newItems && item.Kind == surface.KindTool && m.isNew(d, item):
		return max(now.approve, now.critical)
	}
	return now.approve
}

// isNew reports whether nothing of the item was in force before an approval.
func (m *model) isNew(d *modelDecision, item surface.Key) bool {
	return (d.action == Approve || d.action == Rollback) && len(m.after(d.about[item].previous, item).last) == 0
}

func (m *model) persons(id canonical.Digest, d *modelDecision, item surface.Key) map[string]bool {
	persons := map[string]bool{}
	if !m.sound(d) {
		return persons
	}
	for _, key := range d.keys {
		if person := m.who(id, d, key, item); person != "" {
			persons[person] = true
		}
	}
	return persons
}

// sound reports a decision that could count at all.
func (m *model) sound(d *modelDecision) bool {
	made := m.made(d)
	if d.foreign || d.future || made == nil {
		return false
	}
	for _, key := range d.keys {
		if s := made.signer(key); s != nil && s.name == d.by {
			return true
		}
	}
	return false
}

func (m *model) counts(id canonical.Digest, item surface.Key) bool {
	d := m.decisions[id]
	if len(m.persons(id, d, item)) < m.need(d, item) {
		return false
	}
	if d.action != Rollback {
		return true
	}
	before := map[canonical.Digest]bool{}
	m.reach(id, item, before)
	delete(before, id)
	for o := range before {
		if e := m.decisions[o]; (e.action == Approve || e.action == Rollback) && e.about[item].digest == d.about[item].digest && m.at(o, item).by == o {
			return true
		}
	}
	return false
}

// about returns the ids of the decisions about an item.
func (m *model) about(item surface.Key) []canonical.Digest {
	var ids []canonical.Digest
	for id, d := range m.decisions {
		if _, ok := d.about[item]; ok && !d.foreign {
			ids = append(ids, id)
		}
	}
	return ids
}

// could reports whether one of those who signed may decide about the item, now or,
// with then, under the version that the decision names.
func (m *model) could(id canonical.Digest, item surface.Key, then bool) bool {
	d := m.decisions[id]
	made := m.made(d)
	if made != nil && !slices.ContainsFunc(d.keys, func(key string) bool { s := made.signer(key); return s != nil && s.name == d.by }) {
		return false
	}
	versions := []*modelVersion{m.current()}
	if then && made != nil {
		versions = append(versions, made)
	}
	if m.current().stands[id] {
		for i := range m.versions {
			versions = append(versions, &m.versions[i])
		}
	}
	for _, key := range d.keys {
		for _, v := range versions {
			if s := v.signer(key); s != nil && s.may {
				server, _ := path.Match(s.pattern, item.Server)
				target, _ := path.Match(s.pattern, m.targets[item.Server])
				if server && target {
					return true
				}
			}
		}
	}
	return false
}

// heads is the decision that the lockfile names, or where nobody signed that who
// could ever count the ones before it.
func (m *model) heads(item surface.Key) []canonical.Digest {
	heads := []canonical.Digest{m.items[item].pointer}
	for again := true; again; {
		again = false
		for i, id := range heads {
			if d := m.decisions[id]; d != nil && !d.foreign {
				if about, ok := d.about[item]; ok && !m.could(id, item, true) {
					heads = append(slices.Delete(heads, i, i+1), about.previous...)
					again = true
					break
				}
			}
		}
	}
	slices.SortFunc(heads, compareDigests)
	return slices.DeleteFunc(slices.Compact(heads), canonical.Digest.IsZero)
}

// live returns the decisions that have a place in the chain of an item.
func (m *model) live(item surface.Key) []canonical.Digest {
	all, heads := m.about(item), m.heads(item)
	var ids []canonical.Digest
	for _, id := range all {
		if m.could(id, item, false) || slices.Contains(heads, id) {
			ids = append(ids, id)
		}
	}
	for i := 0; i < len(ids); i++ {
		for _, p := range m.decisions[ids[i]].about[item].previous {
			if slices.Contains(all, p) && !slices.Contains(ids, p) {
				ids = append(ids, p)
			}
		}
	}
	return ids
}

// ends returns the decisions about an item that no other follows.
func (m *model) ends(item surface.Key) []canonical.Digest {
	ids := m.live(item)
	return slices.DeleteFunc(slices.Clone(ids), func(id canonical.Digest) bool {
		return slices.ContainsFunc(ids, func(o canonical.Digest) bool {
			return slices.Contains(m.decisions[o].about[item].previous, id)
		})
	})
}

// reach collects id and all before it; false where one is missing, says nothing
// about the item, or has another serial than it must.
func (m *model) reach(id canonical.Digest, item surface.Key, into map[canonical.Digest]bool) bool {
	d := m.decisions[id]
	if d == nil || d.foreign {
		return false
	}
	about, ok := d.about[item]
	if !ok {
		return false
	}
	into[id] = true
	var last int64
	for _, p := range about.previous {
		if !into[p] && !m.reach(p, item, into) {
			return false
		}
		last = max(last, m.decisions[p].about[item].serial)
	}
	return about.serial == last+1
}

// whole reports whether the decisions about an item form one chain from its
// pointer.
func (m *model) whole(item surface.Key) bool {
	heads, all := m.heads(item), m.live(item)
	reached := map[canonical.Digest]bool{}
	for _, id := range heads {
		if !m.reach(id, item, reached) {
			return false
		}
	}
	return len(reached) == len(all) && len(m.ends(item)) < 2
}

// after returns the state after several decisions that nothing follows yet: one,
// none, or the ends of a fork.
func (m *model) after(ids []canonical.Digest, item surface.Key) modelState {
	set := func() map[canonical.Digest]bool { return map[canonical.Digest]bool{} }
	out := modelState{barred: set(), last: set(), agreed: set(), first: set()}
	for _, id := range ids {
		s := m.at(id, item)
		for d := range s.barred {
			out.barred[d] = true
		}
		maps.Copy(out.last, s.last)
		maps.Copy(out.agreed, s.agreed)
		maps.Copy(out.first, s.first)
		out.disabled = out.disabled || s.disabled
		out.paused = out.paused || s.paused
		if len(ids) == 1 {
			out.force, out.by = s.force, s.by
		}
	}
	return out
}

// at returns the state after one decision.
func (m *model) at(id canonical.Digest, item surface.Key) modelState {
	d := m.decisions[id]
	s := m.after(d.about[item].previous, item)
	if !m.counts(id, item) {
		return s
	}
	digest := d.about[item].digest
	switch d.action {
	case Approve, Rollback:
		if !s.disabled {
			s.force, s.by = digest, id
			s.last = map[canonical.Digest]bool{digest: true}
			if now := m.current(); len(m.persons(id, d, item)) >= max(now.approve, now.critical) {
				s.agreed = s.last
			}
			if len(s.first) == 0 {
				s.first = s.last
			}
			delete(s.barred, digest)
		}
	case Reject:
		if s.force == digest {
			s.force, s.by = canonical.Digest{}, canonical.Digest{}
		}
		s.barred[digest] = true
	case Disable:
		s.disabled, s.force, s.by = true, canonical.Digest{}, canonical.Digest{}
	case Enable:
		s.disabled = false
	case Pause:
		s.paused = true
	case Resume:
		s.paused = false
	}
	return s
}

// state returns the status of an item and what is in force.
func (m *model) state(item surface.Key) (Status, modelState) {
	it := m.items[item]
	if !m.whole(item) {
		return Conflict, modelState{}
	}
	s := m.after(m.ends(item), item)
	switch {
	case it.absent:
		return Absent, s
	case item.Kind == surface.KindServer && s.paused:
		return Paused, s
	case item.Kind == surface.KindServer:
		return Approved, s
	case s.disabled:
		return Disabled, s
	case s.force == it.digest:
		return Approved, s
	case s.barred[it.digest]:
		return Rejected, s
	case !s.force.IsZero():
		return Changed, s
	}
	return New, s
}

// against is what a new text is graded against.
func (s *modelState) against() map[canonical.Digest]bool {
	out := maps.Clone(s.last)
	if len(s.agreed) > 0 {
		maps.Copy(out, s.agreed)
	} else {
		maps.Copy(out, s.first)
	}
	return out
}

// overtaken reports whether a decision that counts follows id, near or far.
func (m *model) overtaken(id canonical.Digest, item surface.Key) bool {
	for _, o := range m.about(item) {
		before := map[canonical.Digest]bool{}
		m.reach(o, item, before)
		if o != id && before[id] && m.counts(o, item) {
			return true
		}
	}
	return false
}

// everApproved reports whether a decision that counts approved a digest.
func (m *model) everApproved(item surface.Key, digest canonical.Digest) bool {
	return slices.ContainsFunc(m.about(item), func(id canonical.Digest) bool {
		d := m.decisions[id]
		return (d.action == Approve || d.action == Rollback) && d.about[item].digest == digest && m.at(id, item).by == id
	})
}

// mayDecide reports whether a person with that key may make a decision about the
// items as they are.
func (m *model) mayDecide(d *modelDecision, key string) bool {
	for item, about := range d.about {
		if m.who(canonical.Digest{}, d, key, item) == "" {
			return false
		}
		whole := m.whole(item)
		if !whole && !m.healable(item) {
			return false
		}
		s := m.after(m.ends(item), item)
		it := m.items[item]
		ok := true
		switch d.action {
		case Approve:
			ok = !it.absent && !s.disabled && about.digest == it.digest
		case Rollback:
			ok = !it.absent && !s.disabled && m.everApproved(item, about.digest) && whole
		case Reject:
			ok = !s.barred[about.digest] || !whole
		case Disable:
			ok = !s.disabled || !whole
		case Enable:
			ok = s.disabled
		case Pause:
			ok = !s.paused || !whole
		case Resume:
			ok = s.paused || !whole
		}
		if !ok {
			return false
		}
	}
	return true
}

// healable reports a fork: every decision about the item is whole behind itself,
// and the pointer is one of them or nothing.
func (m *model) healable(item surface.Key) bool {
	for _, id := range m.live(item) {
		if !m.reach(id, item, map[canonical.Digest]bool{}) {
			return false
		}
	}
	for _, id := range m.heads(item) {
		if !slices.Contains(m.about(item), id) {
			return false
		}
	}
	return true
}

// mayCosign reports whether a signature by key to a decision would be taken.
func (m *model) mayCosign(id canonical.Digest, key string) bool {
	d := m.decisions[id]
	if !m.sound(d) || slices.Contains(d.keys, key) {
		return false
	}
	useful := false
	for item, about := range d.about {
		it := m.items[item]
		switch {
		case it == nil || !m.whole(item) || !slices.Contains(m.live(item), id):
			return false
		case m.counts(id, item):
			continue
		case m.overtaken(id, item) || about.digest != it.digest:
			return false
		}
		if m.who(id, d, key, item) != "" {
			useful = true
		}
	}
	return useful
}
