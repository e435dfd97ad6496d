package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
)

// The protocol versions, newest first. The first has no initialize.
const versionModern = "2026-07-28"

var versionsLegacy = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}

// JSON-RPC error codes that decide what is done next.
const (
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeUnsupportedVersion = -32022
)

// A Session is one server that is ready to be listed. It is not safe for
// concurrent use.
type Session struct {
	lister *Lister
	target Target
	link   *link
	calls  int64
	budget *budget

	version      string
	capabilities map[string]bool
	info         ServerInfo
	instructions *string
	listChanged  bool
	announces    bool // it declares that it tells when a list changes
}

// ServerInfo is what a server says it is. It decides nothing.
type ServerInfo struct {
	Name, Version string
}

// Open starts or contacts a server and settles the protocol version. The session
// must be closed.
func (l *Lister) Open(ctx context.Context, t Target) (*Session, error) {
	switch t.Transport {
	case lockfile.Stdio:
		l.opts.Progress(Event{t.Name, EventStart, t.Command})
		connect := func(_ context.Context, b *budget) (*link, error) { return l.startLink(t, b) }
		return l.negotiate(ctx, t, connect, true)
	case lockfile.HTTP, lockfile.SSE:
	default:
		return nil, fmt.Errorf("%q is not a transport; the transports are stdio, http and sse", t.Transport)
	}
	e, err := l.newEndpoint(t)
	if err != nil {
		return nil, err
	}
	if t.Transport == lockfile.SSE {
		return l.negotiate(ctx, t, e.connectSSE, false)
	}
	s, err := l.negotiate(ctx, t, e.connectStreamable, true)
	if err != nil && isOldServer(err) {
		// The fallback that the protocol defines for servers of 2024-11-05.
		if old, oldErr := l.negotiate(ctx, t, e.connectSSE, false); oldErr == nil {
			return old, nil
		}
	}
	return s, err
}

// isOldServer reports whether an answer to initialize is one that a legacy server
// gives to a message at its stream's address.
func isOldServer(err error) bool {
	var p *ProtocolError
	return errors.As(err, &p) && p.Code == 0 &&
		slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, p.Status)
}

type connectFunc func(ctx context.Context, b *budget) (*link, error)

// negotiate tries the protocol versions, each over a connection of its own.
func (l *Lister) negotiate(ctx context.Context, t Target, connect connectFunc, modern bool) (*Session, error) {
	if modern {
		s, err := l.attempt(ctx, t, connect, (*Session).discover)
		if err == nil || final(err) || ctx.Err() != nil {
			return s, err
		}
	}
	version := versionsLegacy[0]
	for {
		s, err := l.attempt(ctx, t, connect, func(s *Session, ctx context.Context) error { return s.initialize(ctx, version) })
		next := olderVersion(err)
		if next == "" || next >= version {
			return s, err
		}
		version = next
	}
}

// olderVersion returns the version to try after a server refused one: the newest
// of those it says it supports, or else the oldest that is widespread. It is
// empty where the version is not what the server refused.
func olderVersion(err error) string {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != codeInvalidParams && rpc.Code != codeUnsupportedVersion {
		return ""
	}
	var data struct{ Supported []string }
	if len(rpc.Data) > 0 && json.Unmarshal(rpc.Data, &data) == nil {
		for _, v := range versionsLegacy {
			if slices.Contains(data.Supported, v) {
				return v
			}
		}
	}
	return "2024-11-05"
}

