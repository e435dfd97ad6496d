package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// A selection is what the arguments of a comparison name: items by server; nil for
// a whole server. An empty one means all.
type selection map[string]map[string]bool

// selectionOf reads SERVER and SERVER/NAME arguments: the longest server name
// followed by a slash wins.
func selectionOf(args []string, set *config.Set, file *lockfile.File) (selection, error) {
	var known []string
	for _, s := range set.Servers {
		known = append(known, s.Name)
	}
	for name := range set.Undecided {
		known = append(known, name)
	}
	for _, s := range file.Servers {
		known = append(known, s.Name)
	}
	sel := selection{}
	for _, arg := range args {
		server, name, ok := SplitItem(arg, known)
		if !ok {
			slices.Sort(known)
			return nil, &hintError{fmt.Errorf("%q is neither a server nor an item of one", arg), "the servers are: " + joinOrNone(slices.Compact(known))}
		}
		whole, seen := sel[server]
		switch {
		case name == "":
			sel[server] = nil
		case !seen:
			sel[server] = map[string]bool{name: true}
		case whole != nil:
			whole[name] = true
		}
	}
	return sel, nil
}

// has reports whether a server is meant.
func (s selection) has(server string) bool {
	_, ok := s[server]
	return ok || len(s) == 0
}

// pick reports whether an item of a server is meant.
func (s selection) pick(server string, kind surface.Kind, name string) bool {
	if kind == surface.KindInstructions {
		name = string(kind)
	}
	return s[server] == nil || s[server][name]
}

// missing returns an error for an item that none of the sides of a server has.
func (s selection) missing(server string, sides ...drift.Side) error {
	for _, name := range slices.Sorted(maps.Keys(s[server])) {
		if !slices.ContainsFunc(sides, func(side drift.Side) bool { return hasItem(side, name) }) {
			return fmt.Errorf("%s has no item %q, neither before nor now", server, name)
		}
	}
	return nil
}

func hasItem(side drift.Side, name string) bool {
	for _, list := range side.Lists {
		if _, ok := list[name]; ok {
			return true
		}
	}
	return side.Instructions != nil && name == string(surface.KindInstructions) ||
		slices.ContainsFunc(side.Refused, func(r surface.Refused) bool { return r.Name == name })
}

// SplitItem splits SERVER/NAME by the servers there are: an argument that is a
// server's name means the whole server, else the longest server name followed by
// a slash wins.
func SplitItem(arg string, servers []string) (server, name string, ok bool) {
	if slices.Contains(servers, arg) {
		return arg, "", true
	}
	for _, s := range servers {
		if rest, found := strings.CutPrefix(arg, s+"/"); found && rest != "" && (!ok || len(s) > len(server)) {
			server, name, ok = s, rest, true
		}
	}
	return server, name, ok
}
