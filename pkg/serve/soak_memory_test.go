//go:build soak && linux

package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/serve"
)

// maxMemory is what a processor may take, in bytes, whoever asks.
const maxMemory = 256 << 20

// TestSoakServer is the process that TestSoakMemory measures: it serves until its
// input ends.
func TestSoakServer(t *testing.T) {
	secret := os.Getenv("SOAK_SECRET_FILE")
	if secret == "" {
		t.Skip("TestSoakMemory starts it")
	}
	d := daemon(t, newRepository(t, false), func(c *serve.DaemonConfig) {
		c.Listener = serve.Listener{Address: "127.0.0.1:0", SecretFile: secret}
	})
	ready(t, d)
	fmt.Printf("address %s\n", d.Address())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Callers without the secret, and servers that answer with pages of any size through
// a gateway that has it: what the processor takes stays below its limit, and who
// asks honestly is answered.
func TestSoakMemory(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSoakServer$", "-test.timeout=0")
	server.Env = append(os.Environ(), "SOAK_SECRET_FILE="+secret, "GOMEMLIMIT=192MiB") // as the command has it
	server.Stderr = os.Stderr
	stop, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop.Close(); _ = server.Wait() }()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address, _ = strings.CutPrefix(lines.Text(), "address ")
	}
	client := func() (extmcp.ExtMcpClient, func()) {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
		if err != nil {
			t.Fatal(err)
		}
		return extmcp.NewExtMcpClient(conn), func() { _ = conn.Close() }
	}
	ctx, cancel := context.WithTimeout(t.Context(), *soakTime)
	defer cancel()
	var all sync.WaitGroup
	var refused, large, honest atomic.Int64
	run := func(n int, f func(c extmcp.ExtMcpClient, ctx context.Context)) {
		for range n {
			c, closed := client()
			all.Go(func() {
				defer closed()
				for ctx.Err() == nil {
					f(c, context.WithoutCancel(ctx))
				}
			})
		}
	}
	allowed := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer s3cret")
	}
	huge := make([]byte, 60<<20)
	run(12, func(c extmcp.ExtMcpClient, ctx context.Context) {
		_, err := c.CheckResponse(ctx, &extmcp.McpResponse{Method: "tools/list", ServiceNames: []string{"files"}, McpResponse: huge})
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("without the secret: %v", err)
		}
		refused.Add(1)
	})
	definition := `{"description":"` + strings.Repeat("x", 1000) + `","inputSchema":{"type":"object"},"name":"%d"},`
	run(12, func(c extmcp.ExtMcpClient, ctx context.Context) {
		var page strings.Builder
		page.WriteString(`{"tools":[` + echo)
		for n := rand.IntN(15_000); n > 0; n-- {
			page.WriteByte(',')
			fmt.Fprintf(&page, strings.TrimSuffix(definition, ","), rand.Uint64())
		}
		page.WriteString("]}")
		answer, err := c.CheckResponse(allowed(ctx), &extmcp.McpResponse{Method: "tools/list", ServiceNames: []string{"files"}, McpResponse: []byte(page.String())})
		if err != nil || len(answer.GetMutated()) > 1000 {
			t.Errorf("a large page: %v, %d bytes pass", err, len(answer.GetMutated()))
		}
		large.Add(1)
	})
	content := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 15<<20) + `"}]}`)
	run(4, func(c extmcp.ExtMcpClient, ctx context.Context) {
		answer, err := c.CheckResponse(allowed(ctx), &extmcp.McpResponse{Method: "tools/call", ServiceNames: []string{"files"}, McpResponse: content})
		if err != nil || answer.GetPass() == nil {
			t.Errorf("a large result: %v", err)
		}
		large.Add(1)
	})
	hugeCall := append([]byte(`{"name":"echo","arguments":{"x":"`), append([]byte(strings.Repeat("x", 15<<20)), `"}}`...)...)
	run(2, func(c extmcp.ExtMcpClient, ctx context.Context) {
		if _, err := c.CheckRequest(allowed(ctx), &extmcp.McpRequest{Method: "tools/call", ServiceNames: []string{"files"}, McpRequest: hugeCall}); err != nil {
			t.Errorf("a large call: %v", err)
		}
		large.Add(1)
	})
	run(2, func(c extmcp.ExtMcpClient, ctx context.Context) {
		answer, err := c.CheckRequest(allowed(ctx), &extmcp.McpRequest{Method: "ping", ServiceNames: []string{"files"}})
		if err != nil || answer.GetPass() == nil {
			t.Errorf("a ping: %v %v", answer, err)
		}
		honest.Add(1)
		time.Sleep(time.Millisecond)
	})
	all.Wait()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)[1]))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls without the secret, %d large ones, %d honest ones; at most %d MiB in memory", refused.Load(), large.Load(), honest.Load(), peak>>10)
	if peak<<10 > maxMemory {
		t.Errorf("%d MiB in memory, the limit is %d", peak>>10, maxMemory>>20)
	}
}
