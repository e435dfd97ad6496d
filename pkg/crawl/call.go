package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentgateway-lock/pkg/textcheck"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A link is one connection to a server.
type link struct {
	conn mcp.Connection
	// ctx lives as long as the connection: the requests of HTTP run under it, so
	// that an answer's stream may end by itself after the answer was read.
	ctx context.Context
	// cause is why the transport failed, as the transport itself knows it: the SDK
	// passes on the text of an error and not its type.
	cause *cause
	// peer names the other side in errors.
	peer string
	// ended describes how a connection ended that should not have; nil where there
	// is nothing to add.
	ended func(answered bool, err error) error
	// noise counts the lines that were not messages.
	noise func() int
	// setVersion tells the transport the version of later requests.
	setVersion func(version string)
	// http makes requests besides those of conn; nil where messages come by one
	// stream.
	http *http.Client
	// shut ends everything; hard leaves no grace.
	shut func(hard bool)

	once     sync.Once
	closed   atomic.Bool
	answered atomic.Bool
}

func (l *link) close(hard bool) {
	l.once.Do(func() {
		l.closed.Store(true)
		l.shut(hard)
	})
}

// A cause keeps the first error that was reported.
type cause struct {
	mu  sync.Mutex
	err error
}

// set keeps err where it is the first, and returns it.
func (c *cause) set(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	return err
}

// clear forgets what an earlier request met.
func (c *cause) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = nil
}

func (c *cause) get() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// A budget is what may still be read from a server.
type budget struct {
	limit int64
	used  atomic.Int64
}

func newBudget(limit int64) *budget { return &budget{limit: limit} }

// spend takes n bytes; the error is a [*LimitError].
func (b *budget) spend(n int) error {
	if b.used.Add(int64(n)) > b.limit {
		return &LimitError{What: "bytes in one listing", Limit: b.limit}
	}
	return nil
}

func (b *budget) reset() { b.used.Store(0) }

func (s *Session) clientInfo() map[string]string {
	return map[string]string{"name": s.lister.opts.ClientName, "version": s.lister.opts.ClientVersion}
}

// params adds to the parameters of a request what 2026-07-28 wants in each.
func (s *Session) params(params map[string]any) (json.RawMessage, error) {
	if params == nil {
		params = map[string]any{}
	}
	if s.version == versionModern {
		params["_meta"] = map[string]any{
			mcp.MetaKeyProtocolVersion:    versionModern,
			mcp.MetaKeyClientInfo:         s.clientInfo(),
			mcp.MetaKeyClientCapabilities: struct{}{},
		}
	}
	return json.Marshal(params)
}

// call asks the server and returns the exact bytes of the result. No answer
// within timeout ends the connection.
func (s *Session) call(ctx context.Context, method string, params map[string]any, timeout time.Duration) (json.RawMessage, error) {
	_, result, err := s.ask(ctx, method, params, timeout, true)
	return result, err
}

// ask is call; where impatient is false, no answer within timeout leaves the
// connection open. It returns the id of the request as well.
func (s *Session) ask(ctx context.Context, method string, params map[string]any, timeout time.Duration, impatient bool) (jsonrpc.ID, json.RawMessage, error) {
	encoded, err := s.params(params)
	if err != nil {
		return jsonrpc.ID{}, nil, err
	}
	s.calls++
	id, err := jsonrpc.MakeID(float64(s.calls))
	if err != nil {
		return id, nil, err
	}
	parent := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	ends := ctx
	if !impatient {
		ends = parent
	}
	defer context.AfterFunc(ends, func() { s.link.close(true) })()
	s.link.cause.clear()
	response, err := s.exchange(ctx, &jsonrpc.Request{ID: id, Method: method, Params: encoded})
	if !impatient && errors.Is(context.Cause(ctx), errTimeout) {
		return id, nil, &UnreachableError{Host: s.link.peer, Doing: method, Timeout: timeout}
	}
	if err != nil {
		return id, nil, s.explain(ctx, method, timeout, err)
	}
	s.link.answered.Store(true)
	if response.Error != nil {
		return id, nil, s.explain(ctx, method, timeout, response.Error)
	}
	return id, response.Result, nil
}

var errTimeout = errors.New("no answer in time")

// exchange sends a request and reads until its response, answering what the
// server asks meanwhile.
func (s *Session) exchange(ctx context.Context, request *jsonrpc.Request) (*jsonrpc.Response, error) {
	if err := s.link.conn.Write(s.link.ctx, request); err != nil {
		return nil, err
	}
	for {
		message, err := s.link.conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case *jsonrpc.Response:
			if m.ID == request.ID {
				return m, nil
			}
			if m.ID == s.probe && s.probe.IsValid() && m.Error == nil {
				s.discovered = m.Result
				return m, nil
			}
		case *jsonrpc.Request:
			if err := s.serve(m); err != nil {
				return nil, err
			}
		}
	}
}

// serve answers a request of the server: a ping, and nothing else, since no
// capability was advertised. Of notifications it keeps that a list changed.
func (s *Session) serve(request *jsonrpc.Request) error {
	if !request.IsCall() {
		s.listChanged = s.listChanged || strings.HasSuffix(request.Method, "/list_changed")
		return nil
	}
	response := &jsonrpc.Response{ID: request.ID, Result: json.RawMessage(`{}`)}
	if request.Method != "ping" {
		response.Result = nil
		response.Error = &jsonrpc.Error{Code: codeMethodNotFound, Message: "this client offers no capabilities"}
	}
	return s.link.conn.Write(s.link.ctx, response)
}

func (s *Session) notify(ctx context.Context, method string) error {
	params, err := s.params(nil)
	if err != nil {
		return err
	}
	timeout := s.lister.opts.Limits.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.link.close(true) })()
	if err := s.link.conn.Write(s.link.ctx, &jsonrpc.Request{Method: method, Params: params}); err != nil {
		return s.explain(ctx, method, timeout, err)
	}
	return nil
}

// explain turns what the SDK returned into one of this package's errors.
func (s *Session) explain(ctx context.Context, method string, timeout time.Duration, err error) error {
	if ctx.Err() != nil {
		if !errors.Is(context.Cause(ctx), errTimeout) {
			return context.Cause(ctx)
		}
		return s.link.ended(s.link.answered.Load(), &UnreachableError{Host: s.link.peer, Doing: method, Timeout: timeout})
	}
	if known := s.link.cause.get(); known != nil {
		var p *ProtocolError
		if !errors.As(known, &p) {
			return known
		}
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && (rpc.Code != codeRejected || s.link.cause.get() == nil) {
		return &ProtocolError{Doing: method, Code: rpc.Code, Detail: fmt.Sprintf("error %d, %s", rpc.Code, textcheck.Quote(rpc.Message, maxQuoted)), Err: err}
	}
	var p *ProtocolError
	if errors.As(s.link.cause.get(), &p) {
		known := *p
		known.Doing = method
		return &known
	}
	var withURL *url.Error
	switch {
	case errors.As(err, &withURL): // a URL may hold a secret
		err = withURL.Err
	case errors.Is(err, io.EOF):
		err = errors.New("the connection ended")
	}
	return s.link.ended(s.link.answered.Load(), &ProtocolError{Doing: method, Detail: textcheck.Quote(err.Error(), maxQuoted), Err: err})
}
