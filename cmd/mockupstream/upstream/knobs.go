package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// knobs are the ways in which the server behaves otherwise than a good one.
type knobs struct {
	noDiscover, noInitialize  bool
	stream                    bool
	pageSize                  int
	hiddenPage                bool
	repeatCursor, endless     bool
	shuffleKeys, shuffleTools bool
	notifyOnList              bool
	ignoreEOF                 bool
	delay, delayFirst         time.Duration
	noise                     []string
	sseEndpoint               string
	emptyLeft                 map[string]int
	flips                     map[string][2]string
	notOffered                map[string]bool
	errors                    map[string]*rpcError
	results                   map[string]json.RawMessage
	statuses                  map[string]httpAnswer
	hangUps                   map[string]bool
	cloak                     func(Asker) *Surface
}

type httpAnswer struct {
	status int
	header http.Header
}

func newKnobs(o Options) knobs {
	return knobs{
		noDiscover:   o.NoDiscover,
		noInitialize: o.NoInitialize,
		stream:       o.Stream,
		emptyLeft:    map[string]int{},
		flips:        map[string][2]string{},
		notOffered:   map[string]bool{},
		errors:       map[string]*rpcError{},
		results:      map[string]json.RawMessage{},
		statuses:     map[string]httpAnswer{},
		hangUps:      map[string]bool{},
	}
}

// turn changes one knob under the lock.
func (s *Server) turn(f func(k *knobs)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.knobs)
}

// edit changes the surface under the lock.
func (s *Server) edit(f func(f *Surface)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.surface = s.surface.clone()
	f(&s.surface)
}

// SetTool puts a definition in the place of the first tool of the same name, or
// at the end. What is not valid JSON goes to the end, as it is.
func (s *Server) SetTool(def string) {
	s.edit(func(f *Surface) {
		if i := indexOf(f.Tools, nameOf(json.RawMessage(def))); i >= 0 {
			f.Tools[i] = json.RawMessage(def)
			return
		}
		f.Tools = append(f.Tools, json.RawMessage(def))
	})
}

// SetToolsRaw replaces all tools. The elements need not be valid.
func (s *Server) SetToolsRaw(defs []json.RawMessage) {
	s.edit(func(f *Surface) { f.Tools = slices.Clone(defs) })
}

// SetPrompts replaces all prompts.
func (s *Server) SetPrompts(defs ...string) {
	s.edit(func(f *Surface) { f.Prompts = rawAll(defs...) })
}

// SetTemplates replaces all resource templates.
func (s *Server) SetTemplates(defs ...string) {
	s.edit(func(f *Surface) { f.Templates = rawAll(defs...) })
}

// SetResources replaces all resources.
func (s *Server) SetResources(defs ...string) {
	s.edit(func(f *Surface) { f.Resources = rawAll(defs...) })
}

// SetInstructions replaces the instructions; the empty string leaves them out.
func (s *Server) SetInstructions(text string) {
	s.edit(func(f *Surface) { f.Instructions = text })
}

// SetMember sets one member of a tool's definition to a piece of JSON, and
// leaves every other byte of it alone.
func (s *Server) SetMember(tool, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := indexOf(s.surface.Tools, tool)
	if i < 0 {
		return fmt.Errorf("there is no tool %q", tool)
	}
	def, err := withMember(s.surface.Tools[i], name, json.RawMessage(value))
	if err != nil {
		return fmt.Errorf("tool %q: %w", tool, err)
	}
	s.surface = s.surface.clone()
	s.surface.Tools[i] = def
	return nil
}

// Describe replaces the description of a tool: the rug pull.
func (s *Server) Describe(tool, text string) error {
	return s.SetMember(tool, "description", string(quote(text)))
}

// SetSchema replaces the input schema of a tool by a piece of JSON.
func (s *Server) SetSchema(tool, schema string) error {
	return s.SetMember(tool, "inputSchema", schema)
}

// SetAnnotations replaces the annotations of a tool by a piece of JSON.
func (s *Server) SetAnnotations(tool, annotations string) error {
	return s.SetMember(tool, "annotations", annotations)
}

// Remove takes every tool of that name away.
func (s *Server) Remove(tool string) error {
	return s.withTool(tool, func(f *Surface, _ int) {
		f.Tools = slices.DeleteFunc(f.Tools, func(d json.RawMessage) bool { return nameOf(d) == tool })
	})
}

// Duplicate lists a tool once more, under the same name with another description.
func (s *Server) Duplicate(tool string) error {
	return s.withTool(tool, func(f *Surface, i int) {
		twin, err := withMember(f.Tools[i], "description", quote("A second definition of the same name."))
		if err != nil {
			twin = f.Tools[i]
		}
		f.Tools = append(f.Tools, twin)
	})
}

func (s *Server) withTool(tool string, change func(f *Surface, i int)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := indexOf(s.surface.Tools, tool)
	if i < 0 {
		return fmt.Errorf("there is no tool %q", tool)
	}
	s.surface = s.surface.clone()
	change(&s.surface, i)
	return nil
}

// BigTool adds a tool named "big" whose definition is that many bytes long.
func (s *Server) BigTool(bytes int) {
	s.edit(func(f *Surface) { f.Tools = append(f.Tools, bigTool(bytes)) })
}

// ManyTools adds n tools named tool_000001 and so on.
func (s *Server) ManyTools(n int) {
	s.edit(func(f *Surface) {
		for i := 1; i <= n; i++ {
			f.Tools = append(f.Tools, generatedTool(fmt.Sprintf("tool_%06d", i)))
		}
	})
}

