package processor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

// recordedHook is one hook that the real gateway asked, with the answer that it was
// given.
type recordedHook struct {
	Phase        processor.Phase `json:"phase"`
	ServiceNames []string        `json:"service_names"`
	Method       string          `json:"method"`
	Request      *string         `json:"mcp_request"`
	Response     *string         `json:"mcp_response"`
	Answer       struct {
		Pass    *struct{} `json:"pass"`
		Mutated *string   `json:"mutated"`
		Error   *struct {
			Data map[string]string `json:"mcp_error"`
		} `json:"error"`
	} `json:"answer"`
}

// recorded are the exchanges that were recorded at the real gateway, by file.
func recorded(t *testing.T) (names []string, hooks map[string][]recordedHook) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "vectors", "gateway-traffic", "*.json"))
	if err != nil || len(files) != 32 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	hooks = map[string][]recordedHook{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var exchange struct{ Hooks []recordedHook }
		if err := json.Unmarshal(data, &exchange); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		names, hooks[name] = append(names, name), exchange.Hooks
	}
	slices.Sort(names)
	return names, hooks
}

// listed approves every definition of a recorded list.
func listed(t *testing.T, kind surface.Kind, hook recordedHook) []processor.Item {
	t.Helper()
	list, _ := surface.ListKindOf(kind)
	var result map[string]json.RawMessage
	var raws []json.RawMessage
	if err := json.Unmarshal([]byte(*hook.Response), &result); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(result[list.Member], &raws); err != nil {
		t.Fatal(err)
	}
	var items []processor.Item
	for _, raw := range raws {
		d, err := surface.Read(kind, raw)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, processor.Item{Kind: kind, Name: d.Name, State: processor.StateApproved, InForce: d.GatewayDigest, Locked: d.GatewayDigest})
	}
	return items
}

// What the real gateway asked is answered as it was recorded. The digest that was
// approved of echo is the recorded one; what else was approved is what the records
// show listed.
func TestRecordedTraffic(t *testing.T) {
	names, hooks := recorded(t)
	covers := []string{surface.CoverInstructions, "tools", "prompts", "resourceTemplates"}
	mock := processor.Server{Name: "mock", SourceApproved: true, Covers: covers,
		Instructions: instructions("A server for tests and demonstrations. Use echo to repeat text and add to sum two numbers.")}
	mock.Items = slices.Concat(listed(t, surface.KindTool, hooks["03-tools-list"][0]),
		listed(t, surface.KindPrompt, hooks["06-prompts-list"][0]), listed(t, surface.KindResourceTemplate, hooks["09-templates-list"][0]))
	const echoDigest = "c62fb8adc0b2f56077e71b6a1a6d736fbbe139ad80f0aec0924fb590c1592634"
	if got := mock.Items[0].InForce.String(); got != echoDigest {
		t.Fatalf("the digest of echo is %s, recorded was %s", got, echoDigest)
	}
	weird := processor.Server{Name: "weird", SourceApproved: true, Covers: covers, Instructions: instructions("Raw instructions of weird.")}
	for kind, text := range map[surface.Kind]string{
		surface.KindTool: `{"description":"A raw tool.","inputSchema":{"type":"object"},"name":"raw"}`, surface.KindResourceTemplate: `{"name":"t","uriTemplate":"mock://t/{x}"}`,
	} {
		weird.Items = append(weird.Items, approved(kind, text))
	}
	w := newWorld(t, processor.Input{ID: "1", Servers: []processor.Server{mock, weird}})
	for _, name := range names {
		if name >= "29" {
			continue // the processor that passes everything answered these
		}
		if name == "15-initialize-full" {
			w = newWorld(t, processor.Input{ID: "1", Servers: []processor.Server{mock, weird}}) // the server was started again
		}
		for i, hook := range hooks[name] {
			v := w.judge(hook.message())
			switch want := hook.Answer; {
			case want.Error != nil:
				var data map[string]string
				if err := json.Unmarshal(v.Data(), &data); err != nil {
					t.Fatal(err)
				}
				delete(data, "id") // which denials had not yet
				if diff := cmp.Diff(want.Error.Data, data); !v.Denied() || diff != "" {
					t.Errorf("%s, hook %d (-want +got):\n%s", name, i, diff)
				}
			case want.Mutated != nil:
				if v.Denied() || string(v.Body) != *want.Mutated {
					t.Errorf("%s, hook %d: %+v\n have %s\n want %s", name, i, v, v.Body, *want.Mutated)
				}
			case v.Denied() || v.Body != nil:
				t.Errorf("%s, hook %d: %+v, want a pass", name, i, v)
			}
		}
	}
}

// The recorded foreign result, which reached the client through a processor that
// passes everything, is denied; the answer of the call itself passes.
func TestRecordedForeignResult(t *testing.T) {
	_, hooks := recorded(t)
	tool := approved(surface.KindTool, `{"description":"A raw tool.","inputSchema":{"type":"object"},"name":"raw"}`)
	w := newWorld(t, processor.Input{ID: "1", Servers: []processor.Server{server("weird", tool)}})
	var codes []processor.Code
	for _, hook := range hooks["31-foreign-result-in-call"] {
		if hook.Phase == processor.PhaseResponse {
			codes = append(codes, w.judge(hook.message()).Code)
		}
	}
	if diff := cmp.Diff([]processor.Code{processor.DeniedForeign, ""}, codes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if hooks := hooks["32-call-without-id"]; len(hooks) != 0 {
		t.Errorf("a call without an id was hooked: %+v", hooks)
	}
}

// What the gateway leaves of odd definitions has no member that the profile does not
// know, and a digest.
func TestRecordedOddDefinitions(t *testing.T) {
	_, hooks := recorded(t)
	for name, list := range map[string]surface.Kind{"29-odd-tools": surface.KindTool, "30-odd-resources": surface.KindResource} {
		for _, hook := range hooks[name] {
			if hook.Phase != processor.PhaseResponse {
				continue
			}
			w := newWorld(t, processor.Input{ID: "1", Servers: []processor.Server{server("weird")}})
			v := w.judge(hook.message())
			if len(v.Removed) != 1 || v.Removed[0].Code != processor.DeniedNotApproved || v.Removed[0].Seen == (canonical.Digest{}) || v.Removed[0].Kind != list {
				t.Errorf("%s: %+v", name, v.Removed)
			}
		}
	}
}

func (h *recordedHook) message() *processor.Message {
	m := &processor.Message{Phase: h.Phase, Method: h.Method, Targets: h.ServiceNames}
	for _, body := range []*string{h.Request, h.Response} {
		if body != nil {
			m.Body = []byte(*body)
		}
	}
	return m
}
