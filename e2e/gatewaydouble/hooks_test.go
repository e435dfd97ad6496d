package gatewaydouble_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/extmcp"
)

const calledResult = `{"content":[{"type":"text","text":"done"}]}`

// world is one upstream behind one double with one processor for everything.
type world struct {
	up      *upstream
	guard   *guard
	config  gatewaydouble.Config
	gateway *gatewaydouble.Gateway
}

// newWorld starts one; change may alter the configuration first.
func newWorld(t *testing.T, change func(*gatewaydouble.Config)) *world {
	t.Helper()
	w := &world{guard: newGuard(t)}
	w.up = newUpstream(t, "files", map[string]string{
		"tools/call":            calledResult,
		"tools/list":            `{"tools":[{"name":"a","inputSchema":{}}]}`,
		"prompts/get":           `{"messages":[]}`,
		"resources/read":        `{"contents":[{"uri":"file:///a","text":"x"}]}`,
		"ping":                  `{}`,
		"logging/setLevel":      `{}`,
		"resources/subscribe":   `{}`,
		"resources/unsubscribe": `{}`,
		"completion/complete":   `{"completion":{"values":[]}}`,
		"tasks/get":             `{"taskId":"1","status":"working"}`,
		"subscriptions/listen":  `{}`,
		"server/discover":       `{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"Be kind."}`,
	})
	w.config = gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{w.up.target()},
		Processors: []gatewaydouble.Processor{w.guard.processor(everything())},
	}
	if change != nil {
		change(&w.config)
	}
	w.gateway = newDouble(t, w.config)
	return w
}

func (w *world) onRequest(answer func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error)) {
	w.guard.mu.Lock()
	defer w.guard.mu.Unlock()
	w.guard.onRequest = answer
}

func (w *world) onResponse(answer func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error)) {
	w.guard.mu.Lock()
	defer w.guard.mu.Unlock()
	w.guard.onResponse = answer
}

func TestCallsCarryTheirParamsWithoutMeta(t *testing.T) {
	w := newWorld(t, nil)
	r := connect(t, w.gateway.URL(), modern).call("tools/call",
		`{"task":{"ttl":1},"_meta":{"progressToken":1},"arguments":{"n":1e3,"z":1,"a":{"k":1,"k":2}},"name":"a","requestState":"s","x":1}`)
	wantEvent(t, r, result(calledResult))
	in := w.guard.lastRequest(t)
	if got, want := string(in.GetMcpRequest()), `{"name":"a","arguments":{"n":1000.0,"z":1,"a":{"k":2}},"requestState":"s"}`; got != want {
		t.Errorf("the hook saw %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"files"}, in.GetServiceNames()); diff != "" {
		t.Error(diff)
	}
	want := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"a","arguments":{"n":1000.0,"z":1,"a":{"k":2}},"requestState":"s"}}`
	if got := w.up.requests("tools/call")[0].body; got != want {
		t.Errorf("the upstream got %s, want %s", got, want)
	}
}

func TestWhichMethodsHaveWhichHooks(t *testing.T) {
	for _, c := range []struct {
		method, params, version string
		request, response       bool
	}{
		{"tools/call", `{"name":"a"}`, legacy, true, true},
		{"prompts/get", `{"name":"a"}`, legacy, true, true},
		{"resources/read", `{"uri":"file:///a"}`, legacy, true, true},
		{"tools/list", `{}`, legacy, true, true},
		{"ping", `{}`, legacy, true, true},
		{"logging/setLevel", `{"level":"info"}`, legacy, true, true},
		{"resources/subscribe", `{"uri":"file:///a"}`, legacy, false, true},
		{"resources/unsubscribe", `{"uri":"file:///a"}`, legacy, false, true},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"x","value":"y"}}`, legacy, false, true},
		{"tasks/get", `{"taskId":"1"}`, legacy, false, true},
		{"server/discover", `{}`, modern, true, true},
		{"subscriptions/listen", `{"notifications":{}}`, modern, true, true},
		{"tools/call", `{"name":"a"}`, modern, true, true},
	} {
		t.Run(c.method, func(t *testing.T) {
			w := newWorld(t, nil)
			client := connect(t, w.gateway.URL(), c.version)
			before, after := w.guard.asked()
			r := client.call(c.method, c.params)
			if !strings.Contains(r.last(), `"result"`) {
				t.Fatalf("got %s", r.last())
			}
			requests, responses := w.guard.asked()
			if got := len(requests) > len(before); got != c.request {
				t.Errorf("request hook: %v, want %v", got, c.request)
			}
			if got := len(responses) > len(after); got != c.response {
				t.Errorf("response hook: %v, want %v", got, c.response)
			}
		})
	}
}

