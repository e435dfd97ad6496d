package serve_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
)

// noop is a processor that answers pass without looking.
type noop struct {
	extmcp.UnimplementedExtMcpServer
}

func (noop) CheckRequest(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
	return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{Pass: &extmcp.Pass{}}}, nil
}

func (noop) CheckResponse(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Pass{Pass: &extmcp.Pass{}}}, nil
}

func BenchmarkCallVerdict(b *testing.B) {
	_, hooks, _ := busy(b, manyTools(100))
	in := callOf("read_record_0042")
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := hooks.CheckRequest(context.Background(), in); out.GetPass() == nil {
			b.Fatal(out)
		}
	}
}

func BenchmarkListUnchanged(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, hooks, page := busy(b, manyTools(n))
			b.SetBytes(int64(len(page.GetMcpResponse())))
			b.ReportAllocs()
			for b.Loop() {
				mustPass(b, hooks, page)
			}
		})
	}
}

// listFirst reports the speed of a page that was never seen before, in MB/s.
func listFirst(b *testing.B) {
	_, hooks, page := busy(b, manyTools(100))
	const pages = 500
	begin := time.Now()
	for i := range pages {
		mustPass(b, hooks, &extmcp.McpResponse{
			ServiceNames: page.GetServiceNames(), Method: page.GetMethod(), McpResponse: fmt.Appendf(nil, "%s%*s", page.GetMcpResponse(), i+1, ""),
		})
	}
	b.ReportMetric(float64(pages*len(page.GetMcpResponse()))/1e6/time.Since(begin).Seconds(), "MB/s")
}

func BenchmarkListFirst(b *testing.B) {
	for b.Loop() {
		listFirst(b)
	}
}

// reloadUnderLoad reports the calls a second of 64 clients while the policy is
// compiled and put in force every 100 ms, over the same without that.
func reloadUnderLoad(b *testing.B, p *processor.Processor, hooks extmcp.ExtMcpServer, in *extmcp.McpRequest) {
	b.Helper()
	client := dial(b, "unix", hooks)
	var calls [2][]float64
	for round := range 18 {
		which := round % 2
		ctx, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
		var done atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for ctx.Err() == nil {
					out, err := client.CheckRequest(context.Background(), in)
					if err != nil || out.GetPass() == nil {
						b.Errorf("a call did not pass: %v %v", out, err)
						return
					}
					done.Add(1)
				}
			})
		}
		if which == 0 {
			all.Go(func() {
				for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-tick.C {
					policy, err := processor.NewPolicy(p.Policy().Input())
					if err != nil {
						b.Error(err)
						return
					}
					p.SetPolicy(policy)
				}
			})
		}
		all.Wait()
		cancel()
		calls[which] = append(calls[which], float64(done.Load()))
	}
	for i := range calls {
		slices.Sort(calls[i])
	}
	b.ReportMetric(calls[0][len(calls[0])/2]/calls[1][len(calls[1])/2], "ratio")
}

// ratio reports the median time of ours over that of theirs. The two alternate, so
// that whatever else the machine does meets both.
func ratio(b *testing.B, rounds, each int, ours, theirs func()) {
	b.Helper()
	times := [2][]time.Duration{}
	for round := range rounds {
		for i := range 2 {
			which := (i + round) % 2
			f := []func(){ours, theirs}[which]
			begin := time.Now()
			for range each {
				f()
			}
			times[which] = append(times[which], time.Since(begin))
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	b.ReportMetric(float64(times[0][rounds/2])/float64(times[1][rounds/2]), "ratio")
}

func BenchmarkRatio(b *testing.B) {
	for _, n := range []int{100, 1000} {
		definitions := manyTools(n)
		_, hooks, page := busy(b, definitions)
		b.Run(fmt.Sprintf("list-unchanged-vs-sha256-%d", n), func(b *testing.B) {
			ratio(b, 301, 20, func() { mustPass(b, hooks, page) }, func() { sha256.Sum256(page.GetMcpResponse()) })
		})
		for _, network := range []string{"unix", "tcp"} {
			mine, empty := dial(b, network, hooks), dial(b, network, noop{})
			b.Run(fmt.Sprintf("list-vs-noop-%s-%d", network, n), func(b *testing.B) {
				ask := func(c extmcp.ExtMcpClient) func() {
					return func() {
						if out, err := c.CheckResponse(context.Background(), page); err != nil || out.GetPass() == nil {
							b.Fatal(out, err)
						}
					}
				}
				ratio(b, 601, 1, ask(mine), ask(empty))
			})
		}
	}
	b.Run("list-first", listFirst)
	p, hooks, _ := busy(b, manyTools(100))
	in := callOf("read_record_0042")
	b.Run("reload-under-load", func(b *testing.B) { reloadUnderLoad(b, p, hooks, in) })
	for _, network := range []string{"unix", "tcp"} {
		mine, empty := dial(b, network, hooks), dial(b, network, noop{})
		b.Run("call-vs-noop-"+network, func(b *testing.B) {
			ask := func(c extmcp.ExtMcpClient) func() {
				return func() {
					if out, err := c.CheckRequest(context.Background(), in); err != nil || out.GetPass() == nil {
						b.Fatal(out, err)
					}
				}
			}
			ratio(b, 4001, 1, ask(mine), ask(empty))
		})
	}
}
