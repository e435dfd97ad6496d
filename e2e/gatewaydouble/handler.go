package gatewaydouble

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// modernVersion is the protocol version without sessions.
const modernVersion = "2026-07-28"

var knownVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modernVersion}

// handle serves one HTTP request of a client.
func (g *Gateway) handle(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.running.Add(1)
	current := g.current
	g.mu.Unlock()
	defer g.running.Done()

	if r.URL.Path != current.Path {
		http.Error(w, "route not found", http.StatusNotFound)
		return
	}
	x := &exchange{
		gateway: g,
		out:     &answer{w: w},
		headers: headers{http: r.Header.Clone(), pseudo: map[string]string{
			":authority": r.Host, ":method": r.Method, ":path": r.URL.RequestURI(), ":scheme": "http",
		}},
		given:  map[string]string{},
		allow:  current.AllowTools,
		modern: r.Header.Get(versionHeader) == modernVersion,
	}
	switch {
	case r.Method == http.MethodPost:
		x.post(r, current)
	case x.modern || current.Stateless:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	case r.Method == http.MethodGet && x.attach(r):
		x.watch(r.Context())
	case r.Method == http.MethodDelete && x.attach(r):
		x.end(r.Context())
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// attach finds the session that a request names, or answers that there is none.
func (x *exchange) attach(r *http.Request) bool {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		x.out.raw(http.StatusBadRequest, "text/plain", []byte("session header is required"))
		return false
	}
	s, ok := x.gateway.find(id)
	if !ok {
		x.out.raw(http.StatusNotFound, "text/plain", []byte("session not found"))
		return false
	}
	x.session, x.relay = s, s.relay
	return true
}

// post reads and routes one JSON-RPC message.
func (x *exchange) post(r *http.Request, current *relay) {
	message, status, err := readMessage(r)
	if err != nil {
		x.out.body(status, errorResponse(value{}, (&rpcError{code: codeParse, message: err.Error()}).value()))
		return
	}
	id, _ := message.get("id")
	if version := r.Header.Get(versionHeader); version != "" && !slices.Contains(knownVersions, version) {
		x.out.body(http.StatusBadRequest, errorResponse(id, (&rpcError{code: codeVersion, message: "unsupported protocol version: " + version}).value()))
		return
	}
	x.id, x.method = id, message.getText("method")
	switch {
	case x.modern || current.Stateless || x.method == "initialize" && validID(id):
		x.session, x.relay = newSession(current), current
	case !x.attach(r):
		return
	}
	switch _, isMethod := message.get("method"); {
	case !isMethod:
		x.reply(r.Context(), message)
	case !validID(id):
		x.forwardNotification(r.Context(), message)
	default:
		x.request(r.Context(), message)
	}
}

// readMessage reads one JSON-RPC message. The status goes with an error.
func readMessage(r *http.Request) (value, int, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if !strings.Contains(accept, jsonType) || !strings.Contains(accept, streamType) {
		return value{}, http.StatusNotAcceptable, errors.New("client must accept both application/json and text/event-stream")
	}
	if contentType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || contentType != jsonType {
		return value{}, http.StatusUnsupportedMediaType, errors.New("content type must be application/json")
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBuffer+1))
	if err != nil {
		return value{}, http.StatusBadRequest, err
	}
	if len(data) > maxBuffer {
		return value{}, http.StatusRequestEntityTooLarge, errors.New("body too large")
	}
	message, err := parse(data)
	if err == nil && message.kind != object {
		err = errors.New("not a single JSON-RPC message")
	}
	if err == nil {
		seen := map[string]bool{}
		for _, m := range message.members {
			if seen[m.key] {
				err = errors.New("duplicate member in a JSON-RPC message")
			}
			seen[m.key] = true
		}
	}
	return message, http.StatusBadRequest, err
}

// validID says whether an id makes a message with a method a request: a string or
// a 64-bit integer. With any other id, and without one, the gateway takes the
// message for a notification.
func validID(id value) bool {
	switch id.kind {
	case text:
		return true
	case number:
		return id.number.kind == negative || id.number.kind == unsigned && id.number.bits < 1<<63
	default:
		return false
	}
}
