package gatewaydouble_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/extmcp"
)

func TestMain(m *testing.M) {
	fakeBinary()
	goleak.VerifyTestMain(m)
}

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// upstream is a scripted MCP server.
type upstream struct {
	*httptest.Server
	name string

	mu      sync.Mutex
	results map[string]string // by method: a result, or a whole message if it begins with {"jsonrpc"
	events  map[string][]string
	status  int
	seen    []received
	push    chan string // events of the GET stream
	gone    chan struct{}
}

type received struct {
	method, body string
	header       http.Header
}

const emptyInitialize = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"u","version":"1"}}`

func newUpstream(t *testing.T, name string, results map[string]string) *upstream {
	t.Helper()
	u := &upstream{name: name, results: map[string]string{"initialize": emptyInitialize}, push: make(chan string), gone: make(chan struct{})}
	maps.Copy(u.results, results)
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	t.Cleanup(u.CloseClientConnections)
	return u
}

func (u *upstream) target() gatewaydouble.Target {
	return gatewaydouble.Target{Name: u.name, URL: u.URL + "/mcp"}
}

func (u *upstream) set(method, result string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.results[method] = result
}

func (u *upstream) requests(method string) []received {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []received
	for _, r := range u.seen {
		if r.method == method {
			out = append(out, r)
		}
	}
	return out
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case event := <-u.push:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	var message struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &message)
	if r.Method == http.MethodDelete {
		message.Method = "DELETE"
	}
	u.mu.Lock()
	u.seen = append(u.seen, received{message.Method, string(body), r.Header.Clone()})
	result, ok := u.results[message.Method]
	events := u.events[message.Method]
	status := u.status
	u.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "broken")
		return
	}
	if message.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !ok {
		result = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s"}}`, message.ID, message.Method)
	}
	if !strings.HasPrefix(result, `{"jsonrpc"`) {
		result = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
	}
	if message.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "session-of-"+u.name)
	}
	if events == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, result)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range append(events, result) {
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", event)
	}
}

// guard is a scripted processor.
type guard struct {
	extmcp.UnimplementedExtMcpServer
	host   string
	server *grpc.Server

	mu         sync.Mutex
	onRequest  func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error)
	onResponse func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error)
	requests   []*extmcp.McpRequest
	responses  []*extmcp.McpResponse
}

func newGuard(t *testing.T, options ...grpc.ServerOption) *guard {
	t.Helper()
	return startGuard(t, "unix:"+filepath.Join(t.TempDir(), "guard.sock"), options...)
}

func startGuard(t *testing.T, host string, options ...grpc.ServerOption) *guard {
	t.Helper()
	network, address := "tcp", host
	if path, ok := strings.CutPrefix(host, "unix:"); ok {
		network, address = "unix", path
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{host: host}
	if network == "tcp" {
		g.host = listener.Addr().String()
	}
	g.server, _ = extmcp.NewServer(g, nil, options...)
	done := make(chan error, 1)
	go func() { done <- g.server.Serve(listener) }()
	t.Cleanup(func() {
		g.server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *guard) CheckRequest(ctx context.Context, in *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
	g.mu.Lock()
	g.requests = append(g.requests, in)
	answer := g.onRequest
	g.mu.Unlock()
	if answer != nil {
		return answer(ctx, in)
	}
	return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{}}, nil
}

func (g *guard) CheckResponse(ctx context.Context, in *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
	g.mu.Lock()
	g.responses = append(g.responses, in)
	answer := g.onResponse
	g.mu.Unlock()
	if answer != nil {
		return answer(ctx, in)
	}
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Pass{}}, nil
}

// asked returns the methods the processor was asked about, requests first.
func (g *guard) asked() (requests, responses []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, in := range g.requests {
		requests = append(requests, in.GetMethod())
	}
	for _, in := range g.responses {
		responses = append(responses, in.GetMethod())
	}
	return requests, responses
}

func (g *guard) lastRequest(t *testing.T) *extmcp.McpRequest {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.requests) == 0 {
		t.Fatal("the processor saw no request")
	}
	return g.requests[len(g.requests)-1]
}

