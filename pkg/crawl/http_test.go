package crawl

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
)

func TestJudge(t *testing.T) {
	const never, private, public = "never", "private", "public"
	for addr, want := range map[string]string{
		"169.254.169.254": never, "169.254.0.1": never, "fe80::1": never, "fe80::1%eth0": never, "fd00:ec2::254": never,
		"100.100.100.200": never, "168.63.129.16": never, "0.0.0.0": never, "0.1.2.3": never, "::": never,
		"224.0.0.1": never, "239.255.255.255": never, "ff02::1": never, "255.255.255.255": never,
		"::ffff:169.254.169.254": never, "64:ff9b::a9fe:a9fe": never, "2002:a9fe:a9fe::1": never, "64:ff9b:1::a9fe:a9fe": never,
		"::ffff:0.0.0.0": never, "::a9fe:a9fe": never,
		"127.0.0.1": private, "127.255.0.1": private, "::1": private, "10.1.2.3": private, "172.16.0.1": private, "172.31.255.255": private,
		"192.168.1.1": private, "100.64.0.1": private, "100.127.255.255": private, "fc00::1": private, "fd12::1": private,
		"::ffff:127.0.0.1": private, "64:ff9b::7f00:1": private, "2002:7f00:1::": private, "2002:a00:1::": private, "::ffff:10.0.0.1": private,
		"8.8.8.8": public, "172.15.0.1": public, "172.32.0.1": public, "100.128.0.1": public, "100.63.255.255": public,
		"2606:4700::1111": public, "64:ff9b::808:808": public, "2002:808:808::1": public, "169.253.0.1": public, "fec0::1": private,
	} {
		t.Run(addr, func(t *testing.T) {
			strict, lax := judge("h", netip.MustParseAddr(addr), false), judge("h", netip.MustParseAddr(addr), true)
			got := map[[2]bool]string{{true, true}: public, {false, true}: private, {false, false}: never}[[2]bool{strict == nil, lax == nil}]
			if got != want {
				t.Errorf("%s, want %s (%v)", got, want, strict)
			}
			var e *EgressError
			if errors.As(strict, &e) && e.Private != (want == private) {
				t.Errorf("Private is %v", e.Private)
			}
		})
	}
}

func TestEgressLoopbackNeedsPermission(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	endpoint.AllowPrivate = false
	for _, u := range []string{endpoint.URL, strings.Replace(endpoint.URL, "127.0.0.1", "localhost", 1), strings.Replace(endpoint.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		endpoint.URL = u
		_, err := listOnce(t, lister(), endpoint)
		var e *EgressError
		if !errors.As(err, &e) || !e.Private || !strings.Contains(e.Hint(), "--allow-private") {
			t.Errorf("%s: error %v", u, err)
		}
	}
	if s.Requests("server/discover")+s.Requests("initialize") != 0 {
		t.Error("it was contacted")
	}
}

// resolver answers with fixed addresses and notes what is dialled.
func resolver(addrs ...string) (func(*Options), *atomic.Int32) {
	var dials atomic.Int32
	return func(o *Options) {
		o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			out := []netip.Addr{}
			for _, a := range addrs {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, errors.New("no route")
		}
	}, &dials
}

func TestEgressJudgesEveryAnswerOfDNS(t *testing.T) {
	for name, test := range map[string]struct {
		addrs   []string
		allow   bool
		private bool
		denied  bool
	}{
		"one of two is private":    {[]string{"8.8.8.8", "10.0.0.1"}, false, true, true},
		"one of two is metadata":   {[]string{"8.8.8.8", "169.254.169.254"}, true, false, true},
		"private where it may":     {[]string{"10.0.0.1"}, true, false, false},
		"public":                   {[]string{"8.8.8.8"}, false, false, false},
		"mapped loopback":          {[]string{"::ffff:127.0.0.1"}, false, true, true},
		"metadata behind a 6to4":   {[]string{"2002:a9fe:a9fe::"}, true, false, true},
		"the first is unspecified": {[]string{"0.0.0.0", "8.8.8.8"}, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			change, dials := resolver(test.addrs...)
			_, err := listOnce(t, lister(change), Endpoint{Transport: source.HTTP, URL: "https://mcp.example/", AllowPrivate: test.allow})
			var e *EgressError
			if errors.As(err, &e) != test.denied || test.denied && e.Private != test.private {
				t.Errorf("error %v", err)
			}
			if (dials.Load() == 0) != test.denied {
				t.Errorf("%d dials", dials.Load())
			}
		})
	}
}

