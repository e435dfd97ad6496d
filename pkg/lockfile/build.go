package lockfile

import (
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

// FromSurface makes the entry of a server from what it listed. It holds nothing
// of an entry before it: see [Carry]. Kinds that covers does not name are left
// out.
func FromSurface(name string, src *source.Source, covers []string, s surface.Surface) *Server {
	entry := &Server{
		Name: name, Source: src, Refused: slices.Clone(s.Refused),
		Covers: append([]string{}, slices.Sorted(slices.Values(covers))...),
		Lists:  make(map[surface.Kind][]Item, len(s.Lists)),
	}
	surface.SortRefused(entry.Refused)
	if s.Instructions != nil && entry.CoversKind(surface.CoverInstructions) {
		entry.Instructions = &Instructions{Hash: s.Instructions.Hash}
	}
	for _, kind := range surface.ListKinds() {
		list, offered := s.Lists[kind.Kind]
		if !offered || !entry.CoversKind(kind.Cover) {
			continue
		}
		items := make([]Item, 0, len(list.Definitions))
		for _, d := range list.Definitions {
			items = append(items, Item{Name: d.Name, Tool: d.Tool, Digest: d.Digest, GatewayDigest: d.GatewayDigest})
		}
		entry.Lists[kind.Kind] = items
	}
	entry.Rehash()
	return entry
}

// NewSkipped makes the entry of a server that is on purpose not covered.
func NewSkipped(name string, src *source.Source, reason string) *Server {
	entry := FromSurface(name, src, nil, surface.Surface{})
	entry.Skipped = reason
	return entry
}

// Rehash sets the surfaceHash anew, which an entry has where it has tools.
func (s *Server) Rehash() {
	s.SurfaceHash = canonical.Digest{}
	if tools, ok := s.Lists[surface.KindTool]; ok {
		s.SurfaceHash = hashTools(tools)
	}
}

// hashTools returns the surfaceHash of sorted tools; what is absent counts in no
// hash.
func hashTools(tools []Item) canonical.Digest {
	hashes := make([]surface.ToolHashes, 0, len(tools))
	for i := range tools {
		if it := &tools[i]; !it.Absent && it.Tool != nil {
			hashes = append(hashes, *it.Tool)
		}
	}
	return surface.Hash(hashes)
}

// Carry takes over from the entry old what a server does not list, into the entry
// current that [FromSurface] made: decisions, target, the permission to contact
// private addresses where the source is the same, and, marked absent, every item
// that has a decision and is not listed any more. An item that is listed again is
// absent no more and goes on from its decision. old is not changed.
func Carry(old, current *Server) {
	current.Decision, current.SourceDecision, current.Target = old.Decision, old.SourceDecision, old.Target
	if current.Source == nil {
		current.SourceDecision = canonical.Digest{}
	} else if old.Source != nil && old.Source.Equal(current.Source) {
		src := *current.Source
		src.AllowPrivate = src.AllowPrivate || old.Source.AllowPrivate
		if src.AllowLiteral == nil {
			src.AllowLiteral = old.Source.AllowLiteral
		}
		current.Source = &src
	}
	carryInstructions(old.Instructions, current)
	for _, kind := range surface.ListKinds() {
		carryItems(old.Lists[kind.Kind], current, kind.Kind)
	}
	current.Rehash()
}

func carryInstructions(old *Instructions, current *Server) {
	switch {
	case old == nil || old.Decision.IsZero():
	case current.Instructions != nil:
		current.Instructions.Decision = old.Decision
	default:
		current.Instructions = &Instructions{Hash: old.Hash, Decision: old.Decision, Absent: true}
	}
}

func carryItems(old []Item, current *Server, kind surface.Kind) {
	var gone []Item
	for _, it := range old {
		if it.Decision.IsZero() {
			continue
		}
		if listed := current.Item(kind, it.Name); listed != nil {
			listed.Decision = it.Decision
			continue
		}
		it.Absent, it.Line = true, 0
		gone = append(gone, it)
	}
	if len(gone) == 0 {
		return
	}
	if current.Lists == nil {
		current.Lists = make(map[surface.Kind][]Item, 1)
	}
	items := slices.Concat(current.Lists[kind], gone)
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	current.Lists[kind] = items
}

// Decided reports whether anything in the entry has a decision.
func (s *Server) Decided() bool {
	for it := range s.Items() {
		if it.Decision != nil && !it.Decision.IsZero() {
			return true
		}
	}
	return false
}

// Retire takes a server out that is no longer configured: an entry that has a
// decision stays, marked absent; any other is removed. A server that is
// configured again comes back by [FromSurface], [Carry] and [File.Put].
func (f *File) Retire(name string) {
	s := f.Server(name)
	switch {
	case s == nil:
	case !s.Decided():
		f.Remove(name)
	case !s.Absent:
		absent := *s
		absent.Absent = true
		f.Put(&absent)
	}
}

// SourceDigest returns the digest that a decision about a source names.
func SourceDigest(s *Server) canonical.Digest { return SourceTerms(s).Digest() }

// SourceTerms returns what a decision about the source of an entry is about.
func SourceTerms(s *Server) source.Terms {
	terms := source.Terms{Source: s.Source, Covers: s.Covers, Skipped: s.Skipped}
	if s.Target != s.Name {
		terms.Target = s.Target
	}
	return terms
}
