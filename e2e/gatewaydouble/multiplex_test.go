package gatewaydouble_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/e2e/gatewaydouble"
)

func tool(name string) string { return `{"name":"` + name + `","inputSchema":{}}` }

// pair is two upstreams behind one double.
type pair struct {
	one, two *upstream
	guard    *guard
	gateway  *gatewaydouble.Gateway
}

func newPair(t *testing.T, change func(*gatewaydouble.Config)) *pair {
	t.Helper()
	results := map[string]string{
		"tools/list":               `{"tools":[` + tool("a") + `,` + tool("b_c") + `]}`,
		"prompts/list":             `{"prompts":[{"name":"p"}]}`,
		"resources/list":           `{"resources":[{"uri":"file:///a","name":"a"},{"uri":"ui://app/x","name":"x"},{"uri":"plain","name":"p"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"file:///{p}","name":"t"}]}`,
		"tools/call":               calledResult,
		"prompts/get":              `{"messages":[]}`,
		"resources/read":           `{"contents":[{"uri":"file:///a","text":"x"}]}`,
		"tasks/get":                `{"taskId":"9","status":"working"}`,
	}
	p := &pair{one: newUpstream(t, "one", results), two: newUpstream(t, "two", results), guard: newGuard(t)}
	config := gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{p.one.target(), p.two.target()},
		Processors: []gatewaydouble.Processor{p.guard.processor(everything())},
	}
	if change != nil {
		change(&config)
	}
	p.gateway = newDouble(t, config)
	return p
}

func TestMergedListsAreHookedOnceUnderTheClientsNames(t *testing.T) {
	p := newPair(t, nil)
	c := connect(t, p.gateway.URL(), modern)
	for method, want := range map[string]string{
		"tools/list":               `"tools":[` + tool("one_a") + `,` + tool("one_b_c") + `,` + tool("two_a") + `,` + tool("two_b_c") + `]}`,
		"prompts/list":             `"prompts":[{"name":"one_p"},{"name":"two_p"}]}`,
		"resources/list":           `"resources":[{"uri":"one+file:///a","name":"a"},{"uri":"ui://one+app/x","name":"x"},{"uri":"plain","name":"p"},{"uri":"two+file:///a","name":"a"},{"uri":"ui://two+app/x","name":"x"},{"uri":"plain","name":"p"}]}`,
		"resources/templates/list": `"resourceTemplates":[{"uriTemplate":"one+file:///{p}","name":"t"},{"uriTemplate":"two+file:///{p}","name":"t"}]}`,
	} {
		_, before := p.guard.asked()
		r := c.call(method, `{}`)
		in := p.guard.lastResponse(t)
		if got := string(in.GetMcpResponse()); !strings.HasSuffix(got, want) {
			t.Errorf("%s: the hook saw\n%s\nwant at its end\n%s", method, got, want)
		}
		if diff := cmp.Diff([]string{"one", "two"}, in.GetServiceNames()); diff != "" {
			t.Error(diff)
		}
		wantEvent(t, r, result(string(in.GetMcpResponse())))
		if _, after := p.guard.asked(); len(after) != len(before)+1 {
			t.Errorf("%s: the hook was asked %d times", method, len(after)-len(before))
		}
	}
}