func TestEgressMetadataNames(t *testing.T) {
	for _, host := range []string{"metadata.google.internal", "METADATA.google.internal.", "metadata.goog"} {
		change, dials := resolver("8.8.8.8")
		_, err := listOnce(t, lister(change), Endpoint{Transport: source.HTTP, URL: "http://" + host + "/mcp", AllowPrivate: true})
		var e *EgressError
		if !errors.As(err, &e) || e.Private || dials.Load() != 0 {
			t.Errorf("%s: %v, %d dials", host, err, dials.Load())
		}
	}
}

// The address that is dialled decides, whatever a resolver said before.
func TestEgressControl(t *testing.T) {
	ctx := context.WithValue(t.Context(), allowKey{}, true)
	if err := control(ctx, "tcp4", "127.0.0.1:80", nil); err != nil {
		t.Error(err)
	}
	for ctx, addr := range map[context.Context]string{t.Context(): "127.0.0.1:80", ctx: "169.254.169.254:80"} {
		if err := control(ctx, "tcp4", addr, nil); err == nil {
			t.Errorf("%s may be dialled", addr)
		}
	}
}

func TestRedirects(t *testing.T) {
	for name, test := range map[string]struct {
		status   int
		location string
		follows  bool
	}{
		"307 same origin":    {307, "/mcp", true},
		"308 same origin":    {308, "/mcp", true},
		"302 same origin":    {302, "/mcp", false},
		"301 same origin":    {301, "/mcp", false},
		"303 same origin":    {303, "/mcp", false},
		"307 another port":   {307, "http://127.0.0.1:1/mcp", false},
		"307 another host":   {307, "http://localhost/mcp", false},
		"307 another scheme": {307, "https://HOST/mcp", false},
		"307 metadata":       {307, "http://169.254.169.254/latest", false},
		"307 without end":    {307, "/again", false},
	} {
		t.Run(name, func(t *testing.T) {
			mock := upstream.New(upstream.Options{})
			defer func() { _ = mock.Close() }()
			mux := http.NewServeMux()
			mux.Handle("/mcp", mock)
			away := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", strings.Replace(test.location, "HOST", r.Host, 1))
				w.WriteHeader(test.status)
			}
			mux.HandleFunc("/old", away)
			mux.HandleFunc("/again", away)
			server := httptest.NewServer(mux)
			defer server.Close()
			_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL + "/old", AllowPrivate: true})
			if (err == nil) != test.follows {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAtMostThreeRedirects(t *testing.T) {
	for hops, follows := range map[int]bool{3: true, 4: false} {
		mock := upstream.New(upstream.Options{})
		mux := http.NewServeMux()
		mux.Handle("/mcp", mock)
		mux.HandleFunc("/hop/", func(w http.ResponseWriter, r *http.Request) {
			next := "/mcp"
			if rest := strings.TrimPrefix(r.URL.Path, "/hop/"); len(rest) > 1 {
				next = "/hop/" + rest[1:]
			}
			http.Redirect(w, r, next, http.StatusTemporaryRedirect)
		})
		server := httptest.NewServer(mux)
		_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL + "/hop/" + strings.Repeat("x", hops), AllowPrivate: true})
		if (err == nil) != follows {
			t.Errorf("%d redirects: %v", hops, err)
		}
		server.Close()
		_ = mock.Close()
	}
}

func TestCredentialsAreSentToTheOriginAlone(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	endpoint.Headers = map[string]string{"Authorization": "Bearer x", "Content-Type": "text/evil"}
	mustList(t, lister(), endpoint)
	h := s.Header("tools/list")
	if h.Get("Authorization") != "Bearer x" || h.Get("Content-Type") != "application/json" || h.Get("Mcp-Method") != "tools/list" {
		t.Errorf("headers %v", h)
	}
	if !strings.HasPrefix(h.Get("User-Agent"), "agentgateway-lock/") {
		t.Errorf("user agent %q", h.Get("User-Agent"))
	}
}

func TestSSEEndpointOfAnotherOrigin(t *testing.T) {
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	s, endpoint := serve(t, upstream.Options{SSEOnly: true})
	endpoint.Transport, endpoint.URL = source.SSE, s.SSEURL()
	endpoint.Headers = map[string]string{"Authorization": "Bearer x"}
	s.SSEEndpoint(thief.URL + "/messages")
	_, err := listOnce(t, lister(), endpoint)
	var e *EgressError
	if !errors.As(err, &e) || stolen.Load() != 0 {
		t.Errorf("error %v, %d requests", err, stolen.Load())
	}
}

