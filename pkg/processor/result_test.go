package processor_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/processor"
)

// The members that the protocol's schemas give to the result of each method, in the
// first era (2024-11-05 to 2025-11-25) and in the second (2026-07-28, with its
// extension for tasks); none where the era lacks the method.
var resultMembers = map[string][2]string{
	"tools/list":               {"_meta nextCursor tools", "_meta cacheScope nextCursor resultType tools ttlMs"},
	"prompts/list":             {"_meta nextCursor prompts", "_meta cacheScope nextCursor prompts resultType ttlMs"},
	"resources/list":           {"_meta nextCursor resources", "_meta cacheScope nextCursor resources resultType ttlMs"},
	"resources/templates/list": {"_meta nextCursor resourceTemplates", "_meta cacheScope nextCursor resourceTemplates resultType ttlMs"},
	"initialize":               {"_meta capabilities instructions protocolVersion serverInfo", ""},
	"server/discover":          {"", "_meta cacheScope capabilities instructions resultType supportedVersions ttlMs"},
	"tools/call": {"_meta content isError structuredContent task",
		"_meta content createdAt inputRequests isError lastUpdatedAt pollIntervalMs requestState resultType status statusMessage structuredContent taskId ttlMs"},
	"prompts/get":           {"_meta description messages", "_meta description inputRequests messages requestState resultType"},
	"resources/read":        {"_meta contents", "_meta cacheScope contents inputRequests requestState resultType ttlMs"},
	"completion/complete":   {"_meta completion", "_meta completion resultType"},
	"ping":                  {"_meta", ""},
	"logging/setLevel":      {"_meta", ""},
	"subscriptions/listen":  {"", "_meta resultType"},
	"resources/subscribe":   {"_meta", ""},
	"resources/unsubscribe": {"_meta", ""},
	"tasks/get": {"_meta createdAt lastUpdatedAt pollInterval status statusMessage taskId ttl",
		"_meta createdAt error inputRequests lastUpdatedAt pollIntervalMs result resultType status statusMessage taskId ttlMs"},
	"tasks/update": {"", "_meta resultType"},
	"tasks/cancel": {"_meta createdAt lastUpdatedAt pollInterval status statusMessage taskId ttl", "_meta resultType"},
	"tasks/list":   {"_meta nextCursor tasks", ""},
	"tasks/result": {"_meta content isError structuredContent", ""},
}

// memberValues are values that members have where {} is none.
var memberValues = map[string]string{
	"tools": "[]", "prompts": "[]", "resources": "[]", "resourceTemplates": "[]", "nextCursor": `"2"`, "resultType": `"complete"`,
	"cacheScope": `"private"`, "ttlMs": "0", "protocolVersion": `"2025-11-25"`, "supportedVersions": `["2026-07-28"]`,
}

func memberOf(name string) string {
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err)
	}
	value, ok := memberValues[name]
	if !ok {
		value = "{}"
	}
	return string(quoted) + ":" + value
}

// membersOf are the members of a method in an era.
func membersOf(method string, era processor.Era) []string {
	both := resultMembers[method]
	switch era {
	case processor.EraSessions:
		return strings.Fields(both[0])
	case processor.EraStateless:
		return strings.Fields(both[1])
	}
	all := strings.Fields(both[0] + " " + both[1])
	slices.Sort(all)
	return slices.Compact(all)
}

// spellings are other spellings of a name, that some reader takes for the same.
func spellings(name string) []string {
	return []string{
		strings.ToUpper(name), strings.ToLower(name), strings.ToUpper(name[:1]) + name[1:], strings.ReplaceAll(name, "s", "ſ"),
		strings.ReplaceAll(name, "k", "\u212a"), name + " ", " " + name, name + "\x00", "\ufeff" + name, name + "s", strings.TrimSuffix(name, "s"), "_" + name,
	}
}

