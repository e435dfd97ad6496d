package crawl

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"agentgateway-lock/pkg/textcheck"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An httpEndpoint is one server that is reached by URL, with the connections to it.
type httpEndpoint struct {
	opts     Options
	endpoint Endpoint
	url      *url.URL
	origin   string
	host     string   // for messages: never the whole URL, which may hold a secret
	proxy    *url.URL // nil where the server is contacted directly
}

// newHTTPEndpoint judges a URL and prepares to contact it.
func (l *Lister) newHTTPEndpoint(t Endpoint) (*httpEndpoint, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &UnreachableError{Host: t.Name, Doing: "a request", Err: errors.New("its URL is not one of http or https")}
	}
	e := &httpEndpoint{opts: l.opts, endpoint: t, url: u, origin: originOf(u), host: u.Host}
	if l.opts.Proxy != nil {
		if e.proxy, err = l.opts.Proxy(u); err != nil {
			return nil, &UnreachableError{Host: u.Host, Doing: "a request", Err: errors.New("the proxy settings of the environment cannot be read")}
		}
	}
	if err := judgeName(u.Hostname()); err != nil {
		return nil, err
	}
	l.tell(t, EventContact, u.Host)
	return e, nil
}

// originOf returns scheme, host and port, the port always written.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}

// open makes the HTTP client of one connection.
func (e *httpEndpoint) open(b *budget) (*http.Client, *gate, *link) {
	transport := &http.Transport{
		DialContext:            e.dial,
		TLSClientConfig:        &tls.Config{RootCAs: e.opts.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    e.opts.Limits.Timeout,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 1 << 20,
	}
	if e.proxy != nil {
		transport.Proxy = http.ProxyURL(e.proxy)
	}
	ctx, cancel := context.WithCancel(context.Background())
	k := &link{ctx: ctx, cause: &cause{}, peer: e.host, noise: func() int { return 0 }}
	k.ended = func(_ bool, err error) error { return err }
	g := &gate{httpEndpoint: e, base: transport, life: ctx, budget: b, cause: k.cause}
	k.setVersion = func(v string) { g.version.Store(&v) }
	k.shut = func(hard bool) {
		if hard {
			cancel()
		}
		if k.conn != nil {
			_ = k.conn.Close()
		}
		cancel()
		transport.CloseIdleConnections()
	}
	return &http.Client{Transport: g, CheckRedirect: g.checkRedirect}, g, k
}

// connectStreamable opens a connection of the streamable transport. Nothing is
// sent yet.
func (e *httpEndpoint) connectStreamable(_ context.Context, b *budget) (*link, error) {
	client, _, k := e.open(b)
	transport := &mcp.StreamableClientTransport{
		Endpoint: e.endpoint.URL, HTTPClient: client, DisableStandaloneSSE: true,
		MaxRetries: maxReconnects, MaxEventSize: int(b.limit),
	}
	conn, err := transport.Connect(k.ctx)
	if err != nil {
		k.close(true)
		return nil, err
	}
	k.conn, k.http = conn, client
	return k, nil
}

// connectSSE opens the stream of a legacy server and waits for its endpoint.
func (e *httpEndpoint) connectSSE(ctx context.Context, b *budget) (*link, error) {
	client, g, k := e.open(b)
	defer context.AfterFunc(ctx, func() { k.close(true) })()
	transport := &mcp.SSEClientTransport{Endpoint: e.endpoint.URL, HTTPClient: client, MaxEventSize: int(b.limit)}
	conn, err := transport.Connect(k.ctx)
	if err == nil {
		k.conn = conn
		if ctx.Err() == nil {
			return k, nil
		}
		_ = conn.Close()
	}
	k.close(true)
	const doing = "the opening of its event stream"
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &UnreachableError{Host: e.host, Doing: doing, Timeout: e.opts.Limits.Timeout}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if known := g.cause.get(); known != nil {
		return nil, known
	}
	return nil, &ProtocolError{Doing: doing, Detail: textcheck.Quote(err.Error(), maxQuoted), Err: err}
}

// A gate is the http.RoundTripper that every request of a connection passes. It
// adds headers, keeps requests within the origin, judges addresses, counts what
// is read, and keeps errors as they were.
type gate struct {
	*httpEndpoint
	base    http.RoundTripper
	life    context.Context // of the connection
	budget  *budget
	cause   *cause
	version atomic.Pointer[string] // of an older protocol version, once settled
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if originOf(req.URL) != g.origin {
		return nil, g.cause.set(&EgressError{Host: req.URL.Host, Why: "of another origin than the configured URL"})
	}
	ctx := req.Context()
	if req.Method == http.MethodDelete {
		if g.life.Err() != nil {
			return nil, g.life.Err() // it was given up; nobody waits for its end
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deleteTimeout)
		defer cancel()
	}
	if g.proxy != nil {
		// The proxy resolves the name itself; what it stands for here is all that
		// can be judged.
		if _, err := g.resolve(ctx, req.URL.Hostname(), g.endpoint.AllowPrivate); err != nil {
			return nil, g.fail(ctx, err)
		}
	}
	resp, err := g.patiently(ctx, req)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	resp.Body = &meter{ReadCloser: resp.Body, gate: g, post: req.Method == http.MethodPost}
	if resp.StatusCode >= 400 {
		_ = g.cause.set(g.statusError(resp))
	}
	return resp, nil
}

// patiently sends a request, and sends it again where the server asks for a moment
// (429 and 503), as long as the time for an answer lasts.
func (g *gate) patiently(ctx context.Context, req *http.Request) (*http.Response, error) {
	until := time.Now().Add(g.opts.Limits.Timeout)
	for {
		again := req.Clone(ctx)
		if req.GetBody != nil {
			var err error
			if again.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err := g.base.RoundTrip(g.dress(again))
		if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		wait := retryAfter(resp.Header)
		if req.Body != nil && req.GetBody == nil || time.Now().Add(wait).After(until) {
			return resp, nil
		}
		_ = resp.Body.Close()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// retryAfter is how long a server asks to wait (RFC 9110, section 10.2.3), at
// least retryPause.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return max(retryPause, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(retryPause, time.Until(at))
	}
	return retryPause
}

// dress adds the headers that the SDK does not.
func (g *gate) dress(req *http.Request) *http.Request {
	req.Header.Set("User-Agent", g.opts.ClientName+"/"+g.opts.ClientVersion)
	for name, value := range g.endpoint.Headers {
		if req.Header.Get(name) == "" || strings.EqualFold(name, "User-Agent") {
			req.Header.Set(name, value)
		}
	}
	if v := g.version.Load(); v != nil && req.Header.Get("Mcp-Protocol-Version") == "" {
		req.Header.Set("Mcp-Protocol-Version", *v)
	}
	return req
}

// fail keeps why a request failed.
func (g *gate) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err // the request was given up; why is known there
	}
	var egress *EgressError
	if errors.As(err, &egress) {
		return g.cause.set(egress)
	}
	return g.cause.set(&UnreachableError{Host: g.host, Doing: "a request", Err: err})
}

