package gatewaydouble_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"agentgateway-lock/e2e/gatewaydouble"
	"agentgateway-lock/pkg/extmcp"
)

var lists = map[string]struct{ method, member, names string }{
	"tool":             {"tools/list", "tools", "name"},
	"prompt":           {"prompts/list", "prompts", "name"},
	"resource":         {"resources/list", "resources", "uri"},
	"resourceTemplate": {"resources/templates/list", "resourceTemplates", "uriTemplate"},
}

func TestVectorsReachTheHookAsSeen(t *testing.T) {
	data, err := os.ReadFile("../../testdata/vectors/gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct{ ID, Kind, Sent, Seen string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			list := lists[c.Kind]
			up := newUpstream(t, "files", map[string]string{list.method: `{"` + list.member + `":[` + c.Sent + `]}`})
			guard := newGuard(t)
			config := gatewaydouble.Config{
				Targets:    []gatewaydouble.Target{up.target()},
				Processors: []gatewaydouble.Processor{guard.processor(everything())},
			}
			seen := c.Seen
			switch c.ID {
			case "tool-ui-pointer-left-out": // by an authorization that allows tools only
				config.AllowTools = []string{"w"}
			case "tool-ui-pointer-kept-by-gateway": // with prefixes, the name's among them
				config.PrefixMode = gatewaydouble.PrefixAlways
				seen = strings.Replace(seen, `"name":"w"`, `"name":"files_w"`, 1)
			}
			connect(t, newDouble(t, config).URL(), modern).call(list.method, `{}`)
			want := `{"resultType":"complete","ttlMs":0,"cacheScope":"private","` + list.member + `":[` + seen + `]}`
			if got := string(guard.lastResponse(t).GetMcpResponse()); got != want {
				t.Errorf("the hook saw\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// listThrough lists the tools of an upstream that answers with result, as a
// client of the newest version, and returns what the client got.
func listThrough(t *testing.T, result string) (reply, *guard) {
	t.Helper()
	up := newUpstream(t, "files", map[string]string{"tools/list": result})
	guard := newGuard(t)
	g := newDouble(t, gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{up.target()},
		Processors: []gatewaydouble.Processor{guard.processor(everything())},
	})
	return connect(t, g.URL(), modern).call("tools/list", `{}`), guard
}

const wrapper = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`

func TestListsAreBuiltAnew(t *testing.T) {
	r, guard := listThrough(t, `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"2","ttlMs":9,"cacheScope":"public","_meta":{"x":1},"x":2}`)
	want := wrapper + `{"name":"a","inputSchema":{}}]}`
	if got := string(guard.lastResponse(t).GetMcpResponse()); got != want {
		t.Errorf("the hook saw %s, want %s", got, want)
	}
	wantEvent(t, r, result(want))
}

func TestOrderAndDuplicatesOfFreeObjects(t *testing.T) {
	r, _ := listThrough(t, `{"tools":[{"inputSchema":{"z":1,"a":2,"z":3},"name":"a","_meta":{"k":null,"k":{"y":1,"y":2}}}]}`)
	wantEvent(t, r, result(wrapper+`{"name":"a","inputSchema":{"z":3,"a":2},"_meta":{"k":{"y":2}}}]}`))
}

func TestUnknownDuplicatesDoNotMatter(t *testing.T) {
	r, _ := listThrough(t, `{"tools":[{"name":"a","inputSchema":{},"x":1,"x":2}],"y":1,"y":2}`)
	wantEvent(t, r, result(wrapper+`{"name":"a","inputSchema":{}}]}`))
}

func TestNumbersOfSchemas(t *testing.T) {
	r, _ := listThrough(t, `{"tools":[{"name":"a","inputSchema":{"a":9007199254740993,"b":18446744073709551616,"c":1e-400,"d":-9223372036854775808}}]}`)
	wantEvent(t, r, result(wrapper+`{"name":"a","inputSchema":{"a":9007199254740993,"b":1.8446744073709552e19,"c":0.0,"d":-9223372036854775808}}]}`))
}

func TestListsThatFailAsAWhole(t *testing.T) {
	const good = `{"name":"good","inputSchema":{}},`
	for name, tool := range map[string]string{
		"description of a wrong type": `{"name":"a","description":1,"inputSchema":{}}`,
		"no inputSchema":              `{"name":"a"}`,
		"inputSchema null":            `{"name":"a","inputSchema":null}`,
		"inputSchema no object":       `{"name":"a","inputSchema":[]}`,
		"outputSchema no object":      `{"name":"a","inputSchema":{},"outputSchema":true}`,
		"duplicate name":              `{"name":"a","name":"a","inputSchema":{}}`,
		"duplicate hint":              `{"name":"a","inputSchema":{},"annotations":{"readOnlyHint":true,"readOnlyHint":true}}`,
		"hint of a wrong type":        `{"name":"a","inputSchema":{},"annotations":{"readOnlyHint":"yes"}}`,
		"icon theme":                  `{"name":"a","inputSchema":{},"icons":[{"src":"x","theme":"blue"}]}`,
		"icon without src":            `{"name":"a","inputSchema":{},"icons":[{}]}`,
		"no name":                     `{"inputSchema":{}}`,
		"a null in the list":          `null`,
	} {
		t.Run(name, func(t *testing.T) {
			r, guard := listThrough(t, `{"tools":[`+good+tool+`]}`)
			wantEvent(t, r, rpcError(-32603, "upstream returned a result incompatible with tools/list"))
			if _, responses := guard.asked(); len(responses) != 0 {
				t.Errorf("the hook was asked about %v", responses)
			}
		})
	}
	for name, text := range map[string]string{
		"prompts beside tools": `{"prompts":[],"tools":[]}`,
		"tools null":           `{"tools":null}`,
		"duplicate tools":      `{"tools":[],"tools":[]}`,
		"no tools":             `{}`,
		"not an object":        `[]`,
		"cacheScope":           `{"tools":[],"cacheScope":"shared"}`,
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := listThrough(t, text)
			wantEvent(t, r, rpcError(-32603, "upstream returned a result incompatible with tools/list"))
		})
	}
	for name, text := range map[string]string{
		"a number beyond doubles": `1e400`,
		"a lone surrogate":        `"\ud800"`,
		"deep nesting":            strings.Repeat("[", 128) + strings.Repeat("]", 128),
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := listThrough(t, `{"tools":[`+good+`{"name":"a","inputSchema":{"x":`+text+`}}]}`)
			if r.status != 500 || !strings.Contains(r.last(), `"code":-32603,"message":"failed to send message: read the answer of files`) {
				t.Errorf("got HTTP %d %s, want an internal error", r.status, r.last())
			}
		})
	}
}

