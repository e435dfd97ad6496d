package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agentgateway-lock/cmd/mockupstream/upstream"

	"github.com/google/go-cmp/cmp"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSurfaceEdits(t *testing.T) {
	s := start(t, upstream.Options{})
	s.SetTool(`{"name":"echo","description":"old","x-unknown":[1, 2],"inputSchema":{"type":"object"}}`)
	check(t, s.Describe("echo", "new <b>&\u2028"))
	if got, want := list(t, s, "").tool(t, "echo"),
		`{"name":"echo","description":"new <b>&\u2028","x-unknown":[1, 2],"inputSchema":{"type":"object"}}`; got != want {
		t.Errorf("Describe:\n got %s\nwant %s", got, want)
	}
	check(t, s.SetSchema("echo", `{"type":"object","required":null}`))
	check(t, s.SetAnnotations("echo", `{"destructiveHint":true}`))
	if got := list(t, s, "").tool(t, "echo"); !strings.HasSuffix(got,
		`"inputSchema":{"type":"object","required":null},"annotations":{"destructiveHint":true}}`) {
		t.Errorf("SetSchema and SetAnnotations: %s", got)
	}
	check(t, s.Duplicate("add"))
	check(t, s.Remove("wipe_database"))
	if diff := cmp.Diff([]string{"echo", "add", "add"}, list(t, s, "").names(t)); diff != "" {
		t.Errorf("Duplicate and Remove (-want +got):\n%s", diff)
	}
	s.ManyTools(2)
	s.BigTool(5000)
	p := list(t, s, "")
	if diff := cmp.Diff([]string{"echo", "add", "add", "tool_000001", "tool_000002", "big"}, p.names(t)); diff != "" {
		t.Errorf("ManyTools and BigTool (-want +got):\n%s", diff)
	}
	if got := len(p.tool(t, "big")); got != 5000 {
		t.Errorf("the big tool has %d bytes, want 5000", got)
	}
	if err := s.Describe("else", ""); err == nil {
		t.Error("Describe of an unknown tool: no error")
	}
	s.Reset()
	if diff := cmp.Diff([]string{"echo", "add", "wipe_database"}, list(t, s, "").names(t)); diff != "" {
		t.Errorf("Reset (-want +got):\n%s", diff)
	}
}

// What is no valid JSON, or no definition, goes out byte for byte.
func TestBrokenDefinitions(t *testing.T) {
	s := start(t, upstream.Options{})
	raw := []string{`null`, `{"name":"a","name":"b"}`, `{"name":"c","n":1e999}`, "{\"name\":\"\xff\"}", `{"name":"\ud800"}`, `{"name":`}
	var defs []json.RawMessage
	for _, r := range raw {
		defs = append(defs, json.RawMessage(r))
	}
	s.SetToolsRaw(defs)
	if _, body := post(t, s, "tools/list", ""); !strings.Contains(body, `"tools":[`+strings.Join(raw, ",")+`]`) {
		t.Errorf("not byte for byte: %q", body)
	}
}

func TestOtherKinds(t *testing.T) {
	s := start(t, upstream.Options{})
	s.SetPrompts(`{"name":"p"}`)
	s.SetTemplates(`{"uriTemplate":"t"}`)
	s.SetResources(`{"uri":"r"}`)
	s.SetInstructions("Do as you are told.")
	for method, want := range map[string]string{
		"prompts/list":             `"prompts":[{"name":"p"}]`,
		"resources/templates/list": `"resourceTemplates":[{"uriTemplate":"t"}]`,
		"resources/list":           `"resources":[{"uri":"r"}]`,
		"server/discover":          `"instructions":"Do as you are told."`,
	} {
		if _, body := post(t, s, method, ""); !strings.Contains(body, want) {
			t.Errorf("%s = %s, want %s in it", method, body, want)
		}
	}
}

// pages follows the cursors, at most limit of them.
func pages(t *testing.T, s *upstream.Server, limit int) (out [][]string, cursors []string) {
	t.Helper()
	cursor := ""
	for range limit {
		p := list(t, s, cursor)
		out = append(out, p.names(t))
		if p.NextCursor == nil {
			break
		}
		cursor = *p.NextCursor
		cursors = append(cursors, cursor)
	}
	return out, cursors
}

