package serve_test

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/serve"
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
	server, _ := extmcp.NewServer(impl, nil)
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
	_, hooks, _ := busy(t, []string{echo, add})
	client := dial(t, "unix", hooks)
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

// What the metadata of a route says and how is judged, too.
func TestMetadata(t *testing.T) {
	_, hooks, _ := busy(t, []string{echo})
	for name, tc := range map[string]struct {
		metadata map[string]any
		want     processor.Code
	}{
		"raw names":             {map[string]any{"names": "raw", "scope": "alice", "more": 7.0}, ""},
		"names of another kind": {map[string]any{"names": true}, processor.DeniedMetadata},
		"other names":           {map[string]any{"names": "Prefixed"}, processor.DeniedMetadata},
		"a scope that is none":  {map[string]any{"scope": 7.0}, processor.DeniedMetadata},
	} {
		t.Run(name, func(t *testing.T) {
			metadata, err := structpb.NewStruct(tc.metadata)
			if err != nil {
				t.Fatal(err)
			}
			asked, err := hooks.CheckRequest(t.Context(), &extmcp.McpRequest{ServiceNames: []string{"files"}, Method: "ping", MetadataContext: metadata})
			if err != nil || codeOf(t, asked.GetError()) != tc.want {
				t.Errorf("request: %v %v, want %q", asked, err, tc.want)
			}
			listed, err := hooks.CheckResponse(t.Context(), &extmcp.McpResponse{ServiceNames: []string{"files"}, Method: "tools/list", MetadataContext: metadata, McpResponse: []byte(tools(echo))})
			if err != nil || codeOf(t, listed.GetError()) != tc.want {
				t.Errorf("response: %v %v, want %q", listed, err, tc.want)
			}
		})
	}
}

// codeOf is the code of a denial, or nothing. It holds that the denial has the form
// that the gateway understands.
func codeOf(t *testing.T, denied *extmcp.AuthorizationError) processor.Code {
	t.Helper()
	if denied == nil {
		return ""
	}
	var data struct{ Code processor.Code }
	if err := json.Unmarshal(denied.GetMcpError(), &data); err != nil || denied.GetCode() != extmcp.AuthorizationError_PERMISSION_DENIED || denied.GetReason() == "" {
		t.Fatalf("not a denial with a reason: %v, %v", denied, err)
	}
	return data.Code
}

// What goes wrong while a verdict is noted down is a denial.
func TestPanicWhileAVerdictIsNotedIsADenial(t *testing.T) {
	policy, err := processor.NewPolicy(policyOf(echo))
	if err != nil {
		t.Fatal(err)
	}
	p := processor.New()
	p.SetPolicy(policy)
	hooks := serve.NewHooks(p, time.Now, func(processor.Verdict, time.Duration) { panic("the log is gone") })
	asked, err := hooks.CheckRequest(t.Context(), &extmcp.McpRequest{ServiceNames: []string{"files"}, Method: "ping"})
	if err != nil || codeOf(t, asked.GetError()) != processor.DeniedInternal {
		t.Errorf("%v %v", asked, err)
	}
}
