package gatewaydouble

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Gateway is a running double.
type Gateway struct {
	listener net.Listener
	server   *http.Server
	client   *http.Client
	sequence atomic.Int64
	running  sync.WaitGroup // the server and the requests it serves

	mu       sync.Mutex
	current  *relay
	relays   []*relay
	closed   bool
	sessions map[string]*session
	ended    map[string]bool
}

// relay is a configuration with its processors' connections.
type relay struct {
	Config
	processors []*processor
}

func newRelay(config Config) (*relay, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.SessionTTL == 0 {
		config.SessionTTL = defaultSessionTTL
	}
	if config.Path == "" {
		config.Path = defaultPath
	}
	r := &relay{Config: config}
	for _, processor := range config.Processors {
		p, err := newProcessor(processor)
		if err != nil {
			return nil, err
		}
		r.processors = append(r.processors, p)
	}
	return r, nil
}

func (r *relay) close() {
	for _, p := range r.processors {
		p.close()
	}
}

func (r *relay) target(name string) (Target, bool) {
	for _, target := range r.Targets {
		if target.Name == name {
			return target, true
		}
	}
	return Target{}, false
}

// New starts a double on a loopback port.
func New(config Config) (*Gateway, error) {
	r, err := newRelay(config)
	if err != nil {
		return nil, fmt.Errorf("configure the gateway double: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(config.Port)))
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		listener: listener,
		client:   &http.Client{Transport: &http.Transport{DisableCompression: true}},
		current:  r,
		relays:   []*relay{r},
		sessions: map[string]*session{},
		ended:    map[string]bool{},
	}
	g.server = &http.Server{Handler: http.HandlerFunc(g.handle), ReadHeaderTimeout: time.Minute}
	g.running.Go(func() {
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // the listener broke under a test
		}
	})
	return g, nil
}

// URL is the address of the route, for an MCP client.
func (g *Gateway) URL() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return "http://" + g.listener.Addr().String() + g.current.Path
}

// Reload puts another configuration in force; the port stays. One that is not
// valid is refused, and the old one stays. Sessions keep the targets and
// processors they began with; only AllowTools reaches them.
func (g *Gateway) Reload(_ context.Context, config Config) error {
	r, err := newRelay(config)
	if err != nil {
		return fmt.Errorf("reload the gateway double: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current = r
	g.relays = append(g.relays, r)
	return nil
}

// Close ends the double, with every request and stream under way.
func (g *Gateway) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	err := g.server.Close()
	g.running.Wait()
	g.client.CloseIdleConnections()
	for _, r := range g.relays {
		r.close()
	}
	return err
}
