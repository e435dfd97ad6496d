package upstream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// tools are the calls that do something. Any other listed tool answers with its
// name.
var tools = map[string]func(args json.RawMessage) (string, error){
	"echo": func(args json.RawMessage) (string, error) {
		var a struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(args, &a); err != nil {
			return "", fmt.Errorf("arguments of echo: %w", err)
		}
		return a.Message, nil
	},
	"add": func(args json.RawMessage) (string, error) {
		var a struct{ A, B float64 }
		if err := json.Unmarshal(args, &a); err != nil {
			return "", fmt.Errorf("arguments of add: %w", err)
		}
		return fmt.Sprint(a.A + a.B), nil
	},
	"wipe_database": func(json.RawMessage) (string, error) { return "The database is empty now.", nil },
}

func (s *Server) callTool(r *request) ([]byte, *rpcError) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(r.Params, &p) != nil {
		return nil, errorf(codeInvalidParams, "invalid parameters of tools/call")
	}
	if !s.listed(r, p.Name) {
		return nil, errorf(codeInvalidParams, "unknown tool %q", p.Name)
	}
	s.mu.Lock()
	s.calls[p.Name]++
	s.mu.Unlock()
	run, ok := tools[p.Name]
	if !ok {
		return s.content(r, "called "+p.Name, false), nil
	}
	if len(p.Arguments) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	out, err := run(p.Arguments)
	if err != nil {
		return s.content(r, err.Error(), true), nil
	}
	return s.content(r, out, false), nil
}

// listed says whether some page of the tool list has that name.
func (s *Server) listed(r *request, name string) bool {
	s.mu.Lock()
	hidden := s.knobs.hiddenPage && name == "hidden"
	s.mu.Unlock()
	return hidden || indexOf(s.surfaceFor(r).Tools, name) >= 0
}

func (s *Server) content(r *request, text string, isError bool) []byte {
	body := fmt.Sprintf(`"content":[{"type":"text","text":%s}]`, quote(text))
	if isError {
		body += `,"isError":true`
	}
	return s.result(r, false, body)
}

func (s *Server) getPrompt(r *request) ([]byte, *rpcError) {
	var p struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if json.Unmarshal(r.Params, &p) != nil || indexOf(s.surfaceFor(r).Prompts, p.Name) < 0 {
		return nil, errorf(codeInvalidParams, "unknown prompt %q", p.Name)
	}
	return s.result(r, false, fmt.Sprintf(`"messages":[{"role":"user","content":{"type":"text","text":%s}}]`,
		quote("Summarize: "+p.Arguments["text"]))), nil
}

func (s *Server) readResource(r *request) ([]byte, *rpcError) {
	var p struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(r.Params, &p) != nil || !s.readable(r, p.URI) {
		return nil, errorf(codeInvalidParams, "unknown resource %q", p.URI)
	}
	return s.result(r, true, fmt.Sprintf(`"contents":[{"uri":%s,"mimeType":"text/plain","text":%s}]`,
		quote(p.URI), quote("The contents of "+p.URI))), nil
}

// readable says whether a resource has that URI, or a template's part before
// its first variable begins it.
func (s *Server) readable(r *request, uri string) bool {
	f := s.surfaceFor(r)
	has := func(member string, match func(string) bool) func(json.RawMessage) bool {
		return func(def json.RawMessage) bool {
			var d map[string]json.RawMessage
			return json.Unmarshal(def, &d) == nil && match(text(d[member]))
		}
	}
	return slices.ContainsFunc(f.Resources, has("uri", func(u string) bool { return u != "" && u == uri })) ||
		slices.ContainsFunc(f.Templates, has("uriTemplate", func(u string) bool {
			prefix, _, variable := strings.Cut(u, "{")
			return variable && prefix != "" && strings.HasPrefix(uri, prefix) && len(uri) > len(prefix)
		}))
}