func (g *guard) lastResponse(t *testing.T) *extmcp.McpResponse {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.responses) == 0 {
		t.Fatal("the processor saw no response")
	}
	return g.responses[len(g.responses)-1]
}

// processor is the configuration of a guard for some methods.
func (g *guard) processor(methods map[string]gatewaydouble.Phase) gatewaydouble.Processor {
	return gatewaydouble.Processor{Host: g.host, Methods: methods}
}

func everything() map[string]gatewaydouble.Phase {
	return map[string]gatewaydouble.Phase{"*": gatewaydouble.Full}
}

func denyRequest(code extmcp.AuthorizationError_Code, reason, details string) *extmcp.McpRequestResult {
	refusal := &extmcp.AuthorizationError{Code: code, Reason: reason}
	if details != "" {
		refusal.McpError = []byte(details)
	}
	return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Error{Error: refusal}}
}

func denyResponse(code extmcp.AuthorizationError_Code, reason string) *extmcp.McpResponseResult {
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Error{Error: &extmcp.AuthorizationError{Code: code, Reason: reason}}}
}

func mutateResponse(text string) *extmcp.McpResponseResult {
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Mutated{Mutated: []byte(text)}}
}

// client speaks raw JSON-RPC to a gateway.
type client struct {
	t       *testing.T
	url     string
	version string
	session string
	header  http.Header
}

type reply struct {
	status      int
	contentType string
	header      http.Header
	messages    []string // events, or the one body
}

func (r reply) last() string { return r.messages[len(r.messages)-1] }

func newDouble(t *testing.T, config gatewaydouble.Config) *gatewaydouble.Gateway {
	t.Helper()
	g, err := gatewaydouble.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// connect begins a session; for the newest version there is none to begin.
func connect(t *testing.T, url, version string) *client {
	t.Helper()
	c := &client{t: t, url: url, version: version, header: http.Header{}}
	if version == modern {
		return c
	}
	r := c.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{"roots":{},"sampling":{},"elicitation":{},"experimental":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	if r.status != http.StatusOK {
		t.Fatalf("initialize: HTTP %d: %v", r.status, r.messages)
	}
	c.session = r.header.Get("Mcp-Session-Id")
	return c
}

func (c *client) request(method string, body io.Reader) *http.Request {
	c.t.Helper()
	r, err := http.NewRequest(method, c.url, body)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = c.header.Clone()
	r.Close = true
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("MCP-Protocol-Version", c.version)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	return r
}

func (c *client) do(r *http.Request) reply {
	c.t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	out := reply{status: response.StatusCode, contentType: response.Header.Get("Content-Type"), header: response.Header}
	if out.contentType != "text/event-stream" {
		out.messages = []string{string(data)}
		return out
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			out.messages = append(out.messages, text)
		}
	}
	return out
}

func (c *client) post(body string) reply {
	c.t.Helper()
	return c.do(c.request(http.MethodPost, strings.NewReader(body)))
}

// call sends one request and returns the whole reply.
func (c *client) call(method, params string) reply {
	c.t.Helper()
	return c.post(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`)
}

// wantEvent holds that the reply is a stream that ends with this message.
func wantEvent(t *testing.T, r reply, message string) {
	t.Helper()
	if r.status != http.StatusOK || r.contentType != "text/event-stream" || r.last() != message {
		t.Fatalf("got HTTP %d %s\n%s\nwant an event stream that ends with\n%s", r.status, r.contentType, strings.Join(r.messages, "\n"), message)
	}
}

// wantBody holds that the reply is this JSON body.
func wantBody(t *testing.T, r reply, status int, message string) {
	t.Helper()
	if r.status != status || r.contentType != "application/json" || r.last() != message {
		t.Fatalf("got HTTP %d %s\n%s\nwant HTTP %d application/json\n%s", r.status, r.contentType, r.last(), status, message)
	}
}

func result(text string) string { return `{"jsonrpc":"2.0","id":7,"result":` + text + `}` }

func rpcError(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":%d,"message":%q}}`, code, message)
}
