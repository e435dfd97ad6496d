package gatewaydouble_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/extmcp"
)

func TestProcessorsRunInOrderAndFeedEachOther(t *testing.T) {
	second := newGuard(t)
	w := newWorld(t, func(c *gatewaydouble.Config) {
		c.Processors = append(c.Processors, second.processor(everything()))
		c.Processors[1].Metadata = map[string]gatewaydouble.Expression{"from": gatewaydouble.Guardrail("from")}
	})
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		metadata, err := structpb.NewStruct(map[string]any{"from": "first"})
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Mutated{Mutated: []byte(`{"name":"b"}`)}, Metadata: metadata}, err
	})
	w.onResponse(func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
		return mutateResponse(`{"content":[]}`), nil
	})
	c := connect(t, w.gateway.URL(), modern)
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(`{"content":[]}`))
	if got := string(second.lastRequest(t).GetMcpRequest()); got != `{"name":"b"}` {
		t.Errorf("the second processor saw %s", got)
	}
	if got := string(second.lastResponse(t).GetMcpResponse()); got != `{"content":[]}` {
		t.Errorf("the second processor saw %s", got)
	}
	if got := second.lastResponse(t).GetMetadataContext().AsMap(); !cmp.Equal(got, map[string]any{"from": "first"}) {
		t.Errorf("the second processor got %v", got)
	}

	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		return denyRequest(extmcp.AuthorizationError_INVALID, "no", ""), nil
	})
	before, _ := second.asked()
	wantBody(t, c.call("tools/call", `{"name":"a"}`), 200, rpcError(-32600, "no"))
	if after, _ := second.asked(); len(after) != len(before) {
		t.Error("the second processor was asked about a denied request")
	}
}

func TestMetadataIsEvaluatedForBothPhases(t *testing.T) {
	w := newWorld(t, func(c *gatewaydouble.Config) {
		c.Processors[0].Metadata = map[string]gatewaydouble.Expression{
			"server":  gatewaydouble.Constant("files"),
			"tenant":  gatewaydouble.Header("X-Tenant"),
			"missing": gatewaydouble.Header("X-Missing"),
			"session": gatewaydouble.HeaderOr("Mcp-Session-Id", ""),
			"call":    gatewaydouble.Guardrail("call"),
		}
	})
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		metadata, err := structpb.NewStruct(map[string]any{"call": "17"})
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{}, Metadata: metadata}, err
	})
	c := connect(t, w.gateway.URL(), modern)
	c.header.Set("X-Tenant", "blue")
	c.call("tools/call", `{"name":"a"}`)
	want := map[string]any{"server": "files", "tenant": "blue", "session": ""}
	if diff := cmp.Diff(want, w.guard.lastRequest(t).GetMetadataContext().AsMap()); diff != "" {
		t.Error(diff)
	}
	want["call"] = "17"
	if diff := cmp.Diff(want, w.guard.lastResponse(t).GetMetadataContext().AsMap()); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutMetadataThereIsNoContext(t *testing.T) {
	w := newWorld(t, nil)
	connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`)
	if in := w.guard.lastRequest(t); in.GetMetadataContext() != nil {
		t.Errorf("got %v", in.GetMetadataContext())
	}
}

func headersOf(in *extmcp.McpRequest) map[string][]string {
	out := map[string][]string{}
	for _, h := range in.GetHeaders() {
		out[h.GetKey()] = append(out[h.GetKey()], string(h.GetValue()))
	}
	return out
}

func TestHeadersAreFiltered(t *testing.T) {
	for _, c := range []struct {
		name                string
		allowed, disallowed []string
		want, not           []string
	}{
		{"all by default", nil, nil, []string{"authorization", "x-a", ":path", ":method", ":authority"}, nil},
		{"allowed only", []string{"X-A"}, nil, []string{"x-a"}, []string{"authorization", ":path", "accept"}},
		{"disallowed wins", []string{"x-a", "authorization"}, []string{"Authorization"}, []string{"x-a"}, []string{"authorization"}},
		{"disallowed alone", nil, []string{"authorization"}, []string{"x-a", ":path"}, []string{"authorization"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(config *gatewaydouble.Config) {
				config.Processors[0].AllowedHeaders, config.Processors[0].DisallowedHeaders = c.allowed, c.disallowed
			})
			client := connect(t, w.gateway.URL(), modern)
			client.header.Set("Authorization", "Bearer secret")
			client.header["X-A"] = []string{"1", "2"}
			client.call("tools/call", `{"name":"a"}`)
			got := headersOf(w.guard.lastRequest(t))
			for _, name := range c.want {
				if len(got[name]) == 0 {
					t.Errorf("%s is missing in %v", name, got)
				}
			}
			for _, name := range c.not {
				if len(got[name]) != 0 {
					t.Errorf("%s was sent: %v", name, got[name])
				}
			}
			if diff := cmp.Diff([]string{"1", "2"}, got["x-a"]); diff != "" {
				t.Error(diff)
			}
			if got := w.up.requests("tools/call")[0].header.Get("Authorization"); got != "Bearer secret" {
				t.Errorf("the upstream got authorization %q", got)
			}
		})
	}
}

func TestHeaderMutations(t *testing.T) {
	w := newWorld(t, nil)
	mutation := &extmcp.HeaderMutation{
		Remove: []string{"x-gone"},
		Set: []*extmcp.McpHeader{
			{Key: "x-a", Value: []byte("new")}, {Key: "x-a", Value: []byte("more")}, {Key: "x-b", Value: []byte("b")},
		},
	}
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{}, HeaderMutation: mutation}, nil
	})
	c := connect(t, w.gateway.URL(), modern)
	c.header.Set("X-A", "old")
	c.header.Set("X-Gone", "1")
	c.call("tools/call", `{"name":"a"}`)
	header := w.up.requests("tools/call")[0].header
	if diff := cmp.Diff([]string{"new", "more"}, header.Values("X-A")); diff != "" {
		t.Error(diff)
	}
	if header.Get("X-B") != "b" || header.Get("X-Gone") != "" {
		t.Errorf("the upstream got %v", header)
	}
}

func TestTheSecretIsABearerToken(t *testing.T) {
	secrets := make(chan []string, 4)
	g := newGuard(t)
	g.onRequest = func(ctx context.Context, _ *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		secrets <- append(md.Get("authorization"), md.Get(":authority")...)
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{}}, nil
	}
	w := newWorld(t, func(c *gatewaydouble.Config) {
		c.Processors = []gatewaydouble.Processor{g.processor(map[string]gatewaydouble.Phase{"tools/call": gatewaydouble.Request})}
		c.Processors[0].Secret = "s3cret"
	})
	c := connect(t, w.gateway.URL(), modern)
	c.header.Set("Authorization", "Bearer of-the-client")
	c.call("tools/call", `{"name":"a"}`)
	// The client's headers never become metadata; the authority of a socket is its file name.
	if diff := cmp.Diff([]string{"Bearer s3cret", "guard.sock"}, <-secrets); diff != "" {
		t.Error(diff)
	}
}

func TestAProcessorThatComesBackIsUsedAtOnce(t *testing.T) {
	w := newWorld(t, func(c *gatewaydouble.Config) {
		c.Processors[0].Methods = map[string]gatewaydouble.Phase{"tools/call": gatewaydouble.Request}
	})
	c := connect(t, w.gateway.URL(), modern)
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(calledResult))
	w.guard.server.Stop()
	for range 3 {
		r := c.call("tools/call", `{"name":"a"}`)
		if !strings.Contains(r.last(), `"message":"mcpGuardrails checkRequest failed: `) {
			t.Fatalf("got %s", r.last())
		}
	}
	startGuard(t, w.guard.host)
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(calledResult))
}

