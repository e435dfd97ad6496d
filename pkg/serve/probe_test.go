package serve_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/surface"
)

// prober probes a mock server and counts.
func prober(t *testing.T, every, first time.Duration, source func(url string) *source.Source) (*serve.Prober, *upstream.Server, *atomic.Int64) {
	t.Helper()
	up := upstream.New(upstream.Options{})
	t.Cleanup(func() { _ = up.Close() })
	url, err := up.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := serve.NewProber(serve.ProbeOptions{
		Lister: crawl.New(crawl.Options{}), Every: every, First: first,
		Lookup: func(name string) (string, bool) { return "s3cret", name == "TOKEN" },
	})
	recorded := &atomic.Int64{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx, func(server string, seen surface.Surface, _ time.Time) bool {
			if server != "mock" || len(seen.Lists[surface.KindTool].Definitions) == 0 {
				t.Errorf("a probe of %s recorded %v", server, seen)
			}
			recorded.Add(1)
			return true
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	p.SetServers([]serve.Endpoint{{Name: "mock", Source: source(url), Covers: surface.AllCovers()}})
	return p, up, recorded
}

func direct(url string) *source.Source {
	return &source.Source{Transport: source.HTTP, URL: url, AllowPrivate: true}
}

func TestProbeExpandsApprovedHeaders(t *testing.T) {
	p, up, _ := prober(t, time.Hour, patience, func(url string) *source.Source {
		s := direct(url)
		s.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}"}
		return s
	})
	waitUntil(t, "it was probed", p.Settled)
	if got := up.Header("tools/list").Get("Authorization"); got != "Bearer s3cret" {
		t.Errorf("the probe sent %q", got)
	}
}

// A server that announces a change whenever it is listed is not listed without a
// pause.
func TestProbeOfAServerThatAnnouncesEveryListing(t *testing.T) {
	p, up, recorded := prober(t, time.Hour, patience, direct)
	waitUntil(t, "it was probed", p.Settled)
	waitUntil(t, "somebody listens", func() bool { return up.Subscribers() > 0 })
	up.NotifyOnList(true)
	up.NotifyListChanged()
	before := recorded.Load()
	waitUntil(t, "it was probed twice more", func() bool { return recorded.Load() >= before+2 })
	began := time.Now()
	n := recorded.Load()
	waitUntil(t, "it was probed twice more", func() bool { return recorded.Load() >= n+2 })
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("two probes took %v", took)
	}
}

// A server that cannot be reached does not keep the processor from being ready for
// longer than the first probes may take.
func TestProbeGivesUpWaiting(t *testing.T) {
	p, _, recorded := prober(t, time.Hour, time.Millisecond, func(string) *source.Source {
		return &source.Source{Transport: source.HTTP, URL: "http://127.0.0.1:1/mcp", AllowPrivate: true}
	})
	waitUntil(t, "it gave up", p.Settled)
	if recorded.Load() != 0 {
		t.Error("something was recorded")
	}
}

// Servers that are no longer to be probed are left alone.
func TestProbeStops(t *testing.T) {
	p, up, recorded := prober(t, 10*time.Millisecond, patience, direct)
	waitUntil(t, "it was probed", func() bool { return recorded.Load() > 1 })
	p.SetServers(nil)
	waitUntil(t, "nobody listens", func() bool { return up.Subscribers() == 0 })
	n := up.Requests("tools/list")
	p.SetServers([]serve.Endpoint{{Name: "mock", Source: direct(up.URL()), Covers: surface.AllCovers()}})
	waitUntil(t, "it is probed again", func() bool { return up.Requests("tools/list") > n })
}