func TestFanOutRequestsCarryNoParams(t *testing.T) {
	w := newWorld(t, nil)
	client := connect(t, w.gateway.URL(), legacy)
	if in := w.guard.lastRequest(t); in.GetMethod() != "initialize" || in.McpRequest != nil {
		t.Errorf("initialize: the hook saw %v", in)
	}
	client.call("tools/list", `{"cursor":"2"}`)
	if in := w.guard.lastRequest(t); in.GetMethod() != "tools/list" || in.McpRequest != nil {
		t.Errorf("tools/list: the hook saw %v", in)
	}
}

func TestAMutationOfAFanOutRequestIsIgnored(t *testing.T) {
	w := newWorld(t, nil)
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		return &extmcp.McpRequestResult{
			Result:         &extmcp.McpRequestResult_Mutated{Mutated: []byte(`not JSON`)},
			HeaderMutation: &extmcp.HeaderMutation{Set: []*extmcp.McpHeader{{Key: "x-added", Value: []byte("1")}}},
		}, nil
	})
	wantEvent(t, connect(t, w.gateway.URL(), modern).call("tools/list", `{}`), result(wrapper+`{"name":"a","inputSchema":{}}]}`))
	if got := w.up.requests("tools/list")[0].header.Get("X-Added"); got != "1" {
		t.Errorf("the header mutation did not apply: %q", got)
	}
}

func TestPhasesAreFollowed(t *testing.T) {
	for phase, want := range map[gatewaydouble.Phase][2]int{
		gatewaydouble.Off: {0, 0}, gatewaydouble.Request: {1, 0}, gatewaydouble.Response: {0, 1}, gatewaydouble.Full: {1, 1},
	} {
		w := newWorld(t, func(c *gatewaydouble.Config) {
			c.Processors[0].Methods = map[string]gatewaydouble.Phase{"tools/call": phase}
		})
		connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`)
		requests, responses := w.guard.asked()
		if got := [2]int{len(requests), len(responses)}; got != want {
			t.Errorf("%s: asked %v, want %v", phase, got, want)
		}
	}
}

func TestDenialsOfRequestsAreJSONBodies(t *testing.T) {
	for code, want := range map[extmcp.AuthorizationError_Code]string{
		extmcp.AuthorizationError_PERMISSION_DENIED:  "-32001",
		extmcp.AuthorizationError_RESOURCE_EXHAUSTED: "-32003",
		extmcp.AuthorizationError_INVALID:            "-32600",
		extmcp.AuthorizationError_UNKNOWN:            "-32603",
		99:                                           "-32603",
	} {
		w := newWorld(t, nil)
		w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
			return denyRequest(code, "not \"approved\"", `{"code":"changed","n":1e3}`), nil
		})
		c := connect(t, w.gateway.URL(), modern)
		body := `{"jsonrpc":"2.0","id":7,"error":{"code":` + want + `,"message":"not \"approved\"","data":{"code":"changed","n":1000.0}}}`
		wantBody(t, c.call("tools/call", `{"name":"a"}`), 200, body)
		wantBody(t, c.call("tools/list", `{}`), 200, body)
		if got := len(w.up.requests("tools/call")) + len(w.up.requests("tools/list")); got != 0 {
			t.Errorf("%v: the upstream was asked %d times", code, got)
		}
	}
}

func TestDetailsThatDoNotParseAreDropped(t *testing.T) {
	w := newWorld(t, nil)
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		return denyRequest(extmcp.AuthorizationError_PERMISSION_DENIED, "no", `{`), nil
	})
	wantBody(t, connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`), 200, rpcError(-32001, "no"))
}

func TestDenialsOfResponsesAreEvents(t *testing.T) {
	w := newWorld(t, nil)
	client := connect(t, w.gateway.URL(), legacy)
	w.onResponse(func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
		return denyResponse(extmcp.AuthorizationError_PERMISSION_DENIED, "no"), nil
	})
	wantEvent(t, client.call("tools/list", `{}`), rpcError(-32001, "no"))
	wantEvent(t, client.call("tools/call", `{"name":"a"}`), rpcError(-32001, "no"))
	if len(w.up.requests("tools/call")) != 1 {
		t.Error("the call did not run before its response was denied")
	}
	w.onResponse(nil)
	wantEvent(t, client.call("tools/call", `{"name":"a"}`), result(calledResult)) // the session lives
}

func TestOutages(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := newWorld(t, func(c *gatewaydouble.Config) { c.Processors[0].FailOpen = open })
		c := connect(t, w.gateway.URL(), modern)
		w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
			return nil, status.Error(codes.PermissionDenied, "a status is no denial")
		})
		want := result(calledResult)
		if open {
			wantEvent(t, c.call("tools/call", `{"name":"a"}`), want)
		} else {
			wantBody(t, c.call("tools/call", `{"name":"a"}`), 200, rpcError(-32603, "mcpGuardrails checkRequest failed: a status is no denial"))
			want = rpcError(-32603, "mcpGuardrails checkResponse failed: out")
		}
		w.onRequest(nil)
		w.onResponse(func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
			return nil, status.Error(codes.Internal, "out")
		})
		wantEvent(t, c.call("tools/call", `{"name":"a"}`), want)
	}
}

