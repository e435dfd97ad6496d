package crawl

import (
	"context"
	"errors"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// A Listing is all that one server showed.
type Listing struct {
	Surface    surface.Surface
	Version    string // the protocol version that was settled
	ServerInfo ServerInfo
	Noise      int   // lines on standard output that were not messages
	Bytes      int64 // read for this listing
	// ListChanged is true where the server announced meanwhile that a list
	// changed.
	ListChanged bool
	Notes       []finding.Finding
}

// List reads what covers names, every page of it, whatever capabilities the server
// declares: some declare too little, and clients ask all the same. What the server
// does not offer (-32601) has no entry in the surface's Lists. A session that the
// server has forgotten is begun again, once.
func (s *Session) List(ctx context.Context, covers []string) (*Listing, error) {
	listing, err := s.listTwice(ctx, covers)
	return listing, s.endpoint.hide(err)
}

// listTwice lists once more where the session was lost.
func (s *Session) listTwice(ctx context.Context, covers []string) (*Listing, error) {
	listing, err := s.list(ctx, covers)
	var lost *ProtocolError
	if !errors.As(err, &lost) || !lost.sessionLost {
		return listing, err
	}
	fresh, openErr := s.lister.Open(ctx, s.endpoint)
	if openErr != nil {
		return nil, openErr
	}
	s.Close()
	*s = *fresh
	return s.list(ctx, covers)
}

func (s *Session) list(ctx context.Context, covers []string) (*Listing, error) {
	s.budget.reset()
	s.listChanged = false
	var (
		count = counter{limits: s.lister.opts.Limits}
		out   = surface.Surface{Lists: map[surface.Kind]surface.List{}}
	)
	if s.instructions != nil && slices.Contains(covers, surface.CoverInstructions) {
		out.Instructions = surface.NewInstructions(*s.instructions)
		if s.endpoint.Values.In([]byte(*s.instructions)) {
			out.Refused = append(out.Refused, surface.Refused{Kind: surface.KindInstructions, Rule: canonical.RuleSecret, Raw: out.Instructions.Hash})
			out.Instructions = nil
		}
	}
	for _, kind := range surface.ListKinds() {
		if !slices.Contains(covers, kind.Cover) {
			continue
		}
		raws, err := s.pages(ctx, kind, &count)
		var p *ProtocolError
		if errors.As(err, &p) && p.Code == codeMethodNotFound {
			continue // not offered
		}
		if err != nil {
			return nil, err
		}
		list, refused := surface.NewListWithout(kind.Kind, raws, s.endpoint.Values.In)
		out.Lists[kind.Kind] = list
		out.Refused = append(out.Refused, refused...)
	}
	surface.SortRefused(out.Refused)
	listing := &Listing{
		Surface: out, Version: s.version, ServerInfo: s.info,
		Noise: s.link.noise(), Bytes: s.budget.used.Load(), ListChanged: s.listChanged,
	}
	if listing.Noise > 0 {
		listing.Notes = append(listing.Notes, finding.New(finding.StdoutNoise, finding.Place{Server: s.endpoint.Name},
			textcheck.Count(listing.Noise, "line")+" of standard output skipped: not a message"))
	}
	return listing, nil
}

// counter holds one listing to its limits.
type counter struct {
	limits             Limits
	definitions, pages int
}

func (c *counter) add(p page) error {
	c.pages++
	c.definitions += len(p.definitions)
	switch {
	case c.pages > c.limits.Pages:
		return &LimitError{What: "pages", Limit: int64(c.limits.Pages)}
	case c.definitions > c.limits.Definitions:
		return &LimitError{What: "definitions", Limit: int64(c.limits.Definitions)}
	}
	return nil
}

// pages reads every page of one kind.
func (s *Session) pages(ctx context.Context, kind surface.ListKind, count *counter) ([][]byte, error) {
	var (
		raws, first [][]byte
		asked       = map[string]bool{}
		params      map[string]any
	)
	for {
		p, err := s.page(ctx, kind, params)
		if err == nil {
			err = count.add(p)
		}
		if err != nil {
			return nil, err
		}
		if params == nil {
			first = p.definitions
		} else if params["cursor"] == "" && equalParts(p.definitions, first) {
			// An empty cursor that leads to the first page again is how some servers
			// spell that there is no other.
			return raws, nil
		}
		raws = append(raws, p.definitions...)
		if p.next == nil {
			return raws, nil
		}
		if asked[*p.next] {
			return nil, &ProtocolError{Doing: kind.Method, Detail: "a cursor repeats, so the list never ends"}
		}
		asked[*p.next] = true
		params = map[string]any{"cursor": *p.next}
	}
}

func (s *Session) page(ctx context.Context, kind surface.ListKind, params map[string]any) (page, error) {
	result, err := s.call(ctx, kind.Method, params, s.lister.opts.Limits.Timeout)
	if err != nil {
		return page{}, err
	}
	p, err := readPage(result, kind.Member)
	if err != nil {
		return page{}, &ProtocolError{Doing: kind.Method, Detail: err.Error(), Err: err}
	}
	return p, nil
}

func equalParts(a, b [][]byte) bool {
	return slices.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) })
}