func TestCallsGoToTheTargetOfTheirPrefix(t *testing.T) {
	p := newPair(t, nil)
	c := connect(t, p.gateway.URL(), modern)
	c.header.Set("Mcp-Name", "two_b_c")
	for _, call := range []struct{ method, params, native string }{
		{"tools/call", `{"name":"two_b_c"}`, `{"name":"b_c"}`},
		{"prompts/get", `{"name":"two_p"}`, `{"name":"p"}`},
		{"resources/read", `{"uri":"two+file:///a"}`, `{"uri":"file:///a"}`},
		{"resources/read", `{"uri":"ui://two+app/x"}`, `{"uri":"ui://app/x"}`},
	} {
		c.call(call.method, call.params)
		in := p.guard.lastRequest(t)
		if got := string(in.GetMcpRequest()); got != call.native {
			t.Errorf("%s: the hook saw %s, want %s", call.params, got, call.native)
		}
		if diff := cmp.Diff([]string{"two"}, in.GetServiceNames()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"two"}, p.guard.lastResponse(t).GetServiceNames()); diff != "" {
			t.Error(diff)
		}
	}
	if got := p.two.requests("tools/call")[0].header.Get("Mcp-Name"); got != "b_c" {
		t.Errorf("the upstream got the header Mcp-Name %q", got)
	}
	if len(p.one.requests("tools/call"))+len(p.one.requests("prompts/get"))+len(p.one.requests("resources/read")) != 0 {
		t.Error("the other target was asked")
	}
	wantEvent(t, c.call("resources/read", `{"uri":"two+file:///a"}`), result(`{"contents":[{"uri":"two+file:///a","text":"x"}]}`))
	wantEvent(t, c.call("tasks/get", `{"taskId":"two+9"}`), result(`{"taskId":"two+9","status":"working"}`))
	for _, params := range []string{`{"name":"none_a"}`, `{"name":"a"}`} {
		if r := c.call("tools/call", params); r.status != 400 || !strings.Contains(r.last(), `"code":-32602`) {
			t.Errorf("%s: got HTTP %d %s", params, r.status, r.last())
		}
	}
}

func TestPrefixesOfOneTarget(t *testing.T) {
	for mode, want := range map[gatewaydouble.PrefixMode]string{
		"": "a", gatewaydouble.PrefixConditional: "a", gatewaydouble.PrefixNever: "a", gatewaydouble.PrefixAlways: "files_a",
	} {
		w := newWorld(t, func(c *gatewaydouble.Config) { c.PrefixMode = mode })
		c := connect(t, w.gateway.URL(), modern)
		wantEvent(t, c.call("tools/list", `{}`), result(wrapper+tool(want)+`]}`))
		wantEvent(t, c.call("tools/call", `{"name":"`+want+`"}`), result(calledResult))
		if got := string(w.guard.lastRequest(t).GetMcpRequest()); got != `{"name":"a"}` {
			t.Errorf("%q: the hook saw %s", mode, got)
		}
	}
}

func TestNeverRemovesDuplicatesForAllAndPagesToResolve(t *testing.T) {
	p := newPair(t, func(c *gatewaydouble.Config) { c.PrefixMode = gatewaydouble.PrefixNever })
	p.one.set("tools/list", `{"tools":[`+tool("a")+`,`+tool("both")+`]}`)
	p.two.set("tools/list", `{"tools":[`+tool("both")+`,`+tool("b")+`]}`)
	c := connect(t, p.gateway.URL(), modern)
	wantEvent(t, c.call("tools/list", `{}`), result(wrapper+tool("a")+`,`+tool("b")+`]}`))

	_, before := p.guard.asked()
	wantEvent(t, c.call("tools/call", `{"name":"b"}`), result(calledResult))
	if len(p.two.requests("tools/call")) != 1 || len(p.one.requests("tools/call")) != 0 {
		t.Error("the call went to the wrong target")
	}
	if _, after := p.guard.asked(); len(after) != len(before)+1 {
		t.Errorf("the processor was asked about a lookup: %v", after)
	}
	if got := p.one.requests("tools/list"); !strings.Contains(got[len(got)-1].body, `"id":"agw-resolve-`) {
		t.Errorf("the lookup was %s", got[len(got)-1].body)
	}
	for _, name := range []string{"both", "none"} {
		if r := c.call("tools/call", `{"name":"`+name+`"}`); r.status != 400 {
			t.Errorf("%s: got HTTP %d %s", name, r.status, r.last())
		}
	}

	// A name on a later page is found, but not for ever.
	p.two.set("tools/list", `{"tools":[],"nextCursor":"more"}`)
	seen := len(p.two.requests("tools/list"))
	if r := c.call("tools/call", `{"name":"z"}`); r.status != 400 || !strings.Contains(r.last(), "64 pages") {
		t.Errorf("got HTTP %d %s", r.status, r.last())
	}
	if got := len(p.two.requests("tools/list")) - seen; got != 64 {
		t.Errorf("%d pages were read, want 64", got)
	}
}

