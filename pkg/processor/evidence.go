package processor

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"agentgateway-lock/pkg/canonical"
)

// The bounds of evidence.
const (
	// evidenceSize is about how many bytes all evidence may take. Each service has
	// an even share, and at least minShare; the items of the policy always fit.
	evidenceSize = 32 << 20
	minShare     = 1 << 20
	// maxUnknown is how many names that no policy holds are kept in one scope, and
	// maxName how long those may be.
	maxUnknown = 1024
	maxName    = 512
	// maxScopes is how many scopes of one server are kept.
	maxScopes = 4096
	// maxDigests is how many digests that are not in force an item may show.
	maxDigests = 20
	// entrySize and scopeSize are about what an entry and a scope take beside their
	// names.
	entrySize = 128
	scopeSize = 512
)

// evidence is what the processor has seen servers list.
type evidence struct {
	mu      sync.RWMutex
	targets map[string]*witness // by the gateway's target
	share   int
}

// witness is the evidence of one server. Its lock is held for the time of a few
// map accesses for each item of a listing, and never across anything that waits.
type witness struct {
	mu     sync.Mutex
	scopes map[string]*scope // of gateway listings
	probe  *scope
	size   int
	clock  uint64
	lost   bool // a scope had to be forgotten since the start
	share  int
	shown  map[key]*digests // of items that were in the policy when they were listed
}

// scope is what one origin showed to one scope: for each item the last listing
// that showed it.
type scope struct {
	items   map[key]sight
	newest  [kinds]*listing
	used    uint64
	size    int
	unknown int
	lost    [kinds]bool // a name was not kept
}

type key struct {
	kind kind
	name string
}

// sight is what an item showed. A zero digest stands for what cannot be approved,
// such as a definition without a digest.
type sight struct {
	digest  canonical.Digest
	listing *listing
}

// listing is one list result, or several of the same content in a row.
type listing struct {
	content uint64
	at      time.Time
}

// digests are the different digests of an item that were not in force, by their
// first eight bytes.
type digests struct{ seen []uint64 }

// A group is what one list result shows of one server and kind.
type group struct {
	server  *server
	kind    kind
	content uint64 // equal for equal content within a process; 0 for a content seen once
	seen    []observation
}

type observation struct {
	name   string
	item   *item // nil where the policy does not know the name
	digest canonical.Digest
}

func newEvidence() *evidence {
	return &evidence{targets: map[string]*witness{}, share: evidenceSize}
}

// policyChanged begins a policy of n servers. What had shown too many digests may
// be judged anew, unless only options changed.
func (e *evidence) policyChanged(n int, sameID bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.share = max(evidenceSize/max(n, 1), minShare)
	for _, w := range e.targets {
		w.mu.Lock()
		w.share = e.share
		if !sameID {
			w.shown = map[key]*digests{}
		}
		w.mu.Unlock()
	}
}

func (e *evidence) of(target string) *witness {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.targets[target]
}