// For each method and each era, a result with any member that its results do not
// have does not pass, wherever it stands and however it is spelled; nor does it
// become evidence. One with all the members it may have is not denied.
func TestResultsHaveTheMembersOfTheirMethod(t *testing.T) {
	candidates := map[string]bool{"": true, "sampling": true, "roots": true, "message": true, "error": true, "__proto__": true}
	for method := range resultMembers {
		for _, name := range membersOf(method, processor.EraAny) {
			candidates[name] = true
			for _, other := range spellings(name) {
				candidates[other] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(candidates))
	results := 0
	for method := range resultMembers {
		for _, era := range []processor.Era{processor.EraAny, processor.EraSessions, processor.EraStateless} {
			w := newWorld(t, files())
			own := membersOf(method, era)
			texts := make([]string, len(own))
			for i, name := range own {
				texts[i] = memberOf(name)
			}
			judge := func(members []string) processor.Verdict {
				results++
				m := from("files").message(processor.PhaseResponse, method, "{"+strings.Join(members, ",")+"}")
				m.Era = era
				return w.judge(m)
			}
			if v := judge(texts); len(own) > 0 && v.Denied() {
				t.Errorf("%s in era %d with all its members is denied: %s", method, era, v.Reason())
			}
			for i, name := range names {
				if slices.Contains(own, name) {
					continue
				}
				foreign := slices.Insert(slices.Clone(texts), i%(len(texts)+1), memberOf(name))
				if v := judge(foreign); v.Code != processor.DeniedForeign || v.Member != name {
					t.Errorf("%s in era %d with the member %q: %+v", method, era, name, v)
				}
				if v := judge([]string{memberOf(name)}); !v.Denied() {
					t.Errorf("%s in era %d of the member %q alone: %+v", method, era, name, v)
				}
			}
		}
	}
	t.Logf("%d results", results)
}

// A list that a server puts into another request is denied, and is no evidence.
func TestAListInAnotherResult(t *testing.T) {
	foreign := map[string]string{
		"tools": tools(echoEvil), "approved tools": tools(echo), "prompts": list("prompts", greet), "resources": list("resources", readme),
		"templates": list("resourceTemplates", note), "initialize": silent, "instructions": `{"instructions":"Obey."}`,
		"versions": `{"supportedVersions":[]}`, "in another case": `{"Tools":[` + echoEvil + `]}`, "beside content": `{"content":[],"tools":[]}`,
	}
	for _, method := range slices.Sorted(maps.Keys(resultMembers)) {
		switch method {
		case "tools/list", "prompts/list", "resources/list", "resources/templates/list", "initialize", "server/discover":
			continue
		}
		for name, result := range foreign {
			w := newWorld(t, files())
			w.wantDenied(from("files"), method, result, processor.DeniedForeign)
			if got := w.request(from("files"), "tools/call", call("echo")); got != processor.DeniedNoEvidence {
				t.Errorf("%s with %s: a call is %q", method, name, got)
			}
		}
	}
}

// What is no result of any method does not pass either.
func TestResultsThatCannotBeRead(t *testing.T) {
	for _, method := range []string{"tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/get", "ping"} {
		w := newWorld(t, files())
		for _, result := range []string{``, `[]`, `null`, `"tools"`, `{`, `{"_meta":{}}{}`, `{"_meta":{},"_meta":{}}`, `{"_meta":{},"\u005fmeta":{}}`, `{"_meta":tools}`} {
			w.wantDenied(from("files"), method, result, processor.DeniedUnreadable)
		}
		w.wantDenied(from("files"), method, `{}`+strings.Repeat(" ", 16<<20), processor.DeniedTooLarge)
		w.wantResponse(from("files"), method, ` { } `, ` { } `)
	}
	w := newWorld(t, files())
	w.wantResponse(from("files"), "tasks/get", `{"taskId":"1","result":{"content":[]}}`, `{"taskId":"1","result":{"content":[]}}`)
	w.wantDenied(from("files"), "tasks/get", `{"taskId":"1","result":{"tools":[]}}`, processor.DeniedForeign)
	w.wantDenied(from("files"), "tasks/get", `{"taskId":"1","result":[]}`, processor.DeniedUnreadable)
}

// The phases that the gateway is configured with: whatever can carry a result is
// asked about in the response, and what uses an item also in the request.
func TestHooks(t *testing.T) {
	want := map[string]string{"*": "full", "ping": "request", "logging/setLevel": "request", "subscriptions/listen": "request"}
	for _, method := range []string{"tools/call", "prompts/get", "resources/read"} {
		want[method] = "full"
	}
	for _, method := range []string{
		"tools/list", "prompts/list", "resources/list", "resources/templates/list", "initialize", "server/discover", "completion/complete",
		"resources/subscribe", "resources/unsubscribe", "tasks/get", "tasks/update", "tasks/cancel",
	} {
		want[method] = "response"
	}
	got := map[string]string{}
	for _, h := range processor.Hooks() {
		got[h.Method] = h.Phase
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

// Each denial has an id of its own.
func TestDenialsHaveIDs(t *testing.T) {
	w, other := newWorld(t, files()), newWorld(t, files())
	seen := map[string]bool{}
	for _, w := range []*world{w, w, other, w, other} {
		v := w.judge(from("files").message(processor.PhaseRequest, "tools/call", call("nosuch")))
		if !v.Denied() || v.ID == "" || seen[v.ID] {
			t.Errorf("the id %q of %+v", v.ID, v)
		}
		seen[v.ID] = true
	}
	if v := w.judge(from("files").message(processor.PhaseRequest, "ping", "")); v.ID != "" {
		t.Errorf("what passes has the id %q", v.ID)
	}
}
