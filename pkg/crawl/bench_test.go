package crawl

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"
	"agentgateway-lock/pkg/surface"
)

// BenchmarkParallel lists 50 servers that answer each request after 200 ms, all
// at once, and reports the wall time over that of one such server.
func BenchmarkParallel(b *testing.B) {
	const servers = 50
	jobs := make([]Job, servers)
	for i := range jobs {
		s, endpoint := serve(b, upstream.Options{})
		s.Delay(200 * time.Millisecond)
		jobs[i] = Job{Endpoint: endpoint, Covers: surface.DefaultCovers()}
	}
	l := lister()
	wall := func(jobs []Job) time.Duration {
		start := time.Now()
		l.ListAll(b.Context(), jobs, servers, func(r Result) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		})
		return time.Since(start)
	}
	one := wall(jobs[:1])
	for b.Loop() {
		b.ReportMetric(float64(wall(jobs))/float64(one), "ratio")
	}
}

// BenchmarkMemory lists 10,000 tools and reports the most memory that was held
// at once, over the bytes of the listing. The server's own is counted with it.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{400, 6000} {
		description := strings.Repeat("x", size)
		body := make([]string, 10_000)
		for i := range body {
			body[i] = fmt.Sprintf(`{"name":"tool_%06d","description":"%s","inputSchema":{"type":"object"}}`, i, description)
		}
		answer := `{"tools":[` + strings.Join(body, ",") + `]}`
		for _, transport := range []string{"http", "stream", "stdio"} {
			b.Run(fmt.Sprintf("%s-%d", transport, size), func(b *testing.B) {
				s, endpoint := serve(b, upstream.Options{Stream: transport == "stream"})
				l := lister()
				if transport == "stdio" {
					endpoint.Transport, endpoint.Command = "stdio", "mock"
					l = lister(func(o *Options) { o.Start = inProcess(s) })
				}
				s.Result("tools/list", answer)
				for b.Loop() {
					debug.FreeOSMemory()
					before := held()
					stop, peak := make(chan struct{}), make(chan uint64)
					go func() { peak <- watch(stop) }()
					var listing *Listing
					var err error
					l.ListAll(b.Context(), []Job{{Endpoint: endpoint, Covers: []string{"tools"}}}, 1, func(r Result) { listing, err = r.Listing, r.Err })
					close(stop)
					most := <-peak
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(most-before)/float64(listing.Bytes), "x-listing")
				}
			})
		}
	}
}

// held is the memory that the system has given to this process.
func held() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// watch returns the most memory it sees until stop is closed.
func watch(stop <-chan struct{}) uint64 {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	most := held()
	for {
		select {
		case <-tick.C:
			most = max(most, held())
		case <-stop:
			return most
		}
	}
}
