package gatewaydouble

import (
	"net/http"
	"sync"
)

// answer writes what the client gets for one request: one JSON body, or a stream
// of events, which begins with the first of them.
type answer struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	stream bool
	acked  bool
}

// header sets a header. It has to come before anything is written.
func (a *answer) header(name, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.w.Header().Set(name, text)
}

// start begins the stream without an event.
func (a *answer) start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin()
}

func (a *answer) begin() {
	if a.stream {
		return
	}
	a.stream = true
	a.w.Header().Set("Content-Type", streamType)
	a.w.Header().Set("Cache-Control", "no-cache")
	a.w.WriteHeader(http.StatusOK)
	a.flush()
}

func (a *answer) flush() {
	// Every writer of net/http can flush; a client that is gone shows at the
	// next write, and neither changes what is to be done.
	_ = http.NewResponseController(a.w).Flush()
}

// event writes one message of the stream.
func (a *answer) event(message value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin()
	data := append([]byte("event: message\ndata: "), encode(message)...)
	_, _ = a.w.Write(append(data, "\n\n"...)) // the client may be gone
	a.flush()
}

// streaming says whether the stream has begun.
func (a *answer) streaming() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stream
}

// acknowledge says whether an acknowledgement is the first of this stream.
func (a *answer) acknowledge() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := !a.acked
	a.acked = true
	return first
}

// body writes one JSON body, or the same as an event where the stream has begun.
func (a *answer) body(status int, message value) {
	if a.streaming() {
		a.event(message)
		return
	}
	a.raw(status, jsonType, encode(message))
}

// raw writes a whole answer.
func (a *answer) raw(status int, contentType string, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if contentType != "" {
		a.w.Header().Set("Content-Type", contentType)
	}
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body) // the client may be gone
}

func response(id, result value) value {
	return objectValue(member{"jsonrpc", textValue("2.0")}, member{"id", id}, member{"result", result})
}

func errorResponse(id, failure value) value {
	return objectValue(member{"jsonrpc", textValue("2.0")}, member{"id", id}, member{"error", failure})
}
