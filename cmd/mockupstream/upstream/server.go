package upstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxMessage bounds one request: an HTTP body or a line of stdio.
const maxMessage = 4 << 20

// Options are what a server has from its start. The zero value is a server with
// [DefaultSurface] that speaks both protocol eras.
type Options struct {
	// Name and Version identify the server; "mockupstream" and "1.0.0" where empty.
	Name, Version string
	// Surface is what the server shows; [DefaultSurface] where nil.
	Surface *Surface
	// NoDiscover switches off the 2026-07-28 era.
	NoDiscover bool
	// NoInitialize switches off the era of the initialize handshake.
	NoInitialize bool
	// Stream answers HTTP requests with an event stream in place of one JSON body.
	Stream bool
	// SSEOnly serves the HTTP+SSE transport alone: /mcp is then not found.
	SSEOnly bool
	// RequireVersionHeader refuses a request of a session with 2025-06-18 or
	// newer that lacks the MCP-Protocol-Version header, as the specification
	// allows a server to do.
	RequireVersionHeader bool
}

// A Server is one mock MCP server. Its methods may be called at any time, from
// any goroutine, while it serves.
type Server struct {
	opts Options

	mu       sync.Mutex
	surface  Surface
	knobs    knobs
	requests map[string]int
	headers  map[string]http.Header
	calls    map[string]int
	lists    map[string]int
	sessions map[string]*session
	subs     map[*subscriber]struct{}
	streams  map[string]*subscriber
	url      string
	http     *http.Server

	// life ends with Close, and with it every open stream.
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup
}

// New returns a server that is ready to serve; see [Server.Start],
// [Server.ServeHTTP] and [Server.ServeStdio]. The caller must Close it.
func New(opts Options) *Server {
	if opts.Name == "" {
		opts.Name = "mockupstream"
	}
	if opts.Version == "" {
		opts.Version = "1.0.0"
	}
	life, end := context.WithCancel(context.Background())
	s := &Server{
		opts:     opts,
		requests: map[string]int{},
		headers:  map[string]http.Header{},
		calls:    map[string]int{},
		lists:    map[string]int{},
		sessions: map[string]*session{},
		subs:     map[*subscriber]struct{}{},
		streams:  map[string]*subscriber{},
		life:     life,
		end:      end,
	}
	s.Reset()
	return s
}

// Reset takes every change back: the surface and the behaviour are again those
// that [New] set. Counters and sessions stay.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.surface = DefaultSurface()
	if s.opts.Surface != nil {
		s.surface = s.opts.Surface.clone()
	}
	s.knobs = newKnobs(s.opts)
}

// Start listens on addr, a loopback address such as "127.0.0.1:0", and serves
// in the background until ctx ends or the server is closed. It returns the URL
// of the streamable HTTP endpoint.
func (s *Server) Start(ctx context.Context, addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("address %q is not a loopback address; use 127.0.0.1:0", addr)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listening: %w", err)
	}
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return s.life },
	}
	base := "http://" + ln.Addr().String()
	s.mu.Lock()
	s.url, s.http = base, srv
	s.mu.Unlock()
	s.wg.Go(func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.end()
		}
	})
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return base + "/mcp", nil
}

// URL returns the streamable HTTP endpoint of a started server.
func (s *Server) URL() string { return s.at("/mcp") }

// SSEURL returns the HTTP+SSE endpoint of a started server.
func (s *Server) SSEURL() string { return s.at("/sse") }

// AdminURL returns the address under which a started server takes changes.
func (s *Server) AdminURL() string { return s.at("/admin") }

func (s *Server) at(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url + path
}

// Close ends every stream and stops listening. It may be called more than once.
func (s *Server) Close() error {
	s.end()
	s.mu.Lock()
	srv := s.http
	s.mu.Unlock()
	var err error
	if srv != nil {
		err = srv.Close()
	}
	s.wg.Wait()
	if err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	return nil
}

// Requests returns how many requests and notifications of a JSON-RPC method
// have arrived.
func (s *Server) Requests(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[method]
}

// Calls returns how often a tool was called and answered.
func (s *Server) Calls(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[tool]
}

// Header returns the HTTP header of the newest request of a JSON-RPC method, or nil.
func (s *Server) Header(method string) http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers[method].Clone()
}

// Sessions returns how many sessions of the initialize era are open.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// A session is what the initialize handshake agreed on.
type session struct {
	id           string
	version      string
	client       json.RawMessage
	capabilities json.RawMessage
	initialized  bool
}

func (s *Server) newSession() *session {
	ses := &session{id: rand.Text()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[ses.id] = ses
	return ses
}

func (s *Server) endSession(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sessions[id]
	delete(s.sessions, id)
	return ok
}

func (s *Server) sessionByID(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// A subscriber is one open stream that list_changed notifications go to.
type subscriber struct {
	// methods are the notifications that a subscription asked for.
	methods map[string]bool
	// session has to be initialized before it gets any; nil for a
	// subscription, which asked by itself.
	session *session
	// id is the subscription of the 2026-07-28 era, or nil.
	id  json.RawMessage
	out chan []byte
}

func (sub *subscriber) wants(method string) bool {
	if sub.session != nil {
		return sub.session.initialized
	}
	return sub.methods[method]
}

// subscriberRoom is how many notifications wait for a slow reader. More are
// dropped: a reader that has that many to read knows that something changed.
const subscriberRoom = 256

func (s *Server) subscribe(sub *subscriber) (remove func()) {
	sub.out = make(chan []byte, subscriberRoom)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs[sub] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subs, sub)
	}
}

// Subscribers returns how many streams are open for notifications.
func (s *Server) Subscribers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subs)
}

// NotifyListChanged tells every open stream that the tools have changed, or the
// kinds named: "tools", "prompts", "resources".
func (s *Server) NotifyListChanged(kinds ...string) {
	if len(kinds) == 0 {
		kinds = []string{"tools"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		method := "notifications/" + kind + "/list_changed"
		for sub := range maps.Keys(s.subs) {
			if !sub.wants(method) {
				continue
			}
			select {
			case sub.out <- notification(method, sub.id):
			default:
			}
		}
	}
}