func TestLargeResultsReachTheProcessor(t *testing.T) {
	w := newWorld(t, nil)
	large := strings.Repeat("x", 5<<20)
	w.up.events = map[string][]string{"tools/list": {}} // event streams are not bounded
	w.up.set("tools/list", `{"tools":[{"name":"a","description":"`+large+`","inputSchema":{}}]}`)
	c := connect(t, w.gateway.URL(), modern)
	r := c.call("tools/list", `{}`)
	var message struct {
		Result struct {
			Tools []struct{ Description string }
		}
	}
	if err := json.Unmarshal([]byte(r.last()), &message); err != nil {
		t.Fatal(err)
	}
	if got := len(message.Result.Tools[0].Description); got != len(large) {
		t.Errorf("got %d bytes", got)
	}
	if got := len(w.guard.lastResponse(t).GetMcpResponse()); got < len(large) {
		t.Errorf("the hook saw %d bytes", got)
	}
	w.up.mu.Lock()
	w.up.events = nil // JSON bodies are
	w.up.mu.Unlock()
	if r := c.call("tools/list", `{}`); r.status != 500 || !strings.Contains(r.last(), "too large") {
		t.Errorf("got HTTP %d, %d bytes", r.status, len(r.last()))
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			c := connect(t, w.gateway.URL(), []string{legacy, modern}[i%2])
			for n := range 8 {
				id := fmt.Sprintf("%d-%d", i, n)
				r := c.post(`{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"a"}}`)
				if want := strings.Replace(result(calledResult), `"id":7`, `"id":"`+id+`"`, 1); r.last() != want {
					t.Errorf("got %s, want %s", r.last(), want)
				}
				if n == 4 && i == 0 {
					if err := w.gateway.Reload(context.Background(), w.config); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
}