func TestATimeoutIsAnOutage(t *testing.T) {
	w := newWorld(t, func(c *gatewaydouble.Config) { c.Processors[0].Timeout = 50 * time.Millisecond })
	w.onRequest(func(ctx context.Context, _ *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		<-ctx.Done() // the caller's cancellation arrives as the stream's reset
		return nil, ctx.Err()
	})
	r := connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`)
	if r.status != 200 || !strings.Contains(r.last(), `"code":-32603,"message":"mcpGuardrails checkRequest failed: `) {
		t.Errorf("got HTTP %d %s", r.status, r.last())
	}
}

func TestProtocolViolations(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := newWorld(t, func(c *gatewaydouble.Config) { c.Processors[0].FailOpen = open })
		c := connect(t, w.gateway.URL(), modern)
		check := func(name string, r reply) {
			t.Helper()
			failed := strings.Contains(r.last(), `"code":-32603,"message":"mcpGuardrails protocol violation: `)
			if passed := r.last() == result(calledResult); failed == open || passed != open {
				t.Errorf("%s, fail open %v: got %s", name, open, r.last())
			}
		}
		for name, answer := range map[string]*extmcp.McpRequestResult{
			"no result":       {},
			"not JSON":        {Result: &extmcp.McpRequestResult_Mutated{Mutated: []byte(`{`)}},
			"not the params":  {Result: &extmcp.McpRequestResult_Mutated{Mutated: []byte(`{"arguments":{}}`)}},
			"wrong arguments": {Result: &extmcp.McpRequestResult_Mutated{Mutated: []byte(`{"name":"a","arguments":[]}`)}},
		} {
			w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) { return answer, nil })
			check(name, c.call("tools/call", `{"name":"a"}`))
		}
		w.onRequest(nil)
		for name, answer := range map[string]*extmcp.McpResponseResult{
			"no result": {}, "not JSON": mutateResponse(`{`),
		} {
			w.onResponse(func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) { return answer, nil })
			check(name, c.call("tools/call", `{"name":"a"}`))
		}
	}
}

func TestAMutatedRequestGoesUpstream(t *testing.T) {
	w := newWorld(t, nil)
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Mutated{Mutated: []byte(`{"name":"b","arguments":{"x":1},"y":2}`)}}, nil
	})
	connect(t, w.gateway.URL(), modern).call("tools/call", `{"_meta":{"k":1},"name":"a"}`)
	want := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"k":1},"name":"b","arguments":{"x":1}}}`
	if got := w.up.requests("tools/call")[0].body; got != want {
		t.Errorf("the upstream got %s, want %s", got, want)
	}
}

func TestAuthorizationLooksAtTheOriginalNameAfterTheHook(t *testing.T) {
	w := newWorld(t, func(c *gatewaydouble.Config) { c.AllowTools = []string{"a"} })
	c := connect(t, w.gateway.URL(), modern)
	wantBody(t, c.call("tools/call", `{"name":"b"}`), 400, rpcError(-32602, "Unknown tool: b"))
	if requests, _ := w.guard.asked(); !cmp.Equal(requests, []string{"tools/call"}) {
		t.Errorf("the hook was asked about %v, want the denied call", requests)
	}
	w.onRequest(func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Mutated{Mutated: []byte(`{"name":"b"}`)}}, nil
	})
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(calledResult)) // the rewritten name is not asked about again
}

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
	if in := w.guard.lastRequest(t); in.MetadataContext != nil {
		t.Errorf("got %v", in.MetadataContext)
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

func TestUpstreamErrorsSkipTheResponseHook(t *testing.T) {
	w := newWorld(t, nil)
	failure := `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"busy","data":{"n":1e3}}}`
	w.up.set("tools/call", failure)
	w.up.set("tools/list", failure)
	c := connect(t, w.gateway.URL(), modern)
	want := strings.Replace(failure, "1e3", "1000.0", 1)
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), want)
	wantEvent(t, c.call("tools/list", `{}`), want)
	if _, responses := w.guard.asked(); len(responses) != 0 {
		t.Errorf("the response hook was asked about %v", responses)
	}
}

func TestTheSecretIsABearerToken(t *testing.T) {
	secrets := make(chan []string, 4)
	g := newGuard(t, grpc.UnaryInterceptor(func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		secrets <- append(md.Get("authorization"), md.Get(":authority")...)
		return handler(ctx, in)
	}))
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
		t.Fatal(errors.New("not JSON"))
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
