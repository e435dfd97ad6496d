package processor_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

// fuzzed is a processor that has seen everything of its policy listed, and counts
// failures.
type fuzzed struct {
	*processor.Processor
	t *testing.T
}

func (f fuzzed) judge(phase processor.Phase, method string, body []byte) processor.Verdict {
	f.t.Helper()
	v := f.Judge(&processor.Message{At: start, Phase: phase, Method: method, Targets: []string{"files"}, Body: body})
	if v.Failure != "" {
		f.t.Error(v.Failure)
	}
	return v
}

func newFuzzed(t *testing.T) fuzzed {
	f := fuzzed{processor.New(), t}
	in := files()
	in.Servers[0].Instructions = instructions("Hi.")
	in.Servers = append(in.Servers, server("web", approved(surface.KindTool, add)))
	policy, err := processor.NewPolicy(in)
	if err != nil {
		t.Fatal(err)
	}
	f.SetPolicy(policy)
	return f
}

// approvedTexts are the definitions that may be listed, as values.
var approvedTexts = func() (values []any) {
	for _, text := range []string{echo, add, greet, note, readme} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			panic(err)
		}
		values = append(values, v)
	}
	return values
}()

// FuzzResponse puts any body to every method: whatever list comes out holds
// approved definitions only, byte for byte as they came in.
func FuzzResponse(f *testing.F) {
	methods := []string{
		"tools/list", "prompts/list", "resources/templates/list", "resources/list", "initialize", "server/discover", "tools/call", "ping",
	}
	for i, body := range []string{
		tools(echo, add, echo), list("prompts", greet), list("resourceTemplates", note), list("resources", readme), initialized("Hi."),
		`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":1}`, `{"content":[]}`, `{}`,
		tools(echoEvil), tools(`{"name":"echo","name":"add"}`, `{"name":"\ud83d\ude00"}`),
	} {
		f.Add(uint8(i), []byte(body))
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		p := newFuzzed(t)
		method := methods[int(which)%len(methods)]
		before := bytes.Clone(body)
		for range 2 {
			v := p.judge(processor.PhaseResponse, method, body)
			if !bytes.Equal(before, body) {
				t.Fatal("the body was changed")
			}
			passed := v.Body
			switch {
			case v.Denied():
				checkDenial(t, &v)
				continue
			case passed == nil:
				passed = body
			}
			k := slices.IndexFunc(surface.ListKinds(), func(l surface.ListKind) bool { return l.Method == method })
			if k < 0 {
				continue
			}
			checkPassed(t, surface.ListKinds()[k].Member, passed, body)
		}
	})
}

func checkPassed(t *testing.T, member string, passed, body []byte) {
	t.Helper()
	var result map[string]json.RawMessage
	if err := json.Unmarshal(passed, &result); err != nil {
		t.Fatalf("what passed is not JSON: %v\n%s", err, passed)
	}
	var definitions []json.RawMessage
	if err := json.Unmarshal(result[member], &definitions); err != nil {
		t.Fatalf("what passed is no list: %v\n%s", err, passed)
	}
	for name := range result {
		if !slices.Contains([]string{member, "resultType", "ttlMs", "cacheScope", "nextCursor"}, name) {
			t.Errorf("the member %q passed", name)
		}
	}
	for _, d := range definitions {
		var v any
		if err := json.Unmarshal(d, &v); err != nil {
			t.Fatal(err)
		}
		if members, ok := v.(map[string]any); ok {
			dropIgnored(members)
		}
		if !slices.ContainsFunc(approvedTexts, func(a any) bool { return cmp.Equal(a, v) }) {
			t.Errorf("a definition passed that is not approved: %s", d)
		}
		if !bytes.Contains(body, d) {
			t.Errorf("a definition was not kept as it came: %s", d)
		}
	}
}

// dropIgnored takes out of a definition what the gateway profile does not look at:
// nulls, and pointers to the resource of an app.
func dropIgnored(members map[string]any) {
	if meta, ok := members["_meta"].(map[string]any); ok {
		ui, _ := meta["ui"].(map[string]any)
		_, pointer := ui["resourceUri"]
		if delete(ui, "resourceUri"); pointer && len(ui) == 0 {
			delete(meta, "ui")
		}
		_, direct := meta["ui/resourceUri"]
		if delete(meta, "ui/resourceUri"); (pointer || direct) && len(meta) == 0 {
			delete(members, "_meta")
		}
	}
	for name, value := range members {
		if value == nil {
			delete(members, name)
		}
	}
}

// FuzzRequest puts any params to every method: what passes names an approved item.
func FuzzRequest(f *testing.F) {
	methods := []string{"tools/call", "prompts/get", "resources/read", "ping", "other"}
	for i, params := range []string{
		call("echo"), call("greet"), `{"uri":"mock://notes/7"}`, `{}`, ``, call("evil"), `{"name":"evil","n\u0061me":"echo"}`, `{"uri":"mock://notes/../x"}`,
	} {
		f.Add(uint8(i), []byte(params))
	}
	f.Fuzz(func(t *testing.T, which uint8, params []byte) {
		p := newFuzzed(t)
		for i, body := range []string{tools(echo, add), list("prompts", greet), list("resourceTemplates", note), list("resources", readme)} {
			p.judge(processor.PhaseResponse, surface.ListKinds()[i].Method, []byte(body))
		}
		method := methods[int(which)%len(methods)]
		if v := p.judge(processor.PhaseRequest, method, params); v.Denied() {
			checkDenial(t, &v)
			return
		}
		var named map[string]any
		switch err := json.Unmarshal(params, &named); {
		case method == "ping":
		case err != nil:
			t.Fatalf("params passed that are not JSON: %s", params)
		case method == "tools/call" && (named["name"] == "echo" || named["name"] == "add"):
		case method == "prompts/get" && named["name"] == "greet":
		case method == "resources/read" && (named["uri"] == "mock://readme" || isNote(named["uri"])):
		default:
			t.Errorf("%s passed: %s", method, params)
		}
	})
}

// isNote reports whether a URI is one that the approved template expands to.
func isNote(uri any) bool {
	text, ok := uri.(string)
	id, found := bytes.CutPrefix([]byte(text), []byte("mock://notes/"))
	return ok && found && !bytes.ContainsAny(id, "/?#\\ ") && string(id) != ".."
}
