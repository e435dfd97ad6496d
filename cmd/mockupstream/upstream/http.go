package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// The headers of streamable HTTP.
const (
	headerVersion = "MCP-Protocol-Version"
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
)

// ServeHTTP serves /mcp, /sse with /messages, and /admin.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/mcp" && !s.opts.SSEOnly:
		s.serveStreamable(w, r)
	case path == "/sse":
		s.serveSSE(w, r)
	case path == "/messages":
		s.serveMessages(w, r)
	case path == "/admin" || strings.HasPrefix(path, "/admin/"):
		s.serveAdmin(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) serveStreamable(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		s.servePost(w, r)
	case http.MethodGet:
		s.serveGet(w, r)
	case http.MethodDelete:
		if !s.endSession(r.Header.Get(headerSession)) {
			http.Error(w, "unknown session", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// readMessage reads the one message of a POST, and answers for it where it is
// unusable or a knob has an answer of its own.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request, transport string) *message {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		http.Error(w, fmt.Sprintf("a request may have %d bytes", tooBig.Limit), http.StatusRequestEntityTooLarge)
		return nil
	}
	if err != nil {
		http.Error(w, "reading the request failed", http.StatusBadRequest)
		return nil
	}
	m, e := parseMessage(data)
	if e != nil {
		writeJSON(w, http.StatusBadRequest, answer(nil, nil, e))
		return nil
	}
	s.count(&caller{transport: transport, header: r.Header}, m)
	s.mu.Lock()
	hangUp := s.knobs.hangUps[m.Method]
	s.mu.Unlock()
	if hangUp {
		panic(http.ErrAbortHandler)
	}
	if s.writeStatus(w, m.Method, "*") {
		return nil
	}
	return m
}

// writeStatus writes what Status set for the first of the keys that has it.
func (s *Server) writeStatus(w http.ResponseWriter, keys ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if a, ok := s.knobs.statuses[key]; ok {
			maps.Copy(w.Header(), a.header)
			w.WriteHeader(a.status)
			_, _ = io.WriteString(w, http.StatusText(a.status))
			return true
		}
	}
	return false
}

func (s *Server) servePost(w http.ResponseWriter, r *http.Request) {
	if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	if accept := strings.Join(r.Header.Values("Accept"), ","); !strings.Contains(accept, "application/json") ||
		!strings.Contains(accept, "text/event-stream") {
		http.Error(w, "Accept must name application/json and text/event-stream", http.StatusNotAcceptable)
		return
	}
	m := s.readMessage(w, r, "http")
	if m == nil {
		return
	}
	if s.isModern(r, m) {
		if e := checkHeaders(r.Header, m); e != nil {
			writeJSON(w, http.StatusBadRequest, answer(m.ID, nil, e))
			return
		}
		s.respond(w, r, &caller{transport: "http", header: r.Header}, m, true)
		return
	}
	c, fault := s.callerOf(r, m)
	if fault != nil {
		writeJSON(w, fault.status, answer(m.ID, nil, errorf(codeServer, "%s", fault.text)))
		return
	}
	if m.Method == "initialize" {
		w.Header().Set(headerSession, c.session.id)
	}
	s.respond(w, r, c, m, false)
}

// isModern says whether a request asks for the 2026-07-28 era and the server
// has it.
func (s *Server) isModern(r *http.Request, m *message) bool {
	s.mu.Lock()
	off := s.knobs.noDiscover
	s.mu.Unlock()
	return !off && m.isCall() && (r.Header.Get(headerVersion) >= modernVersion || text(m.meta()[metaVersion]) >= modernVersion)
}

// checkHeaders holds the rule of the 2026-07-28 era that the headers repeat
// what the body says.
func checkHeaders(h http.Header, m *message) *rpcError {
	version, metaV := h.Get(headerVersion), text(m.meta()[metaVersion])
	switch {
	case metaV == "":
		return errorf(codeInvalidParams, "missing or invalid _meta field %q", metaVersion)
	case version != metaV:
		return errorf(codeHeaderMismatch, "%s header %q does not match the request's %q", headerVersion, version, metaV)
	case h.Get(headerMethod) != m.Method:
		return errorf(codeHeaderMismatch, "%s header %q does not match the request's %q", headerMethod, h.Get(headerMethod), m.Method)
	}
	named := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
	if key, ok := named[m.Method]; ok {
		var p map[string]json.RawMessage
		if json.Unmarshal(m.Params, &p) != nil || text(p[key]) != h.Get(headerName) {
			return errorf(codeHeaderMismatch, "%s header %q does not match the request's %s", headerName, h.Get(headerName), key)
		}
	}
	return nil
}

