package gatewaydouble_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/extmcp"
)

func TestInitializeOfOneTargetPassesThrough(t *testing.T) {
	w := newWorld(t, nil)
	w.up.set("initialize", `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"x":1e1}},"serverInfo":{"name":"u","version":"1","x":1},"instructions":"Be kind.","x":1}`)
	c := &client{t: t, url: w.gateway.URL(), version: legacy, header: http.Header{}}
	r := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{},"elicitation":{},"experimental":{}},"clientInfo":{"name":"c","version":"1"},"x":1}`)
	want := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"u","version":"1"},"instructions":"Be kind."}`
	wantEvent(t, r, result(want))
	if got := string(w.guard.lastResponse(t).GetMcpResponse()); got != want {
		t.Errorf("the hook saw %s", got)
	}
	asked := `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{}},"clientInfo":{"name":"c","version":"1"}}}`
	if got := w.up.requests("initialize")[0].body; got != asked {
		t.Errorf("the upstream got %s, want %s", got, asked)
	}
}

func TestAnInitializeOfAnotherFormFails(t *testing.T) {
	w := newWorld(t, nil)
	w.up.set("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"u"}}`)
	c := &client{t: t, url: w.gateway.URL(), version: legacy, header: http.Header{}}
	r := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	wantEvent(t, r, rpcError(-32603, "upstream returned a result incompatible with initialize"))
}

func TestInstructionsCanBeHooked(t *testing.T) {
	w := newWorld(t, nil)
	w.onResponse(func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
		return mutateResponse(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"u","version":"1"},"y":1}`), nil
	})
	c := &client{t: t, url: w.gateway.URL(), version: legacy, header: http.Header{}}
	r := c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	wantEvent(t, r, result(emptyInitialize))
}

func TestDiscoverOfOneTargetPassesThrough(t *testing.T) {
	w := newWorld(t, nil)
	want := `{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"Be kind.","ttlMs":0,"cacheScope":"private"}`
	wantEvent(t, connect(t, w.gateway.URL(), modern).call("server/discover", `{}`), result(want))
	if got := string(w.guard.lastResponse(t).GetMcpResponse()); got != want {
		t.Errorf("the hook saw %s", got)
	}
}

func TestMethodsOfTheOtherGeneration(t *testing.T) {
	w := newWorld(t, nil)
	c := connect(t, w.gateway.URL(), modern)
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"} {
		wantBody(t, c.call(method, `{}`), 404, rpcError(-32601, "unsupported method: "+method))
	}
	c = connect(t, w.gateway.URL(), legacy)
	wantBody(t, c.call("no/such", `{}`), 500, rpcError(-32603, "failed to send message: unsupported method: no/such"))
	if len(w.up.requests("no/such")) != 0 {
		t.Error("an unknown method was forwarded")
	}
}

func TestBadParams(t *testing.T) {
	w := newWorld(t, nil)
	for _, params := range []string{`{}`, `{"name":1}`, `{"name":"a","arguments":[]}`, `[]`, `{"name":"a","name":"b"}`} {
		if r := connect(t, w.gateway.URL(), modern).call("tools/call", params); r.status != 400 || !strings.Contains(r.last(), `"code":-32602`) {
			t.Errorf("%s: got HTTP %d %s", params, r.status, r.last())
		}
		if r := connect(t, w.gateway.URL(), legacy).call("tools/call", params); r.status != 500 || !strings.Contains(r.last(), `"code":-32603,"message":"failed to send message: `) {
			t.Errorf("%s: got HTTP %d %s", params, r.status, r.last())
		}
	}
	if requests, _ := w.guard.asked(); strings.Contains(strings.Join(requests, " "), "tools/call") {
		t.Error("the hook was asked about bad params")
	}
}

