package audit

import (
	"context"
	"errors"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/parallel"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// An EventType says what happened.
type EventType string

// The events.
const (
	EventProposed   EventType = "proposed"   // a digest was locked
	EventDecided    EventType = "decided"    // a decision was added
	EventSigned     EventType = "signed"     // a decision got further signatures
	EventAbsent     EventType = "absent"     // the item was no longer listed
	EventRemoved    EventType = "removed"    // the lockfile no longer holds the item
	EventTrust      EventType = "trust"      // a trust version came into force
	EventUnreadable EventType = "unreadable" // the lockfile or the trust list could not be read
)

// An Event is one thing that a commit did, in the form of the JSON of audit log.
type Event struct {
	Type   EventType    `json:"event"`
	Commit CommitFacts  `json:"commit"`
	Item   *surface.Key `json:"item,omitempty"` // of all but trust and unreadable

	Digest        canonical.Digest `json:"digest,omitzero"` // locked, decided about, or of the trust version
	GatewayDigest canonical.Digest `json:"gatewayDigest,omitzero"`
	// Status is the state of the item after the commit; empty where it cannot be
	// told, or there was no trust list.
	Status trust.Status `json:"status,omitempty"`

	Decision         canonical.Digest `json:"decision,omitzero"`
	Action           trust.Action     `json:"action,omitempty"`
	Grade            string           `json:"grade,omitempty"`
	By               []string         `json:"by,omitempty"` // persons who have signed; keys that are nobody's by fingerprint
	Proposers        []string         `json:"proposers,omitempty"`
	At               int64            `json:"at,omitempty"` // as the decision is dated, in seconds since 1970
	Reason           string           `json:"reason,omitempty"`
	AcceptSuspicious bool             `json:"acceptSuspicious,omitempty"`
	// Trust is the number of the trust version that the decision names, or that
	// came into force.
	Trust  int    `json:"trust,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Log tells the story of items: what every commit that the head reaches did,
// parents first. want chooses items; nil means all, and trust versions as well. It
// tells what happened and judges nothing: see [Verify]. A merge is told only where
// it differs from all its parents.
func Log(ctx context.Context, repo *gitrepo.Repo, opts Options, want func(surface.Key) bool) ([]Event, error) {
	head, err := opts.head(ctx, repo)
	if err != nil {
		return nil, err
	}
	w, err := newWalk(ctx, repo, opts.layout(), head)
	if err != nil {
		return nil, err
	}
	steps, err := w.steps(ctx, nil)
	if err != nil {
		return nil, err
	}
	j := &judge{lib: newLibrary(repo, w.layout, opts.Root), now: opts.Now}
	if err := j.lib.load(ctx, steps, nil); err != nil {
		return nil, err
	}
	told := make([][]Event, len(steps))
	err = parallel.Each(len(steps), func(i int) error {
		s := &story{trial: trial{judge: j, step: steps[i]}, want: want}
		err := s.tell(ctx)
		told[i] = s.events
		return err
	})
	return slices.Concat(told...), err
}

// A story is what one step did.
type story struct {
	trial
	want   func(surface.Key) bool
	commit CommitFacts
	state  *trust.State
	events []Event
}

func (s *story) wants(key surface.Key) bool { return s.want == nil || s.want(key) }

func (s *story) add(e Event) {
	e.Commit = s.commit
	if e.Item != nil && s.state != nil {
		if st := s.state.Item(*e.Item); st != nil {
			e.Status = st.Status
		}
	}
	s.events = append(s.events, e)
}

func (s *story) tell(ctx context.Context) error {
	unreadable, err := s.open(ctx)
	if err != nil {
		return err
	}
	s.commit, err = commitFacts(ctx, s.lib.repo, s.node.ID, listedIn(s.chain, 1))
	if _, ok := errors.AsType[*gitrepo.FormatError](err); err != nil && !ok {
		return err
	}
	for _, detail := range unreadable {
		s.add(Event{Type: EventUnreadable, Detail: detail})
	}
	s.versions()
	keys := slices.DeleteFunc(s.touched(), func(key surface.Key) bool { return !s.wants(key) })
	state, ledger, err := s.evaluate(ctx, s.at, s.chain, s.lock, keys, s.idsAbout(keys))
	if err != nil {
		return err
	}
	if s.chain != nil {
		s.state = state
	}
	for _, key := range keys {
		s.locked(key)
	}
	return s.decisions(ctx, ledger)
}

// open reads chain and lockfile of the step and its parents, and tells what cannot
// be read of the step's own.
func (s *story) open(ctx context.Context) (unreadable []string, err error) {
	if s.at.broken.code != "" {
		unreadable = append(unreadable, s.at.broken.detail)
	}
	for i, p := range append([]*point{s.at}, s.parents...) {
		chain, err := s.lib.chain(ctx, p)
		if _, ok := errors.AsType[*trust.ChainError](err); err != nil && !ok {
			return nil, err
		}
		chainErr := err
		lock, err := s.lib.lockfile(ctx, p)
		if _, ok := errors.AsType[*lockfile.Error](err); err != nil && !ok {
			return nil, err
		}
		if i > 0 {
			s.chains, s.locks = append(s.chains, chain), append(s.locks, lock)
			continue
		}
		s.chain, s.lock = chain, lock
		for _, bad := range []error{chainErr, err} {
			if bad != nil {
				unreadable = append(unreadable, bad.Error())
			}
		}
	}
	s.changed = make([]map[canonical.Digest]bool, len(s.parents))
	for k := range s.parents {
		s.changed[k] = map[canonical.Digest]bool{}
		for _, c := range s.step.decisions[k] {
			if id, ok := trust.ParseDecisionPath(c.Path); ok {
				s.changed[k][id] = true
			}
		}
	}
	return unreadable, nil
}

// versions tells the trust versions that no parent has in force.
func (s *story) versions() {
	if s.chain == nil || s.want != nil {
		return
	}
	first := 1
	for _, c := range s.chains {
		if c != nil {
			first = max(first, c.Len()+1)
		}
	}
	for n := first; n <= s.chain.Len(); n++ {
		v, digest := s.chain.Version(n)
		e := Event{Type: EventTrust, Digest: digest, Trust: n}
		for _, blob := range v.Signatures {
			key, err := s.lib.verifier.Verify(v.Signed.Canonical(), blob, sshsig.NamespaceTrust)
			if err == nil {
				e.By = append(e.By, s.person(key))
			}
		}
		slices.Sort(e.By)
		e.By = slices.Compact(e.By)
		s.add(e)
	}
}

// locked tells what the lockfile newly says of an item.
func (s *story) locked(key surface.Key) {
	now, there := s.lock.items[key]
	e := Event{Item: &key, Digest: now.digest, GatewayDigest: now.gateway}
	were := make([]locked, len(s.locks))
	gone := !there
	for k, l := range s.locks {
		was, had := l.items[key]
		were[k], gone = was, gone && had
	}
	switch {
	case gone:
		e.Type = EventRemoved
	case there && !now.digest.IsZero() && !slices.ContainsFunc(were, func(was locked) bool { return was.digest == now.digest && was.gateway == now.gateway }):
		e.Type = EventProposed
	case now.absent && !slices.ContainsFunc(were, func(was locked) bool { return was.absent }):
		e.Type = EventAbsent
	default:
		return
	}
	s.add(e)
}

// decisions tells the decisions that are new against all parents, and those with
// new signatures.
func (s *story) decisions(ctx context.Context, ledger *trust.Ledger) error {
	for _, c := range s.step.decisions[0] {
		id, ok := trust.ParseDecisionPath(c.Path)
		if !ok || c.After.ID.IsZero() || !s.changesAll(c) {
			continue
		}
		d := ledger.Decision(id)
		if d == nil {
			// About other items alone, or not valid.
			continue
		}
		kind := EventDecided
		if !c.Before.ID.IsZero() {
			kind = EventSigned
		}
		s.decision(kind, id, d, ledger.Keys(id))
	}
	return ctx.Err()
}

func (s *story) decision(kind EventType, id canonical.Digest, d *trust.Decision, keys []string) {
	st := &d.Statement
	by := make([]string, len(keys))
	for i, key := range keys {
		by[i] = s.person(key)
	}
	slices.Sort(by)
	by = slices.Compact(by)
	for i := range st.Items {
		it := &st.Items[i]
		if !s.wants(it.Key) {
			continue
		}
		s.add(Event{
			Type: kind, Item: &it.Key, Digest: it.Digest, GatewayDigest: it.GatewayDigest,
			Decision: id, Action: st.Action, Grade: it.Grade.String(), By: by, Proposers: it.Proposers,
			At: st.At, Reason: st.Reason, AcceptSuspicious: st.AcceptSuspicious, Trust: s.number(st.Trust),
		})
	}
}

// person names whoever a key was ever listed for, or the key itself.
func (s *story) person(key string) string {
	if signer := listedIn(s.chain, 1)(key); signer != nil {
		return signer.Person
	}
	return fingerprint(key)
}

// number is that of the trust version of a digest; 0 where it is not in force.
func (s *story) number(digest canonical.Digest) int {
	if s.chain != nil {
		for n := 1; n <= s.chain.Len(); n++ {
			if _, d := s.chain.Version(n); d == digest {
				return n
			}
		}
	}
	return 0
}