type httpFault struct {
	status int
	text   string
}

// callerOf finds the session of a request of the initialize era.
func (s *Server) callerOf(r *http.Request, m *message) (*caller, *httpFault) {
	c := &caller{transport: "http", header: r.Header}
	version := r.Header.Get(headerVersion)
	if m.Method == "initialize" {
		c.session = s.newSession()
		return c, nil
	}
	id := r.Header.Get(headerSession)
	if id == "" {
		return nil, &httpFault{http.StatusBadRequest, "the request has no " + headerSession + " header and is not initialize"}
	}
	if c.session = s.sessionByID(id); c.session == nil {
		return nil, &httpFault{http.StatusNotFound, "unknown session"}
	}
	if version != "" && !slices.Contains(legacyVersions, version) {
		return nil, &httpFault{http.StatusBadRequest, "unsupported protocol version " + version}
	}
	s.mu.Lock()
	agreed := c.session.version
	s.mu.Unlock()
	if (version != "" && version != agreed) || (version == "" && s.opts.RequireVersionHeader && agreed >= "2025-06-18") {
		return nil, &httpFault{http.StatusBadRequest, headerVersion + " must be " + agreed}
	}
	return c, nil
}

// respond answers a message whose place is clear.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, c *caller, m *message, modern bool) {
	if !m.isCall() {
		s.notified(c, m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if s.wait(r.Context()) != nil {
		return
	}
	if modern && m.Method == "subscriptions/listen" {
		s.serveListen(w, r, m)
		return
	}
	result, e := s.handle(c, m)
	body := answer(m.ID, result, e)
	s.mu.Lock()
	stream := s.knobs.stream
	s.mu.Unlock()
	if status := statusOf(e, modern); status != http.StatusOK || !stream {
		writeJSON(w, status, body)
		return
	}
	startStream(w)
	writeEvent(w, "message", body)
}

// statusOf maps errors to HTTP statuses as the 2026-07-28 era wants it.
func statusOf(e *rpcError, modern bool) int {
	if e == nil || !modern {
		return http.StatusOK
	}
	switch e.Code {
	case codeMethodNotFound:
		return http.StatusNotFound
	case codeInvalidParams, codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func startStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	flush(w)
}

func writeEvent(w http.ResponseWriter, name string, data []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", name)
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteByte('\n')
	_, _ = w.Write(b.Bytes())
	flush(w)
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// serveGet opens the stream that the notifications of a session go to.
func (s *Server) serveGet(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		http.Error(w, "Accept must name text/event-stream", http.StatusNotAcceptable)
		return
	}
	sub := &subscriber{session: s.sessionByID(r.Header.Get(headerSession))}
	if sub.session == nil {
		http.Error(w, "unknown session", http.StatusBadRequest)
		return
	}
	defer s.subscribe(sub)()
	startStream(w)
	s.pump(r.Context(), w, sub)
}

// pump writes what a subscriber gets until the stream or the server ends.
func (s *Server) pump(ctx context.Context, w http.ResponseWriter, sub *subscriber) {
	for {
		select {
		case data := <-sub.out:
			writeEvent(w, "message", data)
		case <-ctx.Done():
			return
		case <-s.life.Done():
			return
		}
	}
}

// serveListen answers subscriptions/listen: an acknowledgement, then what was
// asked for, on one stream.
func (s *Server) serveListen(w http.ResponseWriter, r *http.Request, m *message) {
	sub, ack := newListener(m)
	defer s.subscribe(sub)()
	startStream(w)
	writeEvent(w, "message", ack)
	s.pump(r.Context(), w, sub)
}

// newListener reads the parameters of subscriptions/listen.
func newListener(m *message) (sub *subscriber, ack []byte) {
	var p struct {
		Notifications map[string]json.RawMessage `json:"notifications"`
	}
	_ = json.Unmarshal(m.Params, &p) // nothing asked for is nothing sent
	sub = &subscriber{id: m.ID, methods: map[string]bool{}}
	var agreed []member
	for _, kind := range []string{"tools", "prompts", "resources"} {
		name := kind + "ListChanged"
		if string(p.Notifications[name]) == "true" {
			sub.methods["notifications/"+kind+"/list_changed"] = true
			agreed = append(agreed, member{name, json.RawMessage("true")})
		}
	}
	ack = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{%q:%s},"notifications":%s}}`,
		metaSubscriptionID, m.ID, object(agreed))
	return sub, ack
}
