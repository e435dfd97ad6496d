package processor_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
)

// serve serves a processor over gRPC and returns a client of it.
func serve(tb testing.TB, network string, impl extmcp.ExtMcpServer) extmcp.ExtMcpClient {
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
	w := newWorld(t, files())
	client := serve(t, "unix", w.p)
	list := func(definitions ...string) string {
		t.Helper()
		out, err := client.CheckResponse(t.Context(), &extmcp.McpResponse{
			ServiceNames: []string{"files"}, Method: "tools/list", McpResponse: []byte(tools(definitions...)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if out.GetPass() != nil {
			return "pass"
		}
		return string(out.GetMutated())
	}
	call := func() processor.Code {
		t.Helper()
		out, err := client.CheckRequest(t.Context(), &extmcp.McpRequest{
			ServiceNames: []string{"files"}, Method: "tools/call", McpRequest: []byte(call("echo")),
		})
		if err != nil {
			t.Fatal(err)
		}
		if out.GetPass() != nil {
			return ""
		}
		return denied(t, out.GetError())
	}
	for _, step := range []struct {
		echo, want string
		call       processor.Code
	}{
		{echo, "pass", ""},
		{echoEvil, tools(add), processor.DeniedEvidenceContradicts},
		{echo, "pass", ""},
	} {
		if got := list(step.echo, add); got != step.want {
			t.Errorf("list of %s: %s, want %s", step.echo, got, step.want)
		}
		if got := call(); got != step.call {
			t.Errorf("call after %s: %q, want %q", step.echo, got, step.call)
		}
	}
}