func TestOlderClientsGetListsWithoutCacheMembers(t *testing.T) {
	up := newUpstream(t, "files", map[string]string{"tools/list": `{"tools":[]}`})
	guard := newGuard(t)
	g := newDouble(t, gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{up.target()},
		Processors: []gatewaydouble.Processor{guard.processor(everything())},
	})
	wantEvent(t, connect(t, g.URL(), legacy).call("tools/list", `{}`), result(`{"tools":[]}`))
	if got := string(guard.lastResponse(t).GetMcpResponse()); got != wrapper+`]}` {
		t.Errorf("the hook saw %s", got)
	}
}

func TestTheClientsCursorIsForwarded(t *testing.T) {
	up := newUpstream(t, "files", map[string]string{"tools/list": `{"tools":[]}`})
	g := newDouble(t, gatewaydouble.Config{Targets: []gatewaydouble.Target{up.target()}})
	connect(t, g.URL(), modern).call("tools/list", `{"cursor":"page-2","x":1}`)
	want := `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"page-2"}}`
	if got := up.requests("tools/list")[0].body; got != want {
		t.Errorf("the upstream got %s, want %s", got, want)
	}
}

func TestMutatedListsAreReadAgain(t *testing.T) {
	up := newUpstream(t, "files", map[string]string{"tools/list": `{"tools":[]}`})
	guard := newGuard(t)
	g := newDouble(t, gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{up.target()},
		Processors: []gatewaydouble.Processor{guard.processor(everything())},
	})
	for mutated, want := range map[string]string{
		`{"tools":[{"name":"a","inputSchema":{"x":1},"x":1}],"ttlMs":99,"cacheScope":"public","y":1}`: `{"ttlMs":0,"cacheScope":"private","tools":[{"name":"a","inputSchema":{"x":1}}]}`,
		`{"tools":[{"name":"a"}],"y":1}`: `{"tools":[{"name":"a"}],"y":1}`, // no list: passed on as it is
		`[1e3]`:                          `[1000.0]`,
	} {
		guard.mu.Lock()
		guard.onResponse = func(context.Context, *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
			return mutateResponse(mutated), nil
		}
		guard.mu.Unlock()
		r := connect(t, g.URL(), modern).call("tools/list", `{}`)
		wantEvent(t, r, result(want))
	}
}

func TestAuthorizationFiltersListsBeforeTheHook(t *testing.T) {
	up := newUpstream(t, "files", map[string]string{
		"tools/list":     `{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{},"_meta":{"ui":{"resourceUri":"ui://x"},"ui/resourceUri":"ui://x"}}]}`,
		"resources/list": `{"resources":[{"uri":"file:///a","name":"a"}]}`,
	})
	guard := newGuard(t)
	g := newDouble(t, gatewaydouble.Config{
		Targets:    []gatewaydouble.Target{up.target()},
		AllowTools: []string{"b"},
		Processors: []gatewaydouble.Processor{guard.processor(everything())},
	})
	c := connect(t, g.URL(), modern)
	c.call("tools/list", `{}`)
	if got := string(guard.lastResponse(t).GetMcpResponse()); got != wrapper+`{"name":"b","inputSchema":{}}]}` {
		t.Errorf("the hook saw %s", got)
	}
	c.call("resources/list", `{}`)
	if got := string(guard.lastResponse(t).GetMcpResponse()); !strings.HasSuffix(got, `"resources":[]}`) {
		t.Errorf("the hook saw %s", got)
	}
}
