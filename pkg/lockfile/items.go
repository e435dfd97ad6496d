package lockfile

import (
	"cmp"
	"iter"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// A Locked is one item as the lockfile holds it: all that is decided by itself has
// one, whatever its kind.
type Locked struct {
	surface.Key
	// Digest is zero for a server and in the original format, and is over the exact
	// bytes of a refused definition.
	Digest, GatewayDigest canonical.Digest
	Rule                  canonical.Rule    // that refused the definition; else empty
	Absent                bool              // the item, or its whole server
	Line                  int               // in the file, from 1
	Decision              *canonical.Digest // where the newest is named; nil where none can be
	Item                  *Item             // of a definition that is not refused, or is kept for its decision
}

// Items are the items of all entries, in the order of the file.
func (f *File) Items() iter.Seq[Locked] {
	return func(yield func(Locked) bool) {
		for _, s := range f.Servers {
			for it := range s.Items() {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// Items are the items of an entry, each key once: the server, its source,
// instructions and definitions, and what was refused. A refused definition whose
// name is also kept for its decision is one item, which is refused.
func (s *Server) Items() iter.Seq[Locked] {
	refused := make(map[surface.Key]Locked, len(s.Refused))
	for _, r := range s.Refused {
		key := surface.Key{Server: s.Name, Kind: r.Kind, Name: r.Name}
		if _, ok := refused[key]; !ok {
			refused[key] = Locked{Key: key, Digest: r.Raw, Rule: r.Rule, Absent: s.Absent, Line: s.Line}
		}
	}
	return func(yield func(Locked) bool) {
		for _, kind := range []surface.Kind{surface.KindServer, surface.KindSource, surface.KindInstructions} {
			if it, ok := s.Locked(kind, ""); ok && !yield(it) {
				return
			}
		}
		for _, kind := range surface.ListKinds() {
			for i := range s.Lists[kind.Kind] {
				it := s.definition(kind.Kind, &s.Lists[kind.Kind][i])
				if r, ok := refused[it.Key]; ok {
					it.Digest, it.Rule = r.Digest, r.Rule
				}
				if !yield(it) {
					return
				}
			}
		}
		for _, r := range s.Refused {
			key := surface.Key{Server: s.Name, Kind: r.Kind, Name: r.Name}
			it, ok := refused[key]
			if !ok || s.Item(r.Kind, r.Name) != nil {
				continue
			}
			delete(refused, key)
			if !yield(it) {
				return
			}
		}
	}
}

// Locked returns an item of the file that is not refused.
func (f *File) Locked(key surface.Key) (it Locked, ok bool) {
	if s := f.Server(key.Server); s != nil {
		return s.Locked(key.Kind, key.Name)
	}
	return Locked{}, false
}

// Locked returns an item of the entry that is not refused.
func (s *Server) Locked(kind surface.Kind, name string) (it Locked, ok bool) {
	it = Locked{Key: surface.Key{Server: s.Name, Kind: kind}, Absent: s.Absent, Line: s.Line}
	switch {
	case kind == surface.KindServer:
		it.Decision = &s.Decision
	case kind == surface.KindSource && s.Source != nil:
		it.Digest, it.Decision, it.Line = SourceDigest(s), &s.SourceDecision, cmp.Or(s.SourceLine, s.Line)
	case kind == surface.KindInstructions && s.Instructions != nil:
		in := s.Instructions
		it.Digest, it.Decision, it.Absent, it.Line = in.Hash, &in.Decision, s.Absent || in.Absent, cmp.Or(in.Line, s.Line)
	default:
		locked := s.Item(kind, name)
		if locked == nil {
			return Locked{}, false
		}
		return s.definition(kind, locked), true
	}
	return it, true
}

func (s *Server) definition(kind surface.Kind, it *Item) Locked {
	return Locked{
		Key: surface.Key{Server: s.Name, Kind: kind, Name: it.Name}, Digest: it.Digest, GatewayDigest: it.GatewayDigest,
		Absent: s.Absent || it.Absent, Line: cmp.Or(it.Line, s.Line), Decision: &it.Decision, Item: it,
	}
}

// LineOf is where an item of the entry stands in the file, or where the entry does.
func (s *Server) LineOf(kind surface.Kind, name string) int {
	if it, ok := s.Locked(kind, name); ok {
		return it.Line
	}
	return s.Line
}
