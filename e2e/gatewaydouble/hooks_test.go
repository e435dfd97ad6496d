package gatewaydouble_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