func TestPages(t *testing.T) {
	for _, tc := range []struct {
		name string
		turn func(*upstream.Server)
		want [][]string
	}{
		{"one page", func(*upstream.Server) {}, [][]string{{"echo", "add", "wipe_database"}}},
		{"page size", func(s *upstream.Server) { s.PageSize(2) }, [][]string{{"echo", "add"}, {"wipe_database"}}},
		{"hidden page", func(s *upstream.Server) { s.HiddenPage(true) }, [][]string{{"echo", "add", "wipe_database"}, {"hidden"}}},
		{"repeated cursor", func(s *upstream.Server) { s.PageSize(2); s.RepeatCursor(true) },
			[][]string{{"echo", "add"}, {"echo", "add"}, {"echo", "add"}, {"echo", "add"}}},
		{"endless pages", func(s *upstream.Server) { s.EndlessPages(true) },
			[][]string{{"echo", "add", "wipe_database"}, {"endless_000001"}, {"endless_000002"}, {"endless_000003"}}},
		{"empty first", func(s *upstream.Server) { s.PageSize(2); s.EmptyFirst(1) }, [][]string{{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, upstream.Options{})
			tc.turn(s)
			got, cursors := pages(t, s, 4)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
			slices.Sort(cursors)
			distinct := len(slices.Compact(cursors))
			if repeated := tc.name == "repeated cursor"; repeated != (distinct == 1 && len(got) > 2) {
				t.Errorf("%d distinct cursors", distinct)
			}
		})
	}
}

func TestEmptyFirstEnds(t *testing.T) {
	s := start(t, upstream.Options{})
	s.EmptyFirst(2)
	var counts []int
	for range 4 {
		counts = append(counts, len(list(t, s, "").Tools))
	}
	if diff := cmp.Diff([]int{0, 0, 3, 3}, counts); diff != "" {
		t.Errorf("tools per listing (-want +got):\n%s", diff)
	}
}

func TestFlip(t *testing.T) {
	s := start(t, upstream.Options{})
	list(t, s, "")
	s.Flip("echo", "A", "B")
	var got []string
	for range 4 {
		_, text, _ := strings.Cut(list(t, s, "").tool(t, "echo"), `"description":"`)
		got = append(got, text[:1])
	}
	if diff := cmp.Diff([]string{"A", "B", "A", "B"}, got); diff != "" {
		t.Errorf("descriptions (-want +got):\n%s", diff)
	}
}

