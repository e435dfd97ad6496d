package serve

import (
	"time"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// Input makes of a verified lockfile what a policy is compiled from.
func (l *Loaded) Input(options processor.Options) processor.Input {
	in := processor.Input{ID: l.id, Options: options}
	for _, s := range l.Lockfile.Servers {
		if !s.Absent {
			in.Servers = append(in.Servers, l.server(s))
		}
	}
	return in
}

func (l *Loaded) server(s *lockfile.Server) processor.Server {
	out := processor.Server{
		Name: s.Name, Target: s.TargetName(), Paused: l.State.Paused(s.Name),
		SourceApproved: l.sourceApproved(s.Name),
	}
	for _, cover := range surface.AllCovers() {
		if s.CoversKind(cover) {
			out.Covers = append(out.Covers, cover)
		}
	}
	if s.Instructions != nil {
		out.Instructions = l.instructions(s.Name)
	}
	taken := map[surface.Kind]map[string]bool{}
	take := func(kind surface.Kind, name string) bool {
		if taken[kind] == nil {
			taken[kind] = map[string]bool{}
		}
		fresh := !taken[kind][name]
		taken[kind][name] = true
		return fresh
	}
	for _, r := range s.Refused {
		if r.Name != "" && take(r.Kind, r.Name) {
			out.Items = append(out.Items, processor.Item{Kind: r.Kind, Name: r.Name, State: processor.StateRefused})
		}
	}
	for _, list := range surface.ListKinds() {
		for i := range s.Lists[list.Kind] {
			if it := &s.Lists[list.Kind][i]; take(list.Kind, it.Name) {
				out.Items = append(out.Items, l.item(surface.Key{Server: s.Name, Kind: list.Kind, Name: it.Name}))
			}
		}
	}
	return out
}

// sourceApproved reports whether what is locked about how the server is reached
// is in force.
func (l *Loaded) sourceApproved(server string) bool {
	it := l.State.Item(surface.Key{Server: server, Kind: surface.KindSource})
	return it != nil && it.Status == trust.Approved
}

func (l *Loaded) item(key surface.Key) processor.Item {
	out := processor.Item{Kind: key.Kind, Name: key.Name, State: processor.StateNew}
	it := l.State.Item(key)
	if it == nil {
		return out
	}
	out.State, out.Locked = stateOf(it), it.GatewayDigest
	if it.InForce != nil {
		out.InForce = it.InForce.GatewayDigest
	}
	return out
}

func (l *Loaded) instructions(server string) *processor.Instructions {
	it := l.State.Item(surface.Key{Server: server, Kind: surface.KindInstructions})
	if it == nil {
		return nil
	}
	out := &processor.Instructions{State: stateOf(it)}
	if it.InForce != nil {
		out.Hash, out.Text = it.InForce.Digest, l.Instructions[server]
	}
	return out
}

// states are the states of items that have nothing in force, and of those that
// are not served whatever is.
var states = map[trust.Status]processor.State{
	trust.Approved: processor.StateApproved, trust.Changed: processor.StateChanged, trust.New: processor.StateNew, trust.Rejected: processor.StateRejected,
	trust.Disabled: processor.StateDisabled, trust.Refused: processor.StateRefused, trust.Absent: processor.StateAbsent, trust.Conflict: processor.StateConflict,
}

// stateOf is the state of an item for the hooks. A rejection of the locked digest
// leaves an earlier one in force, which is what is served.
func stateOf(it *trust.ItemState) processor.State {
	if it.Status == trust.Rejected && it.InForce != nil {
		return processor.StateChanged
	}
	return states[it.Status]
}

// ages counts the approvals in force that are older than the rule maxAge allows,
// and those that will be within soon.
func (l *Loaded) ages(now time.Time, soon time.Duration) (expired, expiring int) {
	if l.Chain == nil || l.Chain.Current().Signed.Rules.MaxAge == 0 {
		return 0, 0
	}
	limit := time.Duration(l.Chain.Current().Signed.Rules.MaxAge) * time.Second
	for _, it := range l.State.Items {
		if it.InForce == nil {
			continue
		}
		switch left := limit - now.Sub(it.InForce.At); {
		case left <= 0:
			expired++
		case left <= soon:
			expiring++
		}
	}
	return expired, expiring
}
