package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"
)

func start(t *testing.T, opts upstream.Options) *upstream.Server {
	t.Helper()
	s := upstream.New(opts)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if _, err := s.Start(context.Background(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return s
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the condition never came true")
		}
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}`

// post sends one request of the 2026-07-28 era and returns status and body.
// params are members to go before _meta, each with a comma after it; mend
// changes the HTTP request.
func post(t *testing.T, s *upstream.Server, method, params string, mend ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, modernMeta)
	return postRaw(t, s, body, append([]func(*http.Request){func(r *http.Request) {
		r.Header.Set("MCP-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
	}}, mend...)...)
}

func postRaw(t *testing.T, s *upstream.Server, body string, mend ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, f := range mend {
		f(req)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(data)
}

// page is one answer to tools/list.
type page struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor *string           `json:"nextCursor"`
	TTL        *int              `json:"ttlMs"`
	CacheScope string            `json:"cacheScope"`
	ResultType string            `json:"resultType"`
}

func (p page) names(t *testing.T) []string {
	t.Helper()
	names := []string{}
	for _, raw := range p.Tools {
		var d struct{ Name string }
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Name)
	}
	return names
}

func (p page) tool(t *testing.T, name string) string {
	t.Helper()
	for i, n := range p.names(t) {
		if n == name {
			return string(p.Tools[i])
		}
	}
	t.Fatalf("no tool %q in %s", name, p.Tools)
	return ""
}

func list(t *testing.T, s *upstream.Server, cursor string) page {
	t.Helper()
	params := ""
	if cursor != "" {
		params = fmt.Sprintf(`"cursor":%q,`, cursor)
	}
	resp, body := post(t, s, "tools/list", params)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("tools/list: %s: %s", resp.Status, body)
	}
	var m struct {
		Result page
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Error != nil {
		t.Fatalf("tools/list: %v: %s", err, body)
	}
	return m.Result
}

func errorCode(t *testing.T, body string) int {
	t.Helper()
	var m struct{ Error *struct{ Code int } }
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Error == nil {
		t.Fatalf("no JSON-RPC error in %q (%v)", body, err)
	}
	return m.Error.Code
}

func TestModernHeaders(t *testing.T) {
	s := start(t, upstream.Options{})
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if value == "" {
				r.Header.Del(name)
				return
			}
			r.Header.Set(name, value)
		}
	}
	for _, tc := range []struct {
		name   string
		method string
		params string
		mend   func(*http.Request)
		status int
		code   int
	}{
		{"no version header", "tools/list", "", set("MCP-Protocol-Version", ""), 400, -32020},
		{"another version header", "tools/list", "", set("MCP-Protocol-Version", "2025-11-25"), 400, -32020},
		{"no method header", "tools/list", "", set("Mcp-Method", ""), 400, -32020},
		{"another method header", "tools/list", "", set("Mcp-Method", "ping"), 400, -32020},
		{"no name header", "tools/call", `"name":"echo",`, set("Mcp-Name", ""), 400, -32020},
		{"unknown method", "tools/peel", "", nil, 404, -32601},
		{"initialize is of the other era", "initialize", "", nil, 404, -32601},
		{"unknown cursor", "tools/list", `"cursor":"else",`, nil, 400, -32602},
		{"unknown tool", "tools/call", `"name":"else",`, set("Mcp-Name", "else"), 400, -32602},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.mend == nil {
				tc.mend = func(*http.Request) {}
			}
			resp, body := post(t, s, tc.method, tc.params, tc.mend)
			if got := errorCode(t, body); resp.StatusCode != tc.status || got != tc.code {
				t.Errorf("got %d and %d, want %d and %d", resp.StatusCode, got, tc.status, tc.code)
			}
		})
	}
	t.Run("a version of the future", func(t *testing.T) {
		body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}}`
		resp, out := postRaw(t, s, body, set("MCP-Protocol-Version", "2027-01-01"), set("Mcp-Method", "server/discover"))
		if resp.StatusCode != 400 || errorCode(t, out) != -32022 || !strings.Contains(out, `"supported":["2026-07-28"`) {
			t.Errorf("got %s: %s", resp.Status, out)
		}
	})
}

func TestModernResult(t *testing.T) {
	s := start(t, upstream.Options{})
	a, b := list(t, s, ""), list(t, s, "")
	if a.ResultType != "complete" || a.CacheScope != "private" || a.TTL == nil {
		t.Errorf("result members missing: %+v", a)
	}
	if b.TTL == nil || *a.TTL == *b.TTL {
		t.Error("ttlMs is the same twice; a client that hashes it would not show")
	}
}