// attempt opens one connection and greets the server over it.
func (l *Lister) attempt(ctx context.Context, t Target, connect connectFunc, greet func(*Session, context.Context) error) (*Session, error) {
	s := &Session{lister: l, target: t, budget: newBudget(l.opts.Limits.Bytes)}
	connecting, cancel := context.WithTimeout(ctx, l.opts.Limits.Timeout)
	defer cancel()
	var err error
	if s.link, err = connect(connecting, s.budget); err != nil {
		return nil, err
	}
	if err := greet(s, ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the session: a process and all its children, or the connections.
func (s *Session) Close() { s.link.close(false) }

// Version returns the protocol version that was settled.
func (s *Session) Version() string { return s.version }

// greetTimeout is how long the first answer may take.
func (s *Session) greetTimeout() time.Duration {
	if s.target.Transport == lockfile.Stdio {
		return s.lister.opts.Limits.StartTimeout
	}
	return s.lister.opts.Limits.Timeout
}

// discover asks a server of 2026-07-28 what it is.
func (s *Session) discover(ctx context.Context) error {
	s.version = versionModern
	result, err := s.call(ctx, "server/discover", nil, s.greetTimeout())
	if err != nil {
		return err
	}
	return s.greeting("server/discover", result)
}

// initialize greets a server of an older version.
func (s *Session) initialize(ctx context.Context, version string) error {
	s.version = ""
	result, err := s.call(ctx, "initialize", map[string]any{
		"protocolVersion": version, "capabilities": struct{}{}, "clientInfo": s.clientInfo(),
	}, s.greetTimeout())
	if err != nil {
		return err
	}
	if err := s.greeting("initialize", result); err != nil {
		return err
	}
	s.link.setVersion(s.version)
	return s.notify(ctx, "notifications/initialized")
}

// greeting reads the answer to discover or initialize.
func (s *Session) greeting(method string, result json.RawMessage) error {
	var (
		r         = canonical.NewReader(result)
		versions  []string
		supported = versionsLegacy
	)
	if method == "server/discover" {
		supported = []string{versionModern}
	}
	s.capabilities = map[string]bool{}
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "protocolVersion":
			var v string
			v, err = r.String()
			versions = []string{v}
		case "supportedVersions":
			err = r.Array(func() error {
				v, err := r.String()
				versions = append(versions, v)
				return err
			})
		case "capabilities":
			err = s.readCapabilities(r)
		case "serverInfo":
			err = s.readServerInfo(r)
		case "_meta":
			err = s.readGreetingMeta(r)
		case "instructions":
			err = s.readInstructions(r)
		default:
			_, err = r.Raw()
		}
		return err
	})
	if err != nil {
		return &ProtocolError{Doing: method, Detail: err.Error(), Err: err}
	}
	for _, v := range versions {
		if slices.Contains(supported, v) {
			s.version = v
			return nil
		}
	}
	return &ProtocolError{Doing: method, Detail: fmt.Sprintf("it names no protocol version that is known here, but %s", quote(fmt.Sprint(versions)))}
}

// readCapabilities notes which capabilities a server declares.
func (s *Session) readCapabilities(r *canonical.Reader) error {
	if null, err := r.Null(); null || err != nil {
		return err
	}
	return r.Object(func(key []byte) error {
		name := string(key)
		value, err := r.Raw()
		s.capabilities[name] = string(value) != "null" && string(value) != "false"
		s.announces = s.announces || announcesChanges(value)
		return err
	})
}

func (s *Session) readInstructions(r *canonical.Reader) error {
	if null, err := r.Null(); null || err != nil {
		return err
	}
	text, err := r.String()
	s.instructions = &text
	return err
}

func (s *Session) readServerInfo(r *canonical.Reader) error {
	if r.Peek() != canonical.KindObject {
		_, err := r.Raw()
		return err
	}
	return r.Object(func(key []byte) (err error) {
		switch {
		case string(key) == "name" && r.Peek() == canonical.KindString:
			s.info.Name, err = r.String()
		case string(key) == "version" && r.Peek() == canonical.KindString:
			s.info.Version, err = r.String()
		default:
			_, err = r.Raw()
		}
		return err
	})
}

// readGreetingMeta finds the server's description of itself, which 2026-07-28
// puts into _meta.
func (s *Session) readGreetingMeta(r *canonical.Reader) error {
	if r.Peek() != canonical.KindObject {
		_, err := r.Raw()
		return err
	}
	return r.Object(func(key []byte) error {
		if string(key) == "io.modelcontextprotocol/serverInfo" {
			return s.readServerInfo(r)
		}
		_, err := r.Raw()
		return err
	})
}
