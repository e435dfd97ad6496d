package processor

import (
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// FromLockfile makes of a lockfile and the state of its items what a policy is
// compiled from. The caller sets the ID and the options. texts are the texts of the
// instructions in force, by server: without one, instructions of several targets
// cannot be recognised.
func FromLockfile(file *lockfile.File, state *trust.State, texts map[string]string) Input {
	f := entries{state, texts}
	var in Input
	for _, s := range file.Servers {
		if !s.Absent {
			in.Servers = append(in.Servers, f.server(s))
		}
	}
	return in
}

// entries reads the entries of a lockfile.
type entries struct {
	state *trust.State
	texts map[string]string
}

func (f *entries) server(s *lockfile.Server) Server {
	out := Server{Name: s.Name, Target: s.TargetName(), Paused: f.state.Paused(s.Name), Skipped: s.Skipped != ""}
	if source := f.state.Item(surface.Key{Server: s.Name, Kind: surface.KindSource}); source != nil {
		out.SourceApproved = source.Status == trust.Approved
	}
	for _, cover := range surface.AllCovers() {
		if s.CoversKind(cover) {
			out.Covers = append(out.Covers, cover)
		}
	}
	if s.Instructions != nil {
		out.Instructions = f.instructions(s.Name)
	}
	for it := range s.Items() {
		switch {
		case it.Rule != "" && it.Name != "":
			out.Items = append(out.Items, Item{Kind: it.Kind, Name: it.Name, State: StateRefused})
		case it.Rule == "" && it.Item != nil:
			out.Items = append(out.Items, f.item(it.Key))
		}
	}
	return out
}

func (f *entries) item(key surface.Key) Item {
	out := Item{Kind: key.Kind, Name: key.Name, State: StateNew}
	it := f.state.Item(key)
	if it == nil {
		return out
	}
	out.State, out.Locked = stateOf(it), it.GatewayDigest
	if it.InForce != nil {
		out.InForce = it.InForce.GatewayDigest
	}
	return out
}

func (f *entries) instructions(server string) *Instructions {
	it := f.state.Item(surface.Key{Server: server, Kind: surface.KindInstructions})
	if it == nil {
		return nil
	}
	out := &Instructions{State: stateOf(it)}
	if it.InForce != nil {
		out.Hash, out.Text = it.InForce.Digest, f.texts[server]
	}
	return out
}

// states are the states of items that have nothing in force, and of those that
// are not served whatever is.
var states = map[trust.Status]State{
	trust.Approved: StateApproved, trust.Changed: StateChanged, trust.New: StateNew, trust.Rejected: StateRejected,
	trust.Disabled: StateDisabled, trust.Refused: StateRefused, trust.Absent: StateAbsent, trust.Conflict: StateConflict,
}

// stateOf is the state of an item here. A rejection of the locked digest leaves an
// earlier one in force, which is what is served.
func stateOf(it *trust.ItemState) State {
	if it.Status == trust.Rejected && it.InForce != nil {
		return StateChanged
	}
	return states[it.Status]
}
