package upstream_test

import (
	"context"
	"io"
	"testing"

	"agentgateway-lock/cmd/mockupstream/upstream"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pipe is a client transport to ServeStdio in this process.
func pipe(t *testing.T, s *upstream.Server) mcp.Transport {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeStdio(context.Background(), toServer, fromServer)
		_ = fromServer.Close()
	}()
	t.Cleanup(func() {
		_ = fromClient.Close()
		_ = toClient.Close()
		<-done
	})
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}
}

// The official SDK's client is the judge of the wire: each transport, each era.
func TestSDKClient(t *testing.T) {
	for _, tc := range []struct {
		name    string
		opts    upstream.Options
		pinned  string
		version string
	}{
		{"both eras", upstream.Options{}, "", "2026-07-28"},
		{"streamed", upstream.Options{Stream: true}, "", "2026-07-28"},
		{"initialize alone", upstream.Options{NoDiscover: true}, "", "2025-11-25"},
		{"initialize streamed, header required", upstream.Options{NoDiscover: true, Stream: true, RequireVersionHeader: true}, "", "2025-11-25"},
		{"discover alone", upstream.Options{NoInitialize: true}, "", "2026-07-28"},
		{"2025-06-18", upstream.Options{}, "2025-06-18", "2025-06-18"},
		{"2024-11-05", upstream.Options{}, "2024-11-05", "2024-11-05"},
	} {
		for _, transport := range []string{"http", "sse", "stdio"} {
			t.Run(tc.name+"/"+transport, func(t *testing.T) {
				s := start(t, tc.opts)
				via := map[string]func() mcp.Transport{
					"http":  func() mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: s.URL()} },
					"sse":   func() mcp.Transport { return &mcp.SSEClientTransport{Endpoint: s.SSEURL()} },
					"stdio": func() mcp.Transport { return pipe(t, s) },
				}[transport]()
				tryClient(t, s, via, tc.pinned, tc.version)
			})
		}
	}
}

func tryClient(t *testing.T, s *upstream.Server, via mcp.Transport, pinned, version string) {
	t.Helper()
	ctx := t.Context()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	ses, err := c.Connect(ctx, via, &mcp.ClientSessionOptions{ProtocolVersion: pinned})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = ses.Close() }()
	init := ses.InitializeResult()
	if init.ProtocolVersion != version {
		t.Errorf("version = %q, want %q", init.ProtocolVersion, version)
	}
	if init.Instructions != upstream.DefaultSurface().Instructions {
		t.Errorf("instructions = %q", init.Instructions)
	}
	tools, err := ses.ListTools(ctx, nil)
	if err != nil {
		t.Fatalf("tools/list: %v", err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"echo", "add", "wipe_database"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	res, err := ses.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 40}})
	if err != nil {
		t.Fatalf("tools/call: %v", err)
	}
	if got := res.Content[0].(*mcp.TextContent).Text; got != "42" {
		t.Errorf("add = %q, want 42", got)
	}
	if got := s.Calls("add"); got != 1 {
		t.Errorf("Calls = %d, want 1", got)
	}
	prompt, err := ses.GetPrompt(ctx, &mcp.GetPromptParams{Name: "summarize", Arguments: map[string]string{"text": "a book"}})
	if err != nil {
		t.Fatalf("prompts/get: %v", err)
	}
	if got := prompt.Messages[0].Content.(*mcp.TextContent).Text; got != "Summarize: a book" {
		t.Errorf("prompt = %q", got)
	}
	for _, uri := range []string{"mock://readme", "mock://notes/7"} {
		if _, err := ses.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil {
			t.Errorf("resources/read %s: %v", uri, err)
		}
	}
	if _, err := ses.ReadResource(ctx, &mcp.ReadResourceParams{URI: "mock://else"}); err == nil {
		t.Error("an unknown resource was read")
	}
	templates, err := ses.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 1 {
		t.Errorf("templates = %v, %v", templates, err)
	}
	resources, err := ses.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) != 1 {
		t.Errorf("resources = %v, %v", resources, err)
	}
	prompts, err := ses.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) != 1 {
		t.Errorf("prompts = %v, %v", prompts, err)
	}
}

func TestNotifyListChanged(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		for _, transport := range []string{"http", "stdio"} {
			t.Run(version+"/"+transport, func(t *testing.T) {
				s := start(t, upstream.Options{})
				var via mcp.Transport = &mcp.StreamableClientTransport{Endpoint: s.URL()}
				if transport == "stdio" {
					via = pipe(t, s)
				}
				heard := make(chan struct{}, 8)
				c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, &mcp.ClientOptions{
					ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} },
				})
				ses, err := c.Connect(t.Context(), via, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = ses.Close() }()
				// The stream may open after Connect returns: send until one is heard.
				waitFor(t, func() bool {
					s.NotifyListChanged()
					select {
					case <-heard:
						return true
					default:
						return false
					}
				})
			})
		}
	}
}
