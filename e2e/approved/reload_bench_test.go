package approved_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agentgateway-lock/pkg/source"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"agentgateway-lock/e2e/approved"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/serve"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// reloadUnderLoad reports the calls a second of 64 clients while another commit is
// read, verified and put in force every 100 ms, over the same while nothing
// changes. Unlike the ratio of pkg/processor it includes git, trust list and
// decisions.
func reloadUnderLoad(b *testing.B) {
	r, err := approved.New(b.Context(), b.TempDir(), false)
	if err != nil {
		b.Fatal(err)
	}
	raws := make([][]byte, 100)
	for i := range raws {
		raws[i] = fmt.Appendf(nil, `{"name":"tool_%03d","inputSchema":{"type":"object"}}`, i)
	}
	list, _ := surface.NewList(surface.KindTool, raws)
	seen := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}}
	if err := r.Put(b.Context(), "files", &source.Source{Transport: source.HTTP, URL: "https://files.example.com/mcp"}, seen); err != nil {
		b.Fatal(err)
	}
	if err := r.Decide(b.Context(), trust.Approve); err != nil {
		b.Fatal(err)
	}
	var commits [2]string
	for i := range commits {
		id, err := r.Commit(b.Context(), "a commit")
		if err != nil {
			b.Fatal(err)
		}
		commits[i] = id.String() + "\n"
	}
	branch := filepath.Join(r.Dir, ".git", "refs", "heads", "main")
	folder := b.TempDir()
	d, err := serve.NewDaemon(b.Context(), serve.DaemonConfig{
		Origin:   serve.Origin{Repo: r.Dir, Ref: "main", TrustRoot: r.Root(), Require: seal.RequireNone},
		Listener: serve.Listener{Address: "unix:" + filepath.Join(folder, "p")}, Refresh: 100 * time.Millisecond,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, nil) }()
	defer func() { cancel(); <-ended }()
	for ok := false; !ok; ok, _ = d.Ready() {
		time.Sleep(time.Millisecond)
	}
	conn, err := grpc.NewClient(d.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := extmcp.NewExtMcpClient(conn)
	page := []byte(`{"tools":[` + string(raws[7]) + `]}`)
	if _, err := client.CheckResponse(b.Context(), &extmcp.McpResponse{Method: "tools/list", ServiceNames: []string{"files"}, McpResponse: page}); err != nil {
		b.Fatal(err)
	}
	var calls [2][]float64
	for round := range 8 {
		which := round % 2
		calls[which] = append(calls[which], callsFor(b, client, 600*time.Millisecond, func(ctx context.Context) {
			for i := 0; which == 0 && ctx.Err() == nil; i++ {
				if err := os.WriteFile(branch, []byte(commits[i%2]), 0o600); err != nil {
					b.Error(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		}))
	}
	for i := range calls {
		slices.Sort(calls[i])
	}
	b.ReportMetric(calls[0][len(calls[0])/2]/calls[1][len(calls[1])/2], "ratio")
}

// callsFor counts what 64 clients call in that time, beside something else.
func callsFor(b *testing.B, client extmcp.ExtMcpClient, d time.Duration, beside func(context.Context)) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var done atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			in := &extmcp.McpRequest{Method: "tools/call", ServiceNames: []string{"files"}, McpRequest: []byte(`{"name":"tool_007","arguments":{}}`)}
			for ctx.Err() == nil {
				out, err := client.CheckRequest(context.WithoutCancel(ctx), in)
				if err != nil || out.GetPass() == nil {
					b.Errorf("a call did not pass: %v %v", out, err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Go(func() { beside(ctx) })
	all.Wait()
	return float64(done.Load())
}