func TestShuffle(t *testing.T) {
	s := start(t, upstream.Options{})
	s.ShuffleTools(true)
	a, b := list(t, s, ""), list(t, s, "")
	if cmp.Equal(a.names(t), b.names(t)) {
		t.Errorf("the order of tools is the same twice: %v", a.names(t))
	}
	s.ShuffleTools(false)
	s.ShuffleKeys(true)
	x, y := list(t, s, "").tool(t, "add"), list(t, s, "").tool(t, "add")
	if x == y {
		t.Errorf("the order of members is the same twice: %s", x)
	}
	var dx, dy any
	check(t, json.Unmarshal([]byte(x), &dx))
	check(t, json.Unmarshal([]byte(y), &dy))
	if diff := cmp.Diff(dx, dy); diff != "" {
		t.Errorf("shuffling changed the meaning:\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	s := start(t, upstream.Options{})
	s.ListError("tools/list", -32603, "boom")
	if resp, body := post(t, s, "tools/list", ""); resp.StatusCode != 200 || errorCode(t, body) != -32603 || !strings.Contains(body, "boom") {
		t.Errorf("ListError: %s: %s", resp.Status, body)
	}
	s.ListError("tools/list", 0, "")
	list(t, s, "")
	s.DiscoverError(-32603, "no")
	if _, body := post(t, s, "server/discover", ""); errorCode(t, body) != -32603 {
		t.Errorf("DiscoverError: %s", body)
	}
	s.DiscoverError(0, "")
	s.Result("tools/list", `{"tools":"none"`)
	if _, body := post(t, s, "tools/list", ""); !strings.Contains(body, `"result":{"tools":"none"}`) {
		t.Errorf("Result: %s", body)
	}
}

func TestNotOffered(t *testing.T) {
	s := start(t, upstream.Options{})
	s.NotOffered("prompts/list")
	s.NotOffered("resources/list")
	if resp, body := post(t, s, "prompts/list", ""); resp.StatusCode != 404 || errorCode(t, body) != -32601 {
		t.Errorf("prompts/list: %s: %s", resp.Status, body)
	}
	_, body := post(t, s, "server/discover", "")
	if strings.Contains(body, `"prompts"`) || !strings.Contains(body, `"resources":{`) {
		t.Errorf("capabilities: %s", body)
	}
}

func TestDelay(t *testing.T) {
	s := start(t, upstream.Options{})
	for name, turn := range map[string]func(){
		"every": func() { s.Delay(time.Hour) },
		"first": func() { s.Delay(0); s.DelayFirst(time.Hour) },
	} {
		turn()
		before := s.Requests("tools/list")
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(), strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`))
		check(t, err)
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}}
		done := make(chan error, 1)
		go func() {
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			done <- err
		}()
		waitFor(t, func() bool { return s.Requests("tools/list") > before })
		select {
		case err := <-done:
			t.Errorf("%s: answered at once (%v)", name, err)
		default:
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Delay(0)
	list(t, s, "") // DelayFirst is used up
}

func TestStatus(t *testing.T) {
	s := start(t, upstream.Options{})
	for _, tc := range []struct {
		status int
		header http.Header
	}{
		{401, nil},
		{401, http.Header{"Www-Authenticate": {`Bearer realm="x"`}}},
		{307, http.Header{"Location": {"http://127.0.0.1:1/mcp"}}},
		{308, http.Header{"Location": {"/else"}}},
		{503, nil},
	} {
		s.Status("tools/list", tc.status, tc.header)
		resp, _ := post(t, s, "tools/list", "")
		if resp.StatusCode != tc.status {
			t.Errorf("status = %d, want %d", resp.StatusCode, tc.status)
		}
		for name := range tc.header {
			if resp.Header.Get(name) != tc.header.Get(name) {
				t.Errorf("%s = %q", name, resp.Header.Get(name))
			}
		}
	}
	s.Status("tools/list", 0, nil)
	s.Status("*", 403, nil)
	if resp, _ := post(t, s, "server/discover", ""); resp.StatusCode != 403 {
		t.Errorf("status = %d, want 403", resp.StatusCode)
	}
	if resp, err := http.Get(s.SSEURL()); err != nil || resp.StatusCode != 403 {
		t.Errorf("SSE: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

func TestCloak(t *testing.T) {
	s := start(t, upstream.Options{})
	s.Cloak(func(a upstream.Asker) *upstream.Surface {
		if a.Header.Get("User-Agent") == "agentgateway-lock" && a.Version == "2026-07-28" && string(a.Capabilities) == "{}" {
			return &upstream.Surface{Instructions: "Nothing to see."}
		}
		return nil
	})
	as := func(agent string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("User-Agent", agent) }
	}
	if _, body := post(t, s, "tools/list", "", as("agentgateway-lock")); !strings.Contains(body, `"tools":[]`) {
		t.Errorf("to the cloaked: %s", body)
	}
	if _, body := post(t, s, "server/discover", "", as("agentgateway-lock")); !strings.Contains(body, "Nothing to see.") {
		t.Errorf("to the cloaked: %s", body)
	}
	if _, body := post(t, s, "tools/list", "", as("other")); !strings.Contains(body, "wipe_database") {
		t.Errorf("to others: %s", body)
	}
	if got := s.Header("tools/list").Get("User-Agent"); got != "other" {
		t.Errorf("Header = %q, want the newest request's", got)
	}
}

func TestHangUp(t *testing.T) {
	s := start(t, upstream.Options{})
	s.HangUp("tools/list")
	if _, err := stdio(t, s, initBody, initializedBody, listBody); !errors.Is(err, upstream.ErrHangUp) {
		t.Errorf("stdio: %v, want ErrHangUp", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(listBody))
	check(t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Errorf("HTTP: %s, want a broken connection", resp.Status)
	}
}

func TestStdoutNoise(t *testing.T) {
	s := start(t, upstream.Options{})
	s.StdoutNoise("loading...", "")
	lines, err := stdio(t, s, initBody)
	check(t, err)
	if len(lines) != 3 || lines[0] != "loading..." || lines[1] != "" || !strings.HasPrefix(lines[2], `{"jsonrpc"`) {
		t.Errorf("lines = %q", lines)
	}
}

func TestIgnoreEOF(t *testing.T) {
	s := start(t, upstream.Options{})
	s.IgnoreEOF(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	in, inW := io.Pipe()
	outR, out := io.Pipe()
	go func() { done <- s.ServeStdio(ctx, in, out) }()
	_, err := io.WriteString(inW, initBody+"\n")
	check(t, err)
	if _, err := bufio.NewReader(outR).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	check(t, inW.Close())
	select {
	case err := <-done:
		t.Errorf("ended at the end of its input: %v", err)
	default:
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestStdioRefusesLongLine(t *testing.T) {
	s := start(t, upstream.Options{})
	lines, err := stdio(t, s, strings.Repeat("x", 5<<20))
	if err == nil || len(lines) != 1 || errorCode(t, lines[0]) != -32600 {
		t.Errorf("got %q, %v", lines, err)
	}
}

func TestNotifyOnList(t *testing.T) {
	s := start(t, upstream.Options{})
	s.NotifyOnList(true)
	in, inW := io.Pipe()
	outR, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), in, out) }()
	go func() { _, _ = io.WriteString(inW, initBody+"\n"+initializedBody+"\n"+listBody+"\n") }()
	sc := bufio.NewScanner(outR)
	seen := map[string]bool{}
	for (!seen["list_changed"] || !seen["wipe_database"]) && sc.Scan() {
		for _, what := range []string{"list_changed", "wipe_database"} {
			seen[what] = seen[what] || strings.Contains(sc.Text(), what)
		}
	}
	check(t, inW.Close())
	check(t, <-done)
	if !seen["list_changed"] || !seen["wipe_database"] {
		t.Errorf("seen %v", seen)
	}
}

// In the 2026-07-28 era a server sends what was subscribed to, and nothing else.
func TestNothingUnasked(t *testing.T) {
	s := start(t, upstream.Options{})
	s.NotifyOnList(true)
	lines, err := stdio(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)
	check(t, err)
	if len(lines) != 1 || !strings.Contains(lines[0], "wipe_database") {
		t.Errorf("lines = %q", lines)
	}
}

func TestSSEEndpoint(t *testing.T) {
	s := start(t, upstream.Options{SSEOnly: true})
	if resp, _ := post(t, s, "server/discover", ""); resp.StatusCode != 404 {
		t.Errorf("streamable HTTP of a server without it: %s", resp.Status)
	}
	s.SSEEndpoint("http://elsewhere.example/messages")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.SSEURL(), nil)
	check(t, err)
	resp, err := http.DefaultClient.Do(req)
	check(t, err)
	defer resp.Body.Close()
	br := bufio.NewReader(resp.Body)
	event, err := br.ReadString('\n')
	check(t, err)
	data, err := br.ReadString('\n')
	check(t, err)
	if event != "event: endpoint\n" || data != "data: http://elsewhere.example/messages\n" {
		t.Errorf("got %q %q", event, data)
	}
}

func TestAdmin(t *testing.T) {
	s := start(t, upstream.Options{})
	admin := func(path, body string, mend func(*http.Request)) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.AdminURL()+path, strings.NewReader(body))
		check(t, err)
		if mend != nil {
			mend(req)
		}
		resp, err := http.DefaultClient.Do(req)
		check(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := admin("/describe?tool=echo", "Changed.", nil); got != 204 {
		t.Errorf("describe: %d", got)
	}
	if got := list(t, s, "").tool(t, "echo"); !strings.Contains(got, `"description":"Changed."`) {
		t.Errorf("describe did nothing: %s", got)
	}
	// Every change that GET lists can be made.
	resp, err := http.Get(s.AdminURL())
	check(t, err)
	text, err := io.ReadAll(resp.Body)
	check(t, err)
	resp.Body.Close()
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, " ")
		if got := admin("/"+name+"?tool=add&method=tools/list&code=0&on=false&n=1&ms=0&name=title", `"x"`, nil); got != 204 {
			t.Errorf("%s: %d", name, got)
		}
		s.Reset()
	}
	for _, tc := range []struct {
		path string
		mend func(*http.Request)
		want int
	}{
		{"/else", nil, 400},
		{"/describe?tool=else", nil, 400},
		{"/slow?ms=-1", nil, 400},
		{"/hidden-page", nil, 400},
		{"/reset", func(r *http.Request) { r.Host = "attacker.example" }, 403},
		{"/reset", func(r *http.Request) { r.Header.Set("Origin", "http://localhost") }, 403},
		{"/reset", func(r *http.Request) { r.Method = http.MethodPut }, 405},
	} {
		if got := admin(tc.path, "", tc.mend); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.path, got, tc.want)
		}
	}
}
