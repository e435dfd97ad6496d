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
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/textcheck"
)

// The protocol versions, newest first. The first has no initialize.
const versionModern = "2026-07-28"

var versionsLegacy = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}

// JSON-RPC error codes that decide what is done next.
const (
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeUnsupportedVersion = -32022
	// codeRejected is what the SDK says of a message that its transport could not
	// deliver; why is known to the transport.
	codeRejected = -32005
)

// A Session is one server that is ready to be listed. It is not safe for
// concurrent use.
type Session struct {
	lister   *Lister
	endpoint Endpoint
	link     *link
	calls    int64
	budget   *budget

	version      string
	info         ServerInfo
	instructions *string
	listChanged  bool
	announces    bool // it declares that it tells when a list changes

	probe      jsonrpc.ID      // of a question that initialize has overtaken; not valid where there is none
	discovered json.RawMessage // its answer, where that came first
}

// ServerInfo is what a server says it is. It decides nothing.
type ServerInfo struct {
	Name, Version string
}

// Open starts or contacts a server and settles the protocol version. The session
// must be closed.
func (l *Lister) Open(ctx context.Context, t Endpoint) (*Session, error) {
	s, err := l.open(ctx, t)
	return s, t.hide(err)
}

func (l *Lister) open(ctx context.Context, t Endpoint) (*Session, error) {
	switch t.Transport {
	case source.Stdio:
		l.tell(t, EventStart, t.Command)
		connect := func(_ context.Context, b *budget) (*link, error) { return l.startLink(t, b) }
		return l.negotiate(ctx, t, connect, true)
	case source.HTTP, source.SSE:
	default:
		return nil, fmt.Errorf("%q is not a transport; the transports are stdio, http and sse", t.Transport)
	}
	e, err := l.newHTTPEndpoint(t)
	if err != nil {
		return nil, err
	}
	if t.Transport == source.SSE {
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

// isOldServer reports whether an answer to initialize is one that a legacy server,
// or what stands before it, gives to a message at its stream's address.
func isOldServer(err error) bool {
	var p *ProtocolError
	return errors.As(err, &p) && p.Code == 0 && (p.legacyStream || slices.Contains([]int{
		http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusLengthRequired,
	}, p.Status))
}

type connectFunc func(ctx context.Context, b *budget) (*link, error)

// negotiate settles the protocol version. The newest is tried first; where the
// server answers that with an error, initialize goes over the same connection. A
// connection that the first try has broken is opened once more, and then
// initialize is all that is sent.
func (l *Lister) negotiate(ctx context.Context, t Endpoint, connect connectFunc, modern bool) (*Session, error) {
	if !modern {
		return l.attempt(ctx, t, connect, (*Session).initialize)
	}
	s, err := l.attempt(ctx, t, connect, (*Session).greet)
	if err == nil || final(err) || ctx.Err() != nil || timedOut(err) && t.Transport == source.Stdio {
		return s, err
	}
	s, err = l.attempt(ctx, t, connect, (*Session).initialize)
	if answered(err) && t.Transport != source.Stdio {
		// It may be one of the newest version that was slow to wake up.
		if late, lateErr := l.attempt(ctx, t, connect, (*Session).discoverPatiently); lateErr == nil {
			return late, nil
		}
	}
	return s, err
}

// answered reports whether the server gave an answer of the protocol, if only an
// error.
func answered(err error) bool {
	var p *ProtocolError
	return errors.As(err, &p) && p.Code != 0
}

func timedOut(err error) bool {
	var start *StartError
	var unreachable *UnreachableError
	return errors.As(err, &start) && start.Silent || errors.As(err, &unreachable) && unreachable.Timeout > 0
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
func (l *Lister) attempt(ctx context.Context, t Endpoint, connect connectFunc, greet func(*Session, context.Context) error) (*Session, error) {
	s := &Session{lister: l, endpoint: t, budget: newBudget(l.opts.Limits.Bytes)}
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
	if s.endpoint.Transport == source.Stdio {
		return s.lister.opts.Limits.StartTimeout
	}
	return s.lister.opts.Limits.Timeout
}

// greet settles the protocol version over a connection that is new: it asks what
// the server is as 2026-07-28 has it, and sends initialize where the answer is an
// error, cannot be used, or does not come soon: some servers pass over what they
// do not know.
func (s *Session) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.greetTimeout(), errTimeout)
	defer cancel()
	patience := min(s.lister.opts.Limits.Probe, s.greetTimeout()/2)
	s.version = versionModern
	id, result, err := s.ask(ctx, "server/discover", nil, patience, s.endpoint.Transport != source.Stdio)
	if err == nil {
		err = s.greeting("server/discover", result)
	}
	switch {
	case err == nil:
		return nil
	case timedOut(err) && s.endpoint.Transport == source.Stdio:
		s.probe = id // its answer may still come, before or in place of the other
	case !s.usable(err):
		return err
	}
	if err := s.initialize(ctx); err != nil {
		return err
	}
	s.probe = jsonrpc.ID{}
	return nil
}

// usable reports whether the connection can be gone on with after an error.
func (s *Session) usable(err error) bool {
	var p *ProtocolError
	return errors.As(err, &p) && p.Status == 0 && !s.link.closed.Load() && (p.Code != 0 || p.Answer)
}

// discoverPatiently asks a server of 2026-07-28 what it is, for as long as any
// other answer may take.
func (s *Session) discoverPatiently(ctx context.Context) error {
	s.version = versionModern
	result, err := s.call(ctx, "server/discover", nil, s.greetTimeout())
	if err != nil {
		return err
	}
	return s.greeting("server/discover", result)
}

// initialize greets a server of an older version: it tries them over this
// connection, the newest first.
func (s *Session) initialize(ctx context.Context) error {
	for version := versionsLegacy[0]; ; {
		err := s.initializeAs(ctx, version)
		next := olderVersion(err)
		if next == "" || next >= version || !s.usable(err) {
			return err
		}
		version = next
	}
}

func (s *Session) initializeAs(ctx context.Context, version string) error {
	s.version = ""
	result, err := s.call(ctx, "initialize", map[string]any{
		"protocolVersion": version, "capabilities": struct{}{}, "clientInfo": s.clientInfo(),
	}, s.greetTimeout())
	if s.discovered != nil { // the answer to what was asked first has come after all
		result, s.version = s.discovered, versionModern
		s.discovered = nil
		return s.greeting("server/discover", result)
	}
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
		return &ProtocolError{Doing: method, Detail: err.Error(), Answer: true, Err: err}
	}
	for _, v := range versions {
		if slices.Contains(supported, v) {
			s.version = v
			return nil
		}
	}
	return &ProtocolError{Doing: method, Answer: true, Detail: fmt.Sprintf("it names no protocol version that is known here, but %s", textcheck.Quote(fmt.Sprint(versions), maxQuoted))}
}

// readCapabilities notes whether a server declares that it tells of changes.
func (s *Session) readCapabilities(r *canonical.Reader) error {
	if null, err := r.Null(); null || err != nil {
		return err
	}
	return r.Object(func([]byte) error {
		value, err := r.Raw()
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
