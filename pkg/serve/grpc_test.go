package serve_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
)

// dial serves a processor over gRPC and returns a client of it.
func dial(tb testing.TB, network string, impl extmcp.ExtMcpServer) extmcp.ExtMcpClient {
	tb.Helper()
	address, target := "127.0.0.1:0", ""
	if network == "unix" {
		address = filepath.Join(tb.TempDir(), "s")
		target = "unix:" + address
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), network, address)
	if err != nil {
		tb.Fatal(err)
	}
	if target == "" {
		target = listener.Addr().String()
	}
	server, _ := extmcp.NewServer(impl)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	})
	return extmcp.NewExtMcpClient(conn)
}

// A rug pull, and the way back, over the wire.
func TestOverGRPC(t *testing.T) {
	p, _ := busy(t, []string{echo, add})
	client := dial(t, "unix", p)
	for _, step := range []struct {
		echo, want string
		call       processor.Code
	}{
		{echo, "pass", ""},
		{echoEvil, tools(add), processor.DeniedEvidenceContradicts},
		{echo, "pass", ""},
	} {
		listed, err := client.CheckResponse(t.Context(), &extmcp.McpResponse{ServiceNames: []string{"files"}, Method: "tools/list", McpResponse: []byte(tools(step.echo, add))})
		if err != nil {
			t.Fatal(err)
		}
		got := string(listed.GetMutated())
		if listed.GetPass() != nil {
			got = "pass"
		}
		if got != step.want {
			t.Errorf("list of %s: %s, want %s", step.echo, got, step.want)
		}
		called, err := client.CheckRequest(t.Context(), callOf("echo"))
		if err != nil {
			t.Fatal(err)
		}
		if denied := called.GetError(); (denied == nil) != (step.call == "") || !strings.Contains(denied.GetReason(), string(step.call)) {
			t.Errorf("call after %s: %v, want %q", step.echo, called, step.call)
		}
	}
}