// A server of 2024-11-05 at a URL without a declared transport.
func TestLegacySSEIsFoundByItself(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{SSEOnly: true})
	endpoint.URL = s.SSEURL()
	if n := len(names(mustList(t, lister(), endpoint), surface.KindTool)); n != 3 {
		t.Errorf("%d tools", n)
	}
}

func TestNotAServer(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"not found": http.NotFound,
		"a page":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{nope")
		},
		"a fault":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"empty stream": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL, AllowPrivate: true})
			var p *ProtocolError
			if !errors.As(err, &p) || p.Hint() == "" {
				t.Errorf("error %T %v, want a ProtocolError", err, err)
			}
		})
	}
}

// Each status is named as what it is, with what to do about it.
func TestStatusIsNamed(t *testing.T) {
	for status, want := range map[int]struct{ says, hint string }{
		http.StatusFound:               {`redirects to "https://elsewhere.example:443" with status 302`, "configure the address"},
		http.StatusMethodNotAllowed:    {"405 Method Not Allowed", `"type": "sse"`},
		http.StatusNotAcceptable:       {"406 Not Acceptable", `"type": "sse"`},
		http.StatusLengthRequired:      {"411 Length Required", `"type": "sse"`},
		http.StatusTooManyRequests:     {"429 Too Many Requests, and asks to wait for \"3600\"", "--timeout"},
		http.StatusInternalServerError: {"500 Internal Server Error", "fault of its own"},
		http.StatusBadGateway:          {"502 Bad Gateway", "fault of its own"},
		http.StatusServiceUnavailable:  {"503 Service Unavailable, and asks to wait for \"3600\"", "busy"},
		599:                            {"HTTP status 599", "fault of its own"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/mcp?key=s3cret")
			if status == 429 || status == 503 {
				w.Header().Set("Retry-After", "3600")
			}
			w.WriteHeader(status)
		}))
		_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL, AllowPrivate: true})
		var p *ProtocolError
		if !errors.As(err, &p) || !strings.Contains(p.Error(), want.says) || !strings.Contains(p.Hint(), want.hint) {
			t.Errorf("%d: %v", status, err)
		}
		if err != nil && (strings.Contains(err.Error(), "rejected by transport") || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%d: %v", status, err)
		}
		server.Close()
	}
}

// A busy server is asked again when it wants to be.
func TestABusyServerIsAskedAgain(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		mock := upstream.New(upstream.Options{})
		var refused atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refused.CompareAndSwap(false, true) {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(status)
				return
			}
			mock.ServeHTTP(w, r)
		}))
		listing := mustList(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL + "/mcp", AllowPrivate: true})
		if len(names(listing, surface.KindTool)) != 3 {
			t.Errorf("%d: tools %v", status, names(listing, surface.KindTool))
		}
		server.Close()
		_ = mock.Close()
	}
}