// HiddenPage puts a tool named "hidden" on a page after the last.
func (s *Server) HiddenPage(on bool) { s.turn(func(k *knobs) { k.hiddenPage = on }) }

// PageSize sets how many definitions a page holds; 0 lists all on one.
func (s *Server) PageSize(n int) { s.turn(func(k *knobs) { k.pageSize = n }) }

// RepeatCursor answers each list request with the first page and the same cursor.
func (s *Server) RepeatCursor(on bool) { s.turn(func(k *knobs) { k.repeatCursor = on }) }

// EndlessPages adds a page of one new tool after every page, without end.
func (s *Server) EndlessPages(on bool) { s.turn(func(k *knobs) { k.endless = on }) }

// Delay makes every request wait that long for its answer.
func (s *Server) Delay(d time.Duration) { s.turn(func(k *knobs) { k.delay = d }) }

// DelayFirst makes the first request from now on wait that long.
func (s *Server) DelayFirst(d time.Duration) { s.turn(func(k *knobs) { k.delayFirst = d }) }

// ListError answers a method with a JSON-RPC error; code 0 takes that back. The
// capability stays declared.
func (s *Server) ListError(method string, code int, message string) {
	s.turn(func(k *knobs) {
		delete(k.errors, method)
		if code != 0 {
			k.errors[method] = &rpcError{Code: code, Message: message}
		}
	})
}

// DiscoverError answers server/discover with a JSON-RPC error; code 0 takes that back.
func (s *Server) DiscoverError(code int, message string) {
	s.ListError("server/discover", code, message)
}

// Result answers a method with that text as its result, whatever it is; the
// empty string takes that back.
func (s *Server) Result(method, raw string) {
	s.turn(func(k *knobs) {
		delete(k.results, method)
		if raw != "" {
			k.results[method] = json.RawMessage(raw)
		}
	})
}

// NotOffered makes a method unknown (-32601), and its capability undeclared
// where no other method needs it.
func (s *Server) NotOffered(method string) { s.turn(func(k *knobs) { k.notOffered[method] = true }) }

// Eras switches the two protocol eras on and off.
func (s *Server) Eras(discover, initialize bool) {
	s.turn(func(k *knobs) { k.noDiscover, k.noInitialize = !discover, !initialize })
}

// Stream chooses between an event stream and one JSON body for HTTP answers.
func (s *Server) Stream(on bool) { s.turn(func(k *knobs) { k.stream = on }) }

// Flip gives a tool two descriptions in turn: textA in the first listing after
// the call, textB in the next, and so on.
func (s *Server) Flip(tool, textA, textB string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists["tools/list"]%2 == 1 {
		textA, textB = textB, textA
	}
	s.knobs.flips[tool] = [2]string{textA, textB}
}

// ShuffleKeys changes the order of members in every object from listing to listing.
func (s *Server) ShuffleKeys(on bool) { s.turn(func(k *knobs) { k.shuffleKeys = on }) }

// ShuffleTools changes the order of definitions from listing to listing.
func (s *Server) ShuffleTools(on bool) { s.turn(func(k *knobs) { k.shuffleTools = on }) }

// EmptyFirst makes the next n listings of each kind empty, as a server in
// warm-up answers.
func (s *Server) EmptyFirst(n int) {
	s.turn(func(k *knobs) {
		for method := range listMethods {
			k.emptyLeft[method] = n
		}
	})
}

// NotifyOnList sends tools/list_changed with every list request, as servers do
// that rebuild their list when asked for it.
func (s *Server) NotifyOnList(on bool) { s.turn(func(k *knobs) { k.notifyOnList = on }) }

// Status answers the HTTP request of a JSON-RPC method ("*" for any, "sse" for
// the GET of the event stream) with that status and header and without a
// result; status 0 takes that back. A redirect is a status 307 with a Location.
func (s *Server) Status(method string, status int, header http.Header) {
	s.turn(func(k *knobs) {
		delete(k.statuses, method)
		if status != 0 {
			k.statuses[method] = httpAnswer{status, header.Clone()}
		}
	})
}

// HangUp ends the connection when a method is asked for, without an answer.
func (s *Server) HangUp(method string) { s.turn(func(k *knobs) { k.hangUps[method] = true }) }

// SSEEndpoint sets what the endpoint event of the HTTP+SSE transport names, so
// that it can name another origin; empty for the real one.
func (s *Server) SSEEndpoint(url string) { s.turn(func(k *knobs) { k.sseEndpoint = url }) }

// StdoutNoise writes lines that are no JSON-RPC before each answer of stdio.
func (s *Server) StdoutNoise(lines ...string) {
	s.turn(func(k *knobs) { k.noise = slices.Clone(lines) })
}

// IgnoreEOF makes stdio go on after the end of its input, until its context ends.
func (s *Server) IgnoreEOF(on bool) { s.turn(func(k *knobs) { k.ignoreEOF = on }) }

// An Asker is what the server knows of the client behind a request.
type Asker struct {
	// Transport is "http", "sse" or "stdio"; Header is nil for the last.
	Transport string
	Header    http.Header
	// Version is the protocol version of the request.
	Version string
	// Client and Capabilities are what the client says of itself, as JSON.
	Client, Capabilities json.RawMessage
}

// Cloak shows another surface to some clients: f returns it, or nil for the
// common one. f must not call methods of the server.
func (s *Server) Cloak(f func(Asker) *Surface) { s.turn(func(k *knobs) { k.cloak = f }) }
