package gatewaydouble_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/extmcp"
)

// sdkServer serves one tool with the official SDK, with sessions or without.
func sdkServer(t *testing.T, stateless bool) (*mcp.Server, string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{Instructions: "Be kind."})
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return server, web.URL
}

// sdkConnect connects the official client to a gateway in front of the targets.
func sdkConnect(t *testing.T, config gatewaydouble.Config, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	front, err := gatewaydouble.Start(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := front.Close(); err != nil {
			t.Error(err)
		}
	})
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, options)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: front.URL(), HTTPClient: web}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// The newest version needs a server without sessions; with one that has them the
// SDK falls back to initialize by itself, through the gateway.
func TestTheOfficialClientAndServer(t *testing.T) {
	for name, c := range map[string]struct {
		stateless bool
		prefix    gatewaydouble.PrefixMode
		tool      string
	}{
		"with sessions":       {false, gatewaydouble.PrefixConditional, "echo"},
		"without":             {true, gatewaydouble.PrefixConditional, "echo"},
		"prefixed":            {true, gatewaydouble.PrefixAlways, "sdk_echo"},
		"prefixed, with them": {false, gatewaydouble.PrefixAlways, "sdk_echo"},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := sdkServer(t, c.stateless)
			guard := newGuard(t)
			session := sdkConnect(t, gatewaydouble.Config{
				Targets:    []gatewaydouble.Target{{Name: "sdk", URL: url}},
				PrefixMode: c.prefix,
				Processors: []gatewaydouble.Processor{guard.processor(everything())},
			}, nil)
			want := map[bool]string{false: legacy, true: modern}[c.stateless]
			if got := session.InitializeResult(); got.ProtocolVersion != want || got.Instructions != "Be kind." {
				t.Errorf("connected with %s and %q, want %s", got.ProtocolVersion, got.Instructions, want)
			}
			tools, err := session.ListTools(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(tools.Tools) != 1 || tools.Tools[0].Name != c.tool {
				t.Errorf("got the tools %v", tools.Tools)
			}
			answer, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: c.tool, Arguments: map[string]any{"x": 1}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]mcp.Content{&mcp.TextContent{Text: `{"x":1}`}}, answer.Content); diff != "" {
				t.Error(diff)
			}

			guard.mu.Lock()
			guard.onRequest = func(context.Context, *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
				return denyRequest(extmcp.AuthorizationError_PERMISSION_DENIED, "not approved", ""), nil
			}
			guard.mu.Unlock()
			if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: c.tool}); err == nil {
				t.Error("a denied call succeeded")
			}
			if in := guard.lastRequest(t); in.GetMethod() != "tools/call" || string(in.GetMcpRequest()) != `{"name":"echo","arguments":{}}` {
				t.Errorf("the hook saw %s %s", in.GetMethod(), in.GetMcpRequest())
			}
		})
	}
}

func TestTheOfficialClientHearsOfChanges(t *testing.T) {
	server, url := sdkServer(t, false)
	changed := make(chan struct{}, 8)
	session := sdkConnect(t, gatewaydouble.Config{Targets: []gatewaydouble.Target{{Name: "sdk", URL: url}}}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	if _, err := session.ListTools(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	server.AddTool(&mcp.Tool{Name: "more", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	<-changed
	tools, err := session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tools.Tools) != 2 {
		t.Errorf("got %d tools, want 2", len(tools.Tools))
	}
}
