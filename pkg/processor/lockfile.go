package processor

import (
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// FromLockfile makes an input of a repository without a trust list, where what is
// locked counts as approved. The caller sets the ID and the options.
//
// copies returns the text of an item as its readable copy gives it (a definition in
// canonical form, or instructions), or nil where that is not at hand; it may be nil
// itself. A text that does not have the locked hash is an error. Without the texts
// of instructions those of several services cannot be recognised.
//
// An entry that does not record how the server is reached has a source that is not
// approved. An entry without digests is an error: the original format is not enough to serve
// from. So are two servers with one target.
func FromLockfile(file *lockfile.File, copies func(server string, kind surface.Kind, name string) []byte) (Input, error) {
	if copies == nil {
		copies = func(string, surface.Kind, string) []byte { return nil }
	}
	var in Input
	targets := map[string]string{}
	for _, s := range file.Servers {
		if s.Absent {
			continue
		}
		if other, ok := targets[s.TargetName()]; ok {
			return Input{}, fmt.Errorf("servers %q and %q have one target, %q: give one of them another target", other, s.Name, s.TargetName())
		}
		targets[s.TargetName()] = s.Name
		server, err := fromEntry(s, copies)
		if err != nil {
			return Input{}, fmt.Errorf("server %q: %w", s.Name, err)
		}
		in.Servers = append(in.Servers, server)
	}
	return in, nil
}

func fromEntry(s *lockfile.Server, copies func(string, surface.Kind, string) []byte) (Server, error) {
	out := Server{Name: s.Name, Target: s.TargetName(), SourceApproved: s.Source != nil}
	for _, cover := range surface.AllCovers() {
		if s.CoversKind(cover) {
			out.Covers = append(out.Covers, cover)
		}
	}
	if i := s.Instructions; i != nil && !i.Absent {
		text := string(copies(s.Name, surface.KindInstructions, ""))
		if text != "" && canonical.SumString(text) != i.Hash {
			return out, errors.New("the copy of its instructions does not have the locked hash: run `agentgateway lock`")
		}
		out.Instructions = &Instructions{Hash: i.Hash, Text: text, State: StateApproved}
	}
	refused := map[surface.Kind]map[string]bool{}
	for _, r := range s.Refused {
		if r.Name == "" || refused[r.Kind][r.Name] {
			continue
		}
		if refused[r.Kind] == nil {
			refused[r.Kind] = map[string]bool{}
		}
		refused[r.Kind][r.Name] = true
		out.Items = append(out.Items, Item{Kind: r.Kind, Name: r.Name, State: StateRefused})
	}
	for _, list := range surface.ListKinds() {
		for _, it := range s.Lists[list.Kind] {
			if refused[list.Kind][it.Name] {
				continue
			}
			item, err := fromItem(s.Name, list.Kind, &it, copies)
			if err != nil {
				return out, fmt.Errorf("%s %q: %w", list.Kind, it.Name, err)
			}
			out.Items = append(out.Items, item)
		}
	}
	return out, nil
}

func fromItem(server string, kind surface.Kind, it *lockfile.Item, copies func(string, surface.Kind, string) []byte) (Item, error) {
	out := Item{Kind: kind, Name: it.Name, State: StateAbsent}
	if it.Absent {
		return out, nil
	}
	if it.Digest.IsZero() || it.GatewayDigest.IsZero() {
		return out, errors.New("the lockfile holds no digest of it, and serving needs digests: run `agentgateway lock`")
	}
	if text := copies(server, kind, it.Name); text != nil {
		r := surface.Reader{MaxSize: lockfile.MaxCopySize}
		d, err := r.Read(kind, text)
		if err != nil {
			return out, fmt.Errorf("its copy cannot be read: %w", err)
		}
		if d.Digest != it.Digest || d.GatewayDigest != it.GatewayDigest || d.Name != it.Name {
			return out, errors.New("its copy does not have the locked digests: run `agentgateway lock`")
		}
	}
	out.State, out.InForce, out.Locked = StateApproved, it.GatewayDigest, it.GatewayDigest
	return out, nil
}
