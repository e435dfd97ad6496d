package gatewaydouble

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"
	"sync"
	"time"
)

// session is what the gateway remembers of one client of the older protocol
// versions. Requests of the newest one get an empty session each.
//
// The relay, and with it targets and processors, is that of the session's begin:
// a reload does not reach it.
type session struct {
	id    string
	relay *relay

	mu        sync.Mutex
	used      time.Time
	upstreams map[string]string // session ids by target
	pending   map[string]serverRequest
}

// serverRequest is a request of an upstream that the client has not answered.
type serverRequest struct {
	target Target
	id     value
}

func newSession(r *relay) *session {
	return &session{relay: r, upstreams: map[string]string{}, pending: map[string]serverRequest{}}
}

func (s *session) upstreamID(target string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upstreams[target]
}

func (s *session) setUpstreamID(target, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.upstreams[target] = id
}

// track gives an upstream's request the id under which the client gets it.
func (s *session) track(target Target, id value) value {
	form := "s_" + id.text
	if id.kind == number {
		form = "n_" + id.text
	}
	public := "agw_" + target.Name + "_" + form
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[public] = serverRequest{target, id}
	return textValue(public)
}

// answered returns the request of an upstream that a client's reply belongs to.
func (s *session) answered(id string) (serverRequest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request, ok := s.pending[id]
	delete(s.pending, id)
	return request, ok
}

// name makes the session's id from what the upstreams gave. It is encoded and
// neither signed nor encrypted, as the gateway's is without a session key.
func (s *session) name() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []value
	for _, target := range s.relay.Targets {
		members := []member{{"t", textValue(target.Name)}}
		if id := s.upstreams[target.Name]; id != "" {
			members = append(members, member{"s", textValue(id)})
		}
		states = append(states, objectValue(members...))
	}
	s.id = base64.RawURLEncoding.EncodeToString(encode(objectValue(
		member{"t", textValue("mcp")}, member{"s", listValue(states)}, member{"r", textValue(rand.Text())},
	)))
}

// resume makes a session of an id that this process does not remember. The id
// has to name exactly the targets of the relay.
func resume(id string, r *relay) (*session, bool) {
	data, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return nil, false
	}
	state, err := parse(data)
	if err != nil || state.getText("t") != "mcp" {
		return nil, false
	}
	s := newSession(r)
	s.id = id
	states, _ := state.get("s")
	known := map[string]bool{}
	for _, entry := range states.items {
		name := entry.getText("t")
		if _, ok := r.target(name); !ok || known[name] {
			return nil, false
		}
		known[name] = true
		s.upstreams[name] = entry.getText("s")
	}
	return s, len(known) == len(r.Targets)
}

// begin remembers a new session.
func (g *Gateway) begin(s *session) {
	s.name()
	g.mu.Lock()
	defer g.mu.Unlock()
	s.used = g.now()
	g.sessions[s.id] = s
}

// find returns the session of an id. One that is not remembered is resumed from
// its id, unless it was ended or has been idle for too long.
func (g *Gateway) find(id string) (*session, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended[id] {
		return nil, false
	}
	s, ok := g.sessions[id]
	now := g.now()
	if ok && now.Sub(s.used) > s.relay.SessionTTL {
		g.forget(id)
		return nil, false
	}
	if !ok {
		if s, ok = resume(id, g.current); !ok {
			return nil, false
		}
		g.sessions[id] = s
	}
	s.used = now
	return s, true
}

// end forgets a session for good.
func (g *Gateway) end(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(id)
}

// forget drops a session; the lock is held.
func (g *Gateway) forget(id string) {
	delete(g.sessions, id)
	g.ended[id] = true
}

// now is the time by the configuration's clock; the lock is held.
func (g *Gateway) now() time.Time {
	if g.current.Now != nil {
		return g.current.Now()
	}
	return time.Now()
}

// nextID is an id for a request of the gateway's own.
func (g *Gateway) nextID() value {
	return textValue("agw-resolve-" + strconv.FormatInt(g.sequence.Add(1), 10))
}
