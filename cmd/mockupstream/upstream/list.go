package upstream

import (
	"encoding/json"
	"fmt"
	"slices"
)

// listMethods says which member of the result a list method fills, and from where.
var listMethods = map[string]struct {
	member string
	defs   func(Surface) []json.RawMessage
}{
	"tools/list":               {"tools", func(f Surface) []json.RawMessage { return f.Tools }},
	"prompts/list":             {"prompts", func(f Surface) []json.RawMessage { return f.Prompts }},
	"resources/templates/list": {"resourceTemplates", func(f Surface) []json.RawMessage { return f.Templates }},
	"resources/list":           {"resources", func(f Surface) []json.RawMessage { return f.Resources }},
}

// stuckCursor is the cursor that RepeatCursor never moves on.
const stuckCursor = "again"

// list answers one page of a list method. A cursor carries the number of its
// listing, so that what changes from listing to listing stays the same on the
// pages of one.
func (s *Server) list(r *request) ([]byte, *rpcError) {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	if len(r.Params) > 0 && json.Unmarshal(r.Params, &p) != nil {
		return nil, errorf(codeInvalidParams, "invalid parameters of %s", r.Method)
	}
	defs := listMethods[r.Method].defs(s.surfaceFor(r))

	s.mu.Lock()
	k := s.knobs
	listing, page := 0, 0
	switch {
	case p.Cursor == nil || (k.repeatCursor && *p.Cursor == stuckCursor):
		s.lists[r.Method]++
		listing = s.lists[r.Method]
	default:
		if n, err := fmt.Sscanf(*p.Cursor, "listing-%d-page-%d", &listing, &page); n != 2 || err != nil {
			s.mu.Unlock()
			return nil, errorf(codeInvalidParams, "unknown cursor %q", *p.Cursor)
		}
	}
	warmUp := p.Cursor == nil && k.emptyLeft[r.Method] > 0
	if warmUp {
		s.knobs.emptyLeft[r.Method]--
	}
	defs = k.render(r.Method, defs, listing)
	s.mu.Unlock()

	if k.notifyOnList {
		s.NotifyListChanged()
	}
	var pages [][]json.RawMessage
	if !warmUp {
		pages = k.paginate(r.Method, defs)
	}
	return s.result(r, true, k.pageBody(r.Method, pages, listing, page)), nil
}

// render applies what differs from listing to listing.
func (k *knobs) render(method string, defs []json.RawMessage, listing int) []json.RawMessage {
	if !k.shuffleKeys && !k.shuffleTools && len(k.flips) == 0 {
		return defs
	}
	defs = slices.Clone(defs)
	for i, d := range defs {
		if texts, ok := k.flips[nameOf(d)]; ok && method == "tools/list" {
			if changed, err := withMember(d, "description", quote(texts[(listing+1)%2])); err == nil {
				defs[i] = changed
			}
		}
		if k.shuffleKeys {
			defs[i] = rotateKeys(defs[i], listing)
		}
	}
	if k.shuffleTools {
		defs = rotate(defs, listing)
	}
	return defs
}

func (k *knobs) paginate(method string, defs []json.RawMessage) [][]json.RawMessage {
	var pages [][]json.RawMessage
	if k.pageSize > 0 {
		pages = slices.Collect(slices.Chunk(defs, k.pageSize))
	} else {
		pages = append(pages, defs)
	}
	if k.hiddenPage && method == "tools/list" {
		pages = append(pages, []json.RawMessage{generatedTool("hidden")})
	}
	return pages
}

func (k *knobs) pageBody(method string, pages [][]json.RawMessage, listing, page int) string {
	var defs []json.RawMessage
	endless := k.endless && method == "tools/list"
	switch {
	case page < len(pages):
		defs = pages[page]
	case endless:
		defs = []json.RawMessage{generatedTool(fmt.Sprintf("endless_%06d", page))}
	}
	next := ""
	switch {
	case k.repeatCursor:
		next = stuckCursor
	case endless || page+1 < len(pages):
		next = fmt.Sprintf("listing-%d-page-%d", listing, page+1)
	}
	body := fmt.Sprintf(`%q:%s`, listMethods[method].member, array(defs))
	if next != "" {
		body += fmt.Sprintf(`,"nextCursor":%q`, next)
	}
	return body
}