// A session that the server has lost is begun again, once.
func TestEdge54ALostSessionIsBegunAgainOnce(t *testing.T) {
	for lost, ok := range map[int32]bool{1: true, 2: false} {
		mock := upstream.New(upstream.Options{NoDiscover: true})
		var count atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"tools/list"`)) && count.Add(1) <= lost {
				http.Error(w, "Session not found", http.StatusNotFound)
				return
			}
			mock.ServeHTTP(w, r)
		}))
		_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL + "/mcp", AllowPrivate: true})
		if (err == nil) != ok {
			t.Errorf("lost %d times: %v", lost, err)
		}
		if !ok && !strings.Contains(err.Error(), "does not know the session any more") {
			t.Error(err)
		}
		server.Close()
		_ = mock.Close()
	}
}

// The address of the older transport answers a message with its own stream.
func TestEdge54AnEventStreamForAnAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /messages?session=1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL, AllowPrivate: true})
	var p *ProtocolError
	if !errors.As(err, &p) || !strings.Contains(p.Hint(), `"type": "sse"`) {
		t.Errorf("%v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	const secret = "s3cret"
	_, err := listOnce(t, lister(), Endpoint{Transport: source.HTTP, URL: "http://127.0.0.1:1/mcp?key=" + secret, AllowPrivate: true})
	var u *UnreachableError
	if !errors.As(err, &u) || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
}

func TestEdge40Proxy(t *testing.T) {
	s, endpoint := serve(t, upstream.Options{})
	var through atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through.Add(1)
		if r.Host != "mcp.example" {
			t.Errorf("asked for %s", r.Host)
		}
		r.URL.Path = "/mcp"
		s.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	endpoint.URL, endpoint.AllowPrivate = "http://mcp.example/mcp", false
	at := func(addr string) func(*Options) {
		return func(o *Options) {
			o.Proxy = ProxyFromEnviron([]string{"HTTP_PROXY=" + proxy.URL})
			o.Resolve = func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr(addr)}, nil
			}
		}
	}
	mustList(t, lister(at("8.8.8.8")), endpoint)
	if through.Load() == 0 {
		t.Error("the proxy was not used")
	}
	through.Store(0)
	// The proxy would resolve the name itself: what it stands for here is judged.
	_, err := listOnce(t, lister(at("10.0.0.1")), endpoint)
	var e *EgressError
	if !errors.As(err, &e) || through.Load() != 0 {
		t.Errorf("error %v, %d requests", err, through.Load())
	}
	endpoint.URL = "http://169.254.169.254/mcp"
	if _, err := listOnce(t, lister(at("8.8.8.8")), endpoint); !errors.As(err, &e) || through.Load() != 0 {
		t.Errorf("error %v, %d requests", err, through.Load())
	}
}

func TestProxyFromEnviron(t *testing.T) {
	proxy := ProxyFromEnviron([]string{"HTTPS_PROXY=http://upper:1", "https_proxy=http://lower:2", "NO_PROXY=.internal"})
	for in, want := range map[string]string{"https://a.example": "http://lower:2", "http://a.example": "", "https://x.internal": ""} {
		u, _ := url.Parse(in)
		got, err := proxy(u)
		if err != nil || (got == nil) != (want == "") || got != nil && got.String() != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
}

func TestConnectionIsReused(t *testing.T) {
	var conns atomic.Int32
	mock := upstream.New(upstream.Options{})
	defer func() { _ = mock.Close() }()
	server := httptest.NewUnstartedServer(mock)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	mock.PageSize(1)
	mustList(t, lister(), Endpoint{Transport: source.HTTP, URL: server.URL + "/mcp", AllowPrivate: true})
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestTLSWithOwnAuthority(t *testing.T) {
	mock := upstream.New(upstream.Options{})
	defer func() { _ = mock.Close() }()
	server := httptest.NewUnstartedServer(mock)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	endpoint := Endpoint{Transport: source.HTTP, URL: server.URL + "/mcp", AllowPrivate: true}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	mustList(t, lister(func(o *Options) { o.RootCAs = roots }), endpoint)
	var u *UnreachableError
	if _, err := listOnce(t, lister(), endpoint); !errors.As(err, &u) {
		t.Errorf("error %v, want one of the certificate", err)
	}
}

// What a compressed answer unpacks to is what counts.
func TestCompressedAnswerIsCountedUnpacked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 4<<20))
		_ = z.Close()
	}))
	defer server.Close()
	l := lister(func(o *Options) { o.Limits.Bytes = 1 << 20 })
	_, err := listOnce(t, l, Endpoint{Transport: source.HTTP, URL: server.URL, AllowPrivate: true})
	var limit *LimitError
	if !errors.As(err, &limit) {
		t.Errorf("error %v", err)
	}
}

func TestGivingUp(t *testing.T) {
	everyTransport(t, func(t *testing.T, s *upstream.Server, l *Lister, endpoint Endpoint) {
		session, err := l.Open(t.Context(), endpoint)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		s.Delay(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := session.List(ctx, surface.AllCovers()); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestFindingOf(t *testing.T) {
	for _, test := range []struct {
		err  error
		code finding.Code
	}{
		{&EgressError{Host: "h", Why: "a loopback address", Private: true}, finding.EgressDenied},
		{&LimitError{What: "pages", Limit: 1}, finding.ServerOverLimit},
		{&AuthError{Host: "h", Status: 401}, finding.ServerUnauthorized},
		{&UnreachableError{Host: "h", Err: io.EOF}, finding.ServerUnreachable},
		{&StartError{Command: "c", Detail: "ended", Stderr: "why\n"}, finding.ServerUnreachable},
		{&ProtocolError{Doing: "tools/list", Detail: "no"}, finding.ServerUnreachable},
		{context.Canceled, finding.ServerUnreachable},
	} {
		f := FindingOf("s", test.err)
		if f.Code != test.code || !f.Undecided || f.Hint == "" || strings.Contains(f.Summary, "\n") || f.Place.Server != "s" {
			t.Errorf("%v: %+v", test.err, f)
		}
	}
}

func TestUnknownTransport(t *testing.T) {
	for _, endpoint := range []Endpoint{{Transport: "carrier-pigeon"}, {Transport: source.HTTP, URL: "ftp://x"}, {Transport: source.HTTP, URL: "http://"}} {
		if _, err := lister().Open(t.Context(), endpoint); err == nil {
			t.Errorf("%v was opened", endpoint)
		}
	}
}
