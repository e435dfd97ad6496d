//go:build soak

package serve_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	repository "agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/trust"
)

// TestSoak serves listings and calls of many clients while the policy is reloaded
// every second from git, and holds that nothing wrong is allowed and that memory
// does not grow.
func TestSoak(t *testing.T) {
	last := *soakTime
	r, err := repository.New(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	tools := make([]string, 100)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"description":"Does %d.","inputSchema":{"type":"object"},"name":"tool_%03d"}`, i, i)
	}
	if err := r.Put(t.Context(), "files", filesSource(), filesSurface(tools...)); err != nil {
		t.Fatal(err)
	}
	if err := r.Decide(t.Context(), trust.Approve); err != nil {
		t.Fatal(err)
	}
	tag(t, r, "lock/v1")
	file := filepath.Join(t.TempDir(), "decisions.log")
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	d := daemon(t, r, func(c *serve.DaemonConfig) {
		c.Origin.Ref, c.StateDir, c.Refresh, c.VerdictLog = "lock/v*", t.TempDir(), 100*time.Millisecond, log
		c.Options.MaxEvidenceAge = time.Hour
	})
	ready(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), last)
	defer cancel()
	var load sync.WaitGroup
	var calls, lists, wrong atomic.Int64
	for n := range 32 {
		load.Go(func() { soakClient(ctx, t, d.Address(), n, tools, &calls, &lists, &wrong) })
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var first uint64
	began, reloads := time.Now(), 1
	for ticker := time.NewTicker(time.Second); ctx.Err() == nil; <-ticker.C {
		// The same item is switched off and on, so that each reload has two more
		// decisions and another policy. Alternately only the tag is new.
		if reloads%20 == 0 {
			if err := r.Decide(context.WithoutCancel(ctx), trust.Disable, toolKey("tool_000")); err != nil {
				t.Fatal(err)
			}
			if err := r.Decide(context.WithoutCancel(ctx), trust.Enable, toolKey("tool_000")); err != nil {
				t.Fatal(err)
			}
			if err := r.Decide(context.WithoutCancel(ctx), trust.Approve, toolKey("tool_000")); err != nil {
				t.Fatal(err)
			}
		}
		reloads++
		if err := r.Tag(context.WithoutCancel(ctx), fmt.Sprintf("lock/v%d", reloads)); err != nil {
			t.Fatal(err)
		}
		if first == 0 && time.Since(began) > last/4 {
			first = heap()
		}
	}
	end := heap()
	load.Wait()
	t.Logf("%d reloads, %d calls, %d lists; heap after a quarter %d KiB, at the end %d KiB", reloads, calls.Load(), lists.Load(), first>>10, end>>10)
	if wrong.Load() > 0 {
		t.Errorf("%d answers were wrong", wrong.Load())
	}
	if l := d.Refresher().Loaded(); l.Tag != fmt.Sprintf("lock/v%d", reloads) && l.Tag != fmt.Sprintf("lock/v%d", reloads-1) {
		t.Errorf("the policy is that of %s after %d reloads", l.Tag, reloads)
	}
	if end > first+first/2+8<<20 {
		t.Errorf("memory grew from %d to %d bytes", first, end)
	}
}

// soakClient lists and calls in turn. Its page holds one tool that nobody approved,
// which must never be passed on or callable.
func soakClient(ctx context.Context, t *testing.T, address string, n int, tools []string, calls, lists, wrong *atomic.Int64) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	client := extmcp.NewExtMcpClient(conn)
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("new_%d_%d", n, i)
		page := fmt.Sprintf(`{"tools":[%s,{"description":"New.","inputSchema":{"type":"object"},"name":%q}]}`, strings.Join(tools, ","), name)
		listed, err := client.CheckResponse(context.WithoutCancel(ctx), &extmcp.McpResponse{Method: "tools/list", ServiceNames: []string{"files"}, McpResponse: []byte(page)})
		lists.Add(1)
		if err != nil || listed.GetMutated() == nil || strings.Contains(string(listed.GetMutated()), name) {
			wrong.Add(1)
			t.Logf("a list: %v %v", listed, err)
		}
		for j := range 20 {
			approved := j%10 != 9
			called := fmt.Sprintf("tool_%03d", 1+(i*20+j)%99)
			if !approved {
				called = name
			}
			answer, err := client.CheckRequest(context.WithoutCancel(ctx), &extmcp.McpRequest{Method: "tools/call", ServiceNames: []string{"files"}, McpRequest: fmt.Appendf(nil, `{"name":%q,"arguments":{}}`, called)})
			calls.Add(1)
			if err != nil || (answer.GetPass() != nil) != approved {
				wrong.Add(1)
				t.Logf("a call of %s: %v %v", called, answer, err)
			}
		}
	}
}