// legacy is a client of the initialize era that does only what it is told.
type legacy struct {
	t       *testing.T
	s       *upstream.Server
	session string
	version string
}

func (l *legacy) send(body string) (*http.Response, string) {
	l.t.Helper()
	resp, out := postRaw(l.t, l.s, body, func(r *http.Request) {
		if l.session != "" {
			r.Header.Set("Mcp-Session-Id", l.session)
		}
		if l.version != "" {
			r.Header.Set("MCP-Protocol-Version", l.version)
		}
	})
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		l.session = id
	}
	return resp, out
}

const (
	initBody        = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listBody        = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
)

func TestLegacySession(t *testing.T) {
	s := start(t, upstream.Options{RequireVersionHeader: true})
	l := &legacy{t: t, s: s}
	if resp, _ := l.send(listBody); resp.StatusCode != 400 {
		t.Errorf("without a session: %s, want 400", resp.Status)
	}
	l.session = "made-up"
	if resp, _ := l.send(listBody); resp.StatusCode != 404 {
		t.Errorf("with an unknown session: %s, want 404", resp.Status)
	}
	l.session = ""
	resp, body := l.send(initBody)
	if resp.StatusCode != 200 || l.session == "" || !strings.Contains(body, `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("initialize: %s: %s", resp.Status, body)
	}
	if resp, _ := l.send(listBody); resp.StatusCode != 400 {
		t.Errorf("without the version header: %s, want 400", resp.Status)
	}
	l.version = "2025-11-25"
	if resp, _ := l.send(listBody); resp.StatusCode != 400 {
		t.Errorf("with another version than agreed: %s, want 400", resp.Status)
	}
	l.version = "2025-06-18"
	// Group 31 of real servers: a list that races initialisation.
	if _, body := l.send(listBody); errorCode(t, body) != -32600 {
		t.Errorf("before notifications/initialized: %s", body)
	}
	if resp, _ := l.send(initializedBody); resp.StatusCode != 202 {
		t.Errorf("initialized: %s, want 202", resp.Status)
	}
	_, body = l.send(listBody)
	if !strings.Contains(body, `"wipe_database"`) || strings.Contains(body, "ttlMs") || strings.Contains(body, "resultType") {
		t.Errorf("tools/list = %s", body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", l.session)
	del, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	del.Body.Close()
	if s.Sessions() != 0 {
		t.Errorf("%d sessions after DELETE, want 0", s.Sessions())
	}
}

func TestEras(t *testing.T) {
	s := start(t, upstream.Options{NoDiscover: true})
	if resp, body := post(t, s, "server/discover", ""); resp.StatusCode != 400 || errorCode(t, body) != -32000 {
		t.Errorf("discover of a server without it: %s: %s", resp.Status, body)
	}
	s.Eras(true, false)
	if resp, body := post(t, s, "server/discover", ""); resp.StatusCode != 200 || !strings.Contains(body, `"supportedVersions":["2026-07-28"]`) {
		t.Errorf("discover: %s: %s", resp.Status, body)
	}
	if _, body := postRaw(t, s, initBody); errorCode(t, body) != -32022 {
		t.Errorf("initialize of a server without it: %s", body)
	}
}

func TestBadRequests(t *testing.T) {
	s := start(t, upstream.Options{})
	for _, tc := range []struct {
		name, body string
		mend       func(*http.Request)
		status     int
	}{
		{"batch", "[" + listBody + "]", nil, 400},
		{"not JSON", "{", nil, 400},
		{"too large", `"` + strings.Repeat("x", 4<<20) + `"`, nil, 413},
		{"content type", listBody, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"accept", listBody, func(r *http.Request) { r.Header.Set("Accept", "application/json") }, 406},
		{"method", listBody, func(r *http.Request) { r.Method = http.MethodPut }, 405},
		{"path", listBody, func(r *http.Request) { r.URL.Path = "/else" }, 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mend := tc.mend
			if mend == nil {
				mend = func(*http.Request) {}
			}
			if resp, body := postRaw(t, s, tc.body, mend); resp.StatusCode != tc.status {
				t.Errorf("got %s (%s), want %d", resp.Status, body, tc.status)
			}
		})
	}
}

func TestStartRefusesOtherInterfaces(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:80", "127.0.0.1"} {
		s := upstream.New(upstream.Options{})
		if url, err := s.Start(t.Context(), addr); err == nil {
			t.Errorf("Start(%q) = %q, want an error", addr, url)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// stdio sends lines and returns what came back, by line.
func stdio(t *testing.T, s *upstream.Server, lines ...string) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	err := s.ServeStdio(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), &out)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), err
}