func TestHTTPRules(t *testing.T) {
	w := newWorld(t, nil)
	c := connect(t, w.gateway.URL(), legacy)
	send := func(body string, change func(*http.Request)) reply {
		r := c.request(http.MethodPost, strings.NewReader(body))
		change(r)
		return c.do(r)
	}
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`
	for name, got := range map[string]struct {
		reply
		want int
	}{
		"accept":          {send(call, func(r *http.Request) { r.Header.Set("Accept", "application/json") }), 406},
		"content type":    {send(call, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), 415},
		"batch":           {send(`[`+call+`]`, func(*http.Request) {}), 400},
		"not JSON":        {send(`{`, func(*http.Request) {}), 400},
		"version":         {send(call, func(r *http.Request) { r.Header.Set("MCP-Protocol-Version", "2030-01-01") }), 400},
		"no session":      {send(call, func(r *http.Request) { r.Header.Del("Mcp-Session-Id") }), 400},
		"unknown session": {send(call, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "x") }), 404},
		"another path":    {send(call, func(r *http.Request) { r.URL.Path = "/other" }), 404},
		"another method":  {send(call, func(r *http.Request) { r.Method = http.MethodPut }), 405},
		"too large":       {send(`"`+strings.Repeat("x", 2<<20)+`"`, func(*http.Request) {}), 413},
	} {
		if got.status != got.want {
			t.Errorf("%s: got HTTP %d %s, want %d", name, got.status, got.last(), got.want)
		}
		if name == "version" && !strings.Contains(got.last(), `"code":-32022`) {
			t.Errorf("%s: got %s", name, got.last())
		}
	}
}

func TestMessagesWithoutAUsableIDAreForwardedUnhooked(t *testing.T) {
	for _, version := range []string{legacy, modern} {
		for _, id := range []string{``, `"id":null,`, `"id":1.5,`, `"id":1.0,`, `"id":{},`, `"id":[1],`, `"id":true,`, `"id":-0,`} {
			w := newWorld(t, func(c *gatewaydouble.Config) { c.AllowTools = []string{} })
			c := connect(t, w.gateway.URL(), version)
			before, _ := w.guard.asked()
			r := c.post(`{"jsonrpc":"2.0",` + id + `"method":"tools/call","params":{"name":"denied","x":1}}`)
			if r.status != http.StatusAccepted {
				t.Fatalf("id %q: got HTTP %d", id, r.status)
			}
			want := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"denied","x":1}}`
			if got := w.up.requests("tools/call"); len(got) != 1 || got[0].body != want {
				t.Errorf("id %q: the upstream got %v", id, got)
			}
			if after, _ := w.guard.asked(); len(after) != len(before) {
				t.Errorf("id %q: the hook was asked", id)
			}
		}
	}
	w := newWorld(t, nil)
	c := connect(t, w.gateway.URL(), modern)
	for _, id := range []string{`"x"`, `0`, `-3`, `9223372036854775807`} {
		r := c.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"a"}}`)
		wantEvent(t, r, strings.Replace(result(calledResult), `"id":7`, `"id":`+id, 1))
	}
}

func TestSessionIDsAreEncodedUpstreamState(t *testing.T) {
	w := newWorld(t, nil)
	c := connect(t, w.gateway.URL(), legacy)
	data, err := base64.RawURLEncoding.DecodeString(c.session)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), `{"t":"mcp","s":[{"t":"files","s":"session-of-files"}]`) {
		t.Errorf("got %s", data)
	}
	c.call("tools/call", `{"name":"a"}`)
	if got := w.up.requests("tools/call")[0].header.Get("Mcp-Session-Id"); got != "session-of-files" {
		t.Errorf("the upstream got the session %q", got)
	}
	// A client can make one up.
	c.session = base64.RawURLEncoding.EncodeToString([]byte(`{"t":"mcp","s":[{"t":"files","s":"minted"}]}`))
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(calledResult))
	if got := w.up.requests("tools/call")[1].header.Get("Mcp-Session-Id"); got != "minted" {
		t.Errorf("the upstream got the session %q", got)
	}
	c.session = base64.RawURLEncoding.EncodeToString([]byte(`{"t":"mcp","s":[{"t":"other","s":"minted"}]}`))
	if r := c.call("tools/call", `{"name":"a"}`); r.status != 404 {
		t.Errorf("another target's session: HTTP %d", r.status)
	}
}

func TestSessionsEnd(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, func(c *gatewaydouble.Config) { c.Now = func() time.Time { return now } })
	c := connect(t, w.gateway.URL(), legacy)
	if r := c.do(c.request(http.MethodDelete, nil)); r.status != http.StatusAccepted {
		t.Fatalf("DELETE: HTTP %d", r.status)
	}
	if len(w.up.requests("DELETE")) != 1 {
		t.Error("the upstream's session was not ended")
	}
	if r := c.call("tools/call", `{"name":"a"}`); r.status != 404 {
		t.Errorf("after DELETE: HTTP %d", r.status)
	}

	c = connect(t, w.gateway.URL(), legacy)
	now = now.Add(30 * time.Minute)
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(calledResult))
	now = now.Add(30*time.Minute + time.Second)
	if r := c.call("tools/call", `{"name":"a"}`); r.status != 404 {
		t.Errorf("after the idle time: HTTP %d", r.status)
	}
}

func TestSessionsKeepTheProcessorsTheyBeganWith(t *testing.T) {
	second := newGuard(t)
	w := newWorld(t, nil)
	c := connect(t, w.gateway.URL(), legacy)
	next := w.config
	next.Processors = []gatewaydouble.Processor{second.processor(everything())}
	next.AllowTools = []string{"b"}
	if err := w.gateway.Reload(context.Background(), next); err != nil {
		t.Fatal(err)
	}
	wantEvent(t, c.call("tools/list", `{}`), result(`{"tools":[]}`)) // the authorization is refreshed
	if requests, _ := second.asked(); len(requests) != 0 {
		t.Errorf("the new processor was asked about %v in an old session", requests)
	}
	if in := w.guard.lastResponse(t); in.GetMethod() != "tools/list" {
		t.Errorf("the old processor was not asked: %v", in)
	}
	connect(t, w.gateway.URL(), legacy)
	connect(t, w.gateway.URL(), modern).call("tools/list", `{}`)
	if requests, _ := second.asked(); !cmp.Equal(requests, []string{"initialize", "tools/list"}) {
		t.Errorf("the new processor was asked about %v", requests)
	}
}

func TestABadReloadKeepsTheOldConfiguration(t *testing.T) {
	w := newWorld(t, nil)
	if err := w.gateway.Reload(context.Background(), gatewaydouble.Config{}); err == nil {
		t.Fatal("an empty configuration was taken")
	}
	wantEvent(t, connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`), result(calledResult))
}

