package crawl

import (
	"context"
	"errors"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/source"
)

func TestListen(t *testing.T) {
	for name, c := range map[string]struct {
		opts upstream.Options
		sse  bool
	}{
		"2026-07-28":     {opts: upstream.Options{NoInitialize: true}},
		"with a session": {opts: upstream.Options{NoDiscover: true}},
		"legacy stream":  {opts: upstream.Options{NoDiscover: true, SSEOnly: true}, sse: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := upstream.New(c.opts)
			defer func() { _ = server.Close() }()
			url, err := server.Start(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			endpoint := Endpoint{Name: "mock", Transport: source.HTTP, URL: url, AllowPrivate: true}
			if c.sse {
				endpoint.Transport, endpoint.URL = source.SSE, server.SSEURL()
			}
			s, err := New(Options{}).Open(t.Context(), endpoint)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if !s.Announces() {
				t.Error("the server declares listChanged, and that was not seen")
			}
			ctx, cancel := context.WithCancel(t.Context())
			changes := make(chan struct{}, 64)
			ended := make(chan error, 1)
			go func() { ended <- s.Listen(ctx, func() { changes <- struct{}{} }) }()
			for server.Subscribers() == 0 {
				time.Sleep(time.Millisecond)
			}
			for _, kind := range []string{"tools", "prompts", "resources"} {
				server.NotifyListChanged(kind)
				<-changes
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("listening ended with %v", err)
			}
		})
	}
}

// A stream that ends by itself is an error, so that the caller lists and listens
// again.
func TestListenEnds(t *testing.T) {
	for _, opts := range []upstream.Options{{NoInitialize: true}, {NoDiscover: true}} {
		server := upstream.New(opts)
		url, err := server.Start(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{}).Open(t.Context(), Endpoint{Name: "mock", Transport: source.HTTP, URL: url, AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Listen(t.Context(), func() {}) }()
		for server.Subscribers() == 0 {
			time.Sleep(time.Millisecond)
		}
		_ = server.Close()
		if err := <-ended; err == nil {
			t.Error("the stream ended without an error")
		}
		s.Close()
	}
}

// A server without such a stream is told apart from one that is silent.
func TestListenRefused(t *testing.T) {
	server := upstream.New(upstream.Options{NoDiscover: true})
	defer func() { _ = server.Close() }()
	url, err := server.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{}).Open(t.Context(), Endpoint{Name: "mock", Transport: source.HTTP, URL: url, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.version = versionModern // the server does not speak it
	var p *ProtocolError
	if err := s.Listen(t.Context(), func() { t.Error("a change was announced") }); !errors.As(err, &p) {
		t.Errorf("got %v", err)
	}
}

func TestAnnounces(t *testing.T) {
	for text, want := range map[string]bool{
		`{"listChanged":true}`: true, `{"subscribe":true,"listChanged":true}`: true,
		`{}`: false, `{"listChanged":false}`: false, `{"listChanged":"true"}`: false, `true`: false, `{"a":{"listChanged":true}}`: false,
	} {
		if got := announcesChanges([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestNoticeOf(t *testing.T) {
	for text, want := range map[string]struct {
		method string
		answer bool
	}{
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`: {"notifications/tools/list_changed", false},
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                          {"", true},
		`{"jsonrpc":"2.0","id":1,"error":{}}`:                           {"", true},
		`{"method":7}`:                                                  {"", false}, `nonsense`: {"", false}, ``: {"", false},
	} {
		method, answer := noticeOf([]byte(text))
		if method != want.method || answer != want.answer {
			t.Errorf("%s: %q, %v", text, method, answer)
		}
	}
}