func TestFailOpenLeavesATargetOutWithoutATrace(t *testing.T) {
	for _, open := range []bool{false, true} {
		p := newPair(t, func(c *gatewaydouble.Config) { c.FailOpen = open })
		c := connect(t, p.gateway.URL(), modern)
		failure := `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"down"}}`
		p.one.set("tools/list", failure)
		r := c.call("tools/list", `{}`)
		if !open {
			wantEvent(t, r, failure)
			if _, responses := p.guard.asked(); len(responses) != 0 {
				t.Error("the hook was asked about a failure")
			}
			continue
		}
		wantEvent(t, r, result(wrapper+tool("two_a")+`,`+tool("two_b_c")+`]}`))
		if diff := cmp.Diff([]string{"one", "two"}, p.guard.lastResponse(t).GetServiceNames()); diff != "" {
			t.Error(diff) // the names were computed before the contact
		}
		p.two.set("tools/list", failure)
		wantEvent(t, c.call("tools/list", `{}`), failure)
	}
}

func TestMultiplexedInstructions(t *testing.T) {
	p := newPair(t, nil)
	p.one.set("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"u","version":"1"},"instructions":"First."}`)
	p.one.set("server/discover", `{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{},"instructions":"First."}`)
	p.two.set("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"Second\nline."}`)
	const preamble = `This server is a gateway to a set of mcp servers. It is responsible for routing requests to the correct server and aggregating the results.`

	c := &client{t: t, url: p.gateway.URL(), version: legacy, header: http.Header{}}
	c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	want := `{"protocolVersion":"2025-06-18","capabilities":{"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}},"serverInfo":{"name":"agentgateway","version":"gateway-double"},"instructions":"` + preamble + `\n\n[one]\nFirst."}`
	if got := string(p.guard.lastResponse(t).GetMcpResponse()); got != want {
		t.Errorf("initialize: the hook saw\n%s\nwant\n%s", got, want)
	}

	connect(t, p.gateway.URL(), modern).call("server/discover", `{}`)
	got := string(p.guard.lastResponse(t).GetMcpResponse())
	for _, part := range []string{`"supportedVersions":["2026-07-28"]`, `"instructions":"` + preamble + `\n\n[one]\nFirst.\n\n[two]\nSecond\nline."`} {
		if !strings.Contains(got, part) {
			t.Errorf("server/discover: the hook saw\n%s\nwant in it\n%s", got, part)
		}
	}
	if got := gatewaydouble.MergedInstructions(nil); got != preamble {
		t.Errorf("without instructions: %q", got)
	}
}

func TestSubscriptionsOfSeveralTargetsAreOneStream(t *testing.T) {
	p := newPair(t, nil)
	const (
		acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`
		changed      = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		updated      = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"%sfile:///a"}}`
	)
	for _, u := range []*upstream{p.one, p.two} {
		u.set("subscriptions/listen", `{}`)
		u.events = map[string][]string{"subscriptions/listen": {acknowledged, changed, fmt.Sprintf(updated, "")}}
	}
	r := connect(t, p.gateway.URL(), modern).call("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	slices.Sort(r.messages[:len(r.messages)-1]) // the targets' events come in any order
	want := []string{
		fmt.Sprintf(updated, "one+"), fmt.Sprintf(updated, "two+"), acknowledged, changed, changed, result(`{}`),
	}
	if diff := cmp.Diff(want, r.messages); diff != "" {
		t.Error(diff)
	}
	requests, responses := p.guard.asked()
	if !cmp.Equal(requests, []string{"subscriptions/listen"}) || !cmp.Equal(responses, requests) {
		t.Errorf("the hooks were asked about %v and %v, want the request and the terminal result", requests, responses)
	}
}

func TestNotificationsGoToEveryTarget(t *testing.T) {
	p := newPair(t, nil)
	r := connect(t, p.gateway.URL(), legacy).post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if r.status != http.StatusAccepted {
		t.Fatalf("got HTTP %d", r.status)
	}
	for _, u := range []*upstream{p.one, p.two} {
		got := u.requests("notifications/initialized")
		if len(got) != 1 || got[0].header.Get("Mcp-Session-Id") != "session-of-"+u.name {
			t.Errorf("%s got %v", u.name, got)
		}
	}
}