// make returns the evidence of a server of the policy. Servers that no policy
// knows have none, so their number is bounded by the policies.
func (e *evidence) make(target string) *witness {
	if w := e.of(target); w != nil {
		return w
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.targets[target]
	if w == nil {
		w = &witness{scopes: map[string]*scope{}, shown: map[key]*digests{}, share: e.share}
		e.targets[target] = w
	}
	return w
}

// listed records a gateway listing.
func (w *witness) listed(name string, g *group, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.scopes[name]
	if s == nil {
		s = &scope{items: make(map[key]sight, len(g.seen)), size: scopeSize + len(name)}
		w.scopes[name] = s
		w.size += s.size
	}
	w.clock++
	s.used = w.clock
	w.record(s, g, at)
	w.forget(s)
}

// probed records what a probe showed.
func (w *witness) probed(g *group, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.probe == nil {
		w.probe = &scope{items: make(map[key]sight, len(g.seen))}
	}
	w.record(w.probe, g, at)
}

func (w *witness) record(s *scope, g *group, at time.Time) {
	last := s.newest[g.kind]
	overtaken := last != nil && last.at.After(at) // by a hook that began later
	if !overtaken && last != nil && g.content != 0 && last.content == g.content {
		last.at = at
		return
	}
	now := &listing{g.content, at}
	if !overtaken {
		s.newest[g.kind] = now
	}
	before := s.size
	for i := range g.seen {
		o := &g.seen[i]
		k := key{g.kind, o.name}
		old, ok := s.items[k]
		if !ok && !s.fits(o) {
			s.lost[g.kind] = true
			continue
		}
		if !ok || !old.listing.at.After(at) {
			s.items[k] = sight{o.digest, now}
		}
		if o.item != nil && !o.digest.IsZero() && o.digest != o.item.inForce {
			w.count(k, o.digest)
		}
	}
	w.size += s.size - before
}

// fits makes room for a name that the scope does not hold. Names of the policy
// always have room.
func (s *scope) fits(o *observation) bool {
	if o.item != nil {
		s.size += entrySize
		return true
	}
	if s.unknown >= maxUnknown || len(o.name) > maxName {
		return false
	}
	s.unknown++
	s.size += entrySize + len(o.name)
	return true
}

func (w *witness) count(k key, d canonical.Digest) {
	shown := w.shown[k]
	if shown == nil {
		shown = &digests{}
		w.shown[k] = shown
	}
	short := binary.BigEndian.Uint64(d[:])
	if len(shown.seen) <= maxDigests && !slices.Contains(shown.seen, short) {
		shown.seen = append(shown.seen, short)
	}
}

// forget drops the scopes that were used longest ago, but not current, while there
// are too many.
func (w *witness) forget(current *scope) {
	for len(w.scopes) > 1 && (w.size > w.share || len(w.scopes) > maxScopes) {
		oldest := ""
		var found *scope
		for name, s := range w.scopes {
			if s != current && (found == nil || s.used < found.used) {
				oldest, found = name, s
			}
		}
		delete(w.scopes, oldest)
		w.size -= found.size
		w.lost = true
	}
}

// judge says why the evidence does not allow a call of it in a scope, or nothing,
// and the digest that decided.
func (w *witness) judge(scopeName string, it *item, now time.Time, maxAge time.Duration) (Code, canonical.Digest) {
	if w == nil {
		return DeniedNoEvidence, canonical.Digest{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := key{it.kind, it.name}
	if shown := w.shown[k]; shown != nil && len(shown.seen) > maxDigests {
		return DeniedTooManyDigests, canonical.Digest{}
	}
	s := w.scopes[scopeName]
	gateway, listed := s.find(k)
	probe, probed := w.probe.find(k)
	switch {
	case listed && gateway.digest != it.inForce:
		return DeniedEvidenceContradicts, gateway.digest
	case probed && probe.digest != it.inForce:
		return DeniedEvidenceContradicts, probe.digest
	case !probed && w.probe.lacks(it.kind), !listed && (!probed || w.lost || s.lacks(it.kind)):
		return DeniedNoEvidence, canonical.Digest{}
	}
	var at time.Time
	if listed {
		at = gateway.listing.at
	}
	if probed && (!listed || probe.listing.at.After(at)) {
		at = probe.listing.at
	}
	if maxAge > 0 && now.Sub(at) > maxAge {
		return DeniedEvidenceTooOld, it.inForce
	}
	return "", it.inForce
}

// shows reports whether a listing of the scope, or a probe, has shown the item.
func (w *witness) shows(scopeName string, k key) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.scopes[scopeName].find(k); ok {
		return true
	}
	_, ok := w.probe.find(k)
	return ok
}

// lacks reports whether names of the kind were not kept, so that what is not found
// may have been shown all the same.
func (s *scope) lacks(k kind) bool { return s != nil && s.lost[k] }

func (s *scope) find(k key) (sight, bool) {
	if s == nil {
		return sight{}, false
	}
	found, ok := s.items[k]
	return found, ok
}

// EvidenceState is what there is of evidence about one server.
type EvidenceState struct {
	Server  string // of the lockfile
	Scopes  int    // that listed it
	Entries int    // items of all scopes, and of the probe
	// Listed and Probed are when a listing of any scope, and a probe, last came;
	// zero where none did.
	Listed, Probed time.Time
	// Lost says that evidence had to be forgotten since the start.
	Lost bool
}

// state describes the evidence of a server.
func (w *witness) state(name string) EvidenceState {
	out := EvidenceState{Server: name}
	if w == nil {
		return out
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out.Scopes, out.Lost = len(w.scopes), w.lost
	latest := func(s *scope) (at time.Time) {
		out.Entries += len(s.items)
		out.Lost = out.Lost || s.lost != [kinds]bool{}
		for _, l := range s.newest {
			if l != nil && l.at.After(at) {
				at = l.at
			}
		}
		return at
	}
	for _, s := range w.scopes {
		if at := latest(s); at.After(out.Listed) {
			out.Listed = at
		}
	}
	if w.probe != nil {
		out.Probed = latest(w.probe)
	}
	return out
}