func TestStatelessRequestsInitializeTheUpstreamFirst(t *testing.T) {
	w := newWorld(t, func(c *gatewaydouble.Config) { c.Stateless = true })
	c := connect(t, w.gateway.URL(), legacy)
	if c.session != "" {
		t.Errorf("got the session %s", c.session)
	}
	wantEvent(t, c.call("tools/call", `{"name":"a"}`), result(calledResult))
	requests, responses := w.guard.asked()
	if diff := cmp.Diff([]string{"initialize", "initialize", "tools/call"}, requests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"initialize", "tools/call"}, responses); diff != "" { // the own one's result is dropped
		t.Error(diff)
	}
	if got := w.up.requests("tools/call")[0].header.Get("Mcp-Session-Id"); got != "session-of-files" {
		t.Errorf("the upstream got the session %q", got)
	}
	if got := len(w.up.requests("notifications/initialized")); got != 1 {
		t.Errorf("the upstream was told %d times", got)
	}
}

// watch opens the standing stream and returns a function that reads an event.
func watch(t *testing.T, c *client) func() string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := c.request(http.MethodGet, nil).WithContext(ctx)
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
	})
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET: HTTP %d", response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	return func() string {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return text
			}
		}
		return ""
	}
}

func TestTheStandingStreamIsPassedOnUnhooked(t *testing.T) {
	w := newWorld(t, nil)
	c := connect(t, w.gateway.URL(), legacy)
	next := watch(t, c)
	before, after := w.guard.asked()
	changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	w.up.push <- changed
	if got := next(); got != changed {
		t.Errorf("got %s", got)
	}
	w.up.push <- `{"jsonrpc":"2.0","id":3,"method":"roots/list"}`
	if got, want := next(), `{"jsonrpc":"2.0","id":"agw_files_n_3","method":"roots/list"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if r := c.post(`{"jsonrpc":"2.0","id":"agw_files_n_3","result":{"roots":[]}}`); r.status != http.StatusAccepted {
		t.Errorf("reply: HTTP %d %s", r.status, r.last())
	}
	replies := w.up.requests("")
	if want := `{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}`; len(replies) != 1 || replies[0].body != want {
		t.Errorf("the upstream got %v, want %s", replies, want)
	}
	requests, responses := w.guard.asked()
	if len(requests) != len(before) || len(responses) != len(after) {
		t.Error("the processor was asked")
	}
}

func TestEventsBeforeAnAnswerAreStreamedUnhooked(t *testing.T) {
	progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`
	w := newWorld(t, nil)
	w.up.events = map[string][]string{"tools/call": {progress}}
	r := connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`)
	if diff := cmp.Diff([]string{progress, result(calledResult)}, r.messages); diff != "" {
		t.Error(diff)
	}
	if _, responses := w.guard.asked(); !cmp.Equal(responses, []string{"tools/call"}) {
		t.Errorf("the hook was asked about %v", responses)
	}
}

func TestAnUpstreamsHTTPErrorReachesTheClient(t *testing.T) {
	w := newWorld(t, nil)
	w.up.mu.Lock()
	w.up.status = http.StatusTeapot
	w.up.mu.Unlock()
	r := connect(t, w.gateway.URL(), modern).call("tools/call", `{"name":"a"}`)
	if r.status != http.StatusTeapot || r.last() != "broken" {
		t.Errorf("got HTTP %d %s", r.status, r.last())
	}
}