// statusError describes an answer that is an HTTP error.
func (g *gate) statusError(resp *http.Response) error {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		e := &ProtocolError{Doing: "a request", Status: resp.StatusCode,
			Detail: strings.TrimRight(fmt.Sprintf("HTTP status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)), " ")}
		if resp.Request != nil && resp.Request.Header.Get("Mcp-Session-Id") != "" && resp.StatusCode == http.StatusNotFound {
			e.sessionLost = true
			e.Detail += ": it does not know the session any more"
		}
		if wait := resp.Header.Get("Retry-After"); wait != "" {
			e.Detail += ", and asks to wait for " + textcheck.Quote(wait, maxQuoted)
		}
		return e
	}
	e := &AuthError{Host: g.host, Status: resp.StatusCode}
	if challenge := strings.Join(resp.Header.Values("WWW-Authenticate"), ", "); challenge != "" {
		e.Challenge = textcheck.Quote(challenge, maxQuoted)
	}
	for name, value := range g.endpoint.Headers {
		e.Sent = append(e.Sent, name)
		if bare := strings.TrimSpace(value); bare == "" || strings.EqualFold(bare, "Bearer") || strings.EqualFold(bare, "Basic") {
			e.Empty = append(e.Empty, name)
		}
	}
	slices.Sort(e.Sent)
	slices.Sort(e.Empty)
	return e
}

// checkRedirect implements http.Client.CheckRedirect: only those that send the
// same message again, to the same origin.
func (g *gate) checkRedirect(req *http.Request, via []*http.Request) error {
	var why string
	switch status := req.Response.StatusCode; {
	case status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect:
		why = fmt.Sprintf("it redirects to %s with status %d; 307 and 308 are followed, within one origin", textcheck.Quote(originOf(req.URL), maxQuoted), status)
	case len(via) > maxRedirects:
		why = fmt.Sprintf("it redirects more than %d times", maxRedirects)
	case originOf(req.URL) != g.origin:
		return g.cause.set(&EgressError{Host: req.URL.Host, Why: "of another origin than the configured URL, which redirects there"})
	default:
		return nil
	}
	return g.cause.set(&ProtocolError{Doing: "a request", Status: req.Response.StatusCode, Detail: why})
}

// A meter counts the bytes of an answer.
type meter struct {
	io.ReadCloser
	gate  *gate
	post  bool // it answers a message, not the request for a stream
	begun bool
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if over := m.gate.budget.spend(n); over != nil {
		return 0, m.gate.cause.set(over)
	}
	if m.post && !m.begun && bytes.HasPrefix(bytes.TrimLeft(p[:n], "\r\n\ufeff"), []byte("event: endpoint")) {
		return 0, m.gate.cause.set(&ProtocolError{Doing: "a request", legacyStream: true,
			Detail: "the event stream of the older HTTP+SSE transport in place of an answer"})
	}
	m.begun = m.begun || n > 0
	return n, err
}
