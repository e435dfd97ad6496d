package upstream

import (
	"net/http"
	"net/url"
)

// serveSSE opens a connection of the HTTP+SSE transport (2024-11-05): the
// first event names where messages are posted, answers come on the stream.
func (s *Server) serveSSE(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	if s.writeStatus(w, "sse", "*") {
		return
	}
	ses := s.newSession()
	defer s.endSession(ses.id)
	sub := &subscriber{session: ses}
	defer s.subscribe(sub)()
	s.attach(ses.id, sub)
	defer s.attach(ses.id, nil)

	s.mu.Lock()
	endpoint := s.knobs.sseEndpoint
	s.mu.Unlock()
	if endpoint == "" {
		endpoint = "/messages?sessionId=" + url.QueryEscape(ses.id)
	}
	startStream(w)
	writeEvent(w, "endpoint", []byte(endpoint))
	s.pump(r.Context(), w, sub)
}

// attach notes which stream the answers of an SSE session go to.
func (s *Server) attach(id string, sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub == nil {
		delete(s.streams, id)
		return
	}
	s.streams[id] = sub
}

// serveMessages takes one message of an SSE session.
func (s *Server) serveMessages(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	id := r.URL.Query().Get("sessionId")
	s.mu.Lock()
	ses, sub := s.sessions[id], s.streams[id]
	s.mu.Unlock()
	if ses == nil || sub == nil {
		http.Error(w, "unknown session", http.StatusNotFound)
		return
	}
	m := s.readMessage(w, r, "sse")
	if m == nil {
		return
	}
	c := &caller{transport: "sse", header: r.Header.Clone(), session: ses}
	if !m.isCall() {
		s.notified(c, m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	// The answer must not depend on the POST, which ends here. It ends with the
	// server at the latest.
	go func() {
		if s.wait(s.life) != nil {
			return
		}
		result, e := s.handle(c, m)
		select {
		case sub.out <- answer(m.ID, result, e):
		case <-s.life.Done():
		}
	}()
	w.WriteHeader(http.StatusAccepted)
}
