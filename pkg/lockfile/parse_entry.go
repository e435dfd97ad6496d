package lockfile

import (
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// entry reads the value of one server's entry.
func (p *parser) entry(s *Server) error {
	s.Line = p.here()
	start := p.r.Offset()
	err := p.object(func(key []byte) (err error) {
		switch string(key) {
		case "source":
			s.SourceLine = p.here()
			s.Source, err = p.source()
		case "target":
			err = p.target(s)
		case "covers":
			err = p.covers(s)
		case "skipped":
			err = p.text(&s.Skipped)
		case "decision":
			err = p.digest(&s.Decision)
		case "sourceDecision":
			err = p.digest(&s.SourceDecision)
		case "surfaceHash":
			err = p.digest(&s.SurfaceHash)
		case "instructions":
			s.Instructions, err = p.instructions()
		case "refused":
			err = p.refusedList(s)
		case "absent":
			err = p.yes(&s.Absent)
		default:
			return p.list(s, key)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.fits(start, s)
}

func (p *parser) target(s *Server) error {
	at := p.r.Offset()
	if err := p.text(&s.Target); err != nil {
		return err
	}
	if s.Target == s.Name {
		return p.fail(at, "target is the server's own name: it is left out then")
	}
	return nil
}

// list reads the items of the kind whose member is key.
func (p *parser) list(s *Server, key []byte) error {
	for _, kind := range surface.ListKinds() {
		if kind.Member != string(key) {
			continue
		}
		items, err := p.items(kind)
		if err != nil {
			return err
		}
		if s.Lists == nil {
			s.Lists = make(map[surface.Kind][]Item, 4)
		}
		s.Lists[kind.Kind] = items
		return nil
	}
	return p.unknown(key)
}

// fits checks what the members of an entry say of each other.
func (p *parser) fits(start int, s *Server) error {
	if _, ok := s.Lists[surface.KindTool]; ok != !s.SurfaceHash.IsZero() {
		if ok {
			return p.missing(start, "surfaceHash")
		}
		return p.fail(start, "surfaceHash is in an entry without tools")
	}
	if s.Skipped != "" && (s.Covers == nil || len(s.Covers) > 0 || len(s.Refused) > 0) {
		return within(p.fail(start, "an entry that is skipped covers nothing: its covers is an empty list, and nothing is refused"), ".skipped")
	}
	for i := range s.Refused {
		// One that is kept for its decision may be refused as it is listed now.
		if r := &s.Refused[i]; r.Name != "" {
			if it := s.Item(r.Kind, r.Name); it != nil && !it.Absent {
				return within(p.fail(start, "the %s %q is both locked and refused: an entry names an item once", r.Kind, r.Name), ".refused")
			}
		}
	}
	if s.SourceDecision != (canonical.Digest{}) && s.Source == nil {
		return p.fail(start, "sourceDecision is in an entry without source")
	}
	if s.Instructions != nil && !s.Instructions.Absent && !s.CoversKind(surface.CoverInstructions) {
		return within(p.fail(start, "the entry holds instructions that its covers does not name"), ".covers")
	}
	for _, kind := range surface.ListKinds() {
		if !s.CoversKind(kind.Cover) && slices.ContainsFunc(s.Lists[kind.Kind], func(it Item) bool { return !it.Absent }) {
			return within(p.fail(start, "the entry holds %s that its covers does not name", kind.Member), ".covers")
		}
	}
	return nil
}

func (p *parser) instructions() (*Instructions, error) {
	in := &Instructions{Line: p.here()}
	start := p.r.Offset()
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "hash":
			return p.digest(&in.Hash)
		case "decision":
			return p.digest(&in.Decision)
		case "absent":
			return p.yes(&in.Absent)
		}
		return p.unknown(key)
	})
	if err == nil && in.Hash.IsZero() {
		err = p.missing(start, "hash")
	}
	return in, err
}

// items reads a list, sorts it by name and refuses a name that stands twice.
func (p *parser) items(kind surface.ListKind) ([]Item, error) {
	items := []Item{}
	at := p.r.Offset()
	err := p.r.Array(func() error {
		items = append(items, Item{})
		if err := p.item(kind, &items[len(items)-1]); err != nil {
			return within(err, elementStep(len(items)-1))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	byName := func(a, b Item) int { return strings.Compare(a.Name, b.Name) }
	sorted := true
	for i := 1; i < len(items); i++ {
		if byName(items[i-1], items[i]) > 0 {
			sorted = false
			p.disorder(items[i].Line, p.server, "%s %q is after %q", kind.Kind, items[i].Name, items[i-1].Name)
		}
	}
	if !sorted {
		slices.SortStableFunc(items, byName)
	}
	for i := 1; i < len(items); i++ {
		if items[i-1].Name == items[i].Name {
			return nil, p.fail(at, "two entries have the %s %q, at lines %d and %d", kind.ID, items[i].Name, items[i-1].Line, items[i].Line)
		}
	}
	return items, nil
}

// item reads one item. A tool has three hashes more, and may be without its
// digests, as in the original format.
func (p *parser) item(kind surface.ListKind, it *Item) error {
	it.Line = p.here()
	start := p.r.Offset()
	tool := kind.Kind == surface.KindTool
	if tool {
		it.Tool = &surface.ToolHashes{}
	}
	err := p.object(func(key []byte) error {
		switch k := string(key); {
		case k == kind.ID:
			return p.text(&it.Name)
		case k == "digest":
			return p.digest(&it.Digest)
		case k == "gatewayDigest":
			return p.digest(&it.GatewayDigest)
		case k == "decision":
			return p.digest(&it.Decision)
		case k == "absent":
			return p.yes(&it.Absent)
		case tool && k == "nameHash":
			return p.digest(&it.Tool.Name)
		case tool && k == "descriptionHash":
			return p.digest(&it.Tool.Description)
		case tool && k == "inputSchemaHash":
			return p.digest(&it.Tool.InputSchema)
		}
		return p.unknown(key)
	})
	if err != nil {
		return err
	}
	return p.complete(start, kind, it)
}

// complete checks that an item has all its members.
func (p *parser) complete(start int, kind surface.ListKind, it *Item) error {
	tool := it.Tool
	switch {
	case it.Name == "":
		return p.missing(start, kind.ID)
	case tool != nil && tool.Name.IsZero():
		return p.missing(start, "nameHash")
	case tool != nil && tool.Description.IsZero():
		return p.missing(start, "descriptionHash")
	case tool != nil && tool.InputSchema.IsZero():
		return p.missing(start, "inputSchemaHash")
	case it.Digest.IsZero() && (tool == nil || !it.GatewayDigest.IsZero()):
		return p.missing(start, "digest")
	case it.GatewayDigest.IsZero() && !it.Digest.IsZero():
		return p.missing(start, "gatewayDigest")
	}
	return nil
}

func (p *parser) refusedList(s *Server) error {
	line := p.here()
	at := p.r.Offset()
	s.Refused = []surface.Refused{}
	err := p.r.Array(func() error {
		refused, err := p.refused()
		if err != nil {
			return within(err, elementStep(len(s.Refused)))
		}
		s.Refused = append(s.Refused, refused)
		return nil
	})
	if err != nil {
		return err
	}
	if len(s.Refused) == 0 {
		return p.fail(at, "an empty array is given where the member is left out")
	}
	sorted := slices.Clone(s.Refused)
	surface.SortRefused(sorted)
	if !slices.Equal(sorted, s.Refused) {
		p.disorder(line, s.Name, "refused is not sorted")
		s.Refused = sorted
	}
	return nil
}

func (p *parser) refused() (r surface.Refused, err error) {
	start := p.r.Offset()
	var kind, rule string
	err = p.object(func(key []byte) error {
		at := p.r.Offset()
		switch string(key) {
		case "kind":
			err := p.text(&kind)
			if _, ok := surface.ListKindOf(surface.Kind(kind)); err == nil && !ok && kind != string(surface.KindInstructions) {
				err = p.fail(at, "%q is not a kind of definition", kind)
			}
			return err
		case "name":
			return p.text(&r.Name)
		case "rule":
			err := p.text(&rule)
			if err == nil && !slices.Contains(canonical.Rules(), canonical.Rule(rule)) {
				err = p.fail(at, "%q is not a rule by which a definition is refused", rule)
			}
			return err
		case "raw":
			return p.digest(&r.Raw)
		}
		return p.unknown(key)
	})
	r.Kind, r.Rule = surface.Kind(kind), canonical.Rule(rule)
	switch {
	case err != nil:
	case kind == "":
		err = p.missing(start, "kind")
	case rule == "":
		err = p.missing(start, "rule")
	case r.Raw.IsZero():
		err = p.missing(start, "raw")
	}
	return r, err
}
