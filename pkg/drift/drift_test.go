package drift

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// side builds a surface that covers everything, of tools given as JSON.
func side(t *testing.T, tools ...string) Side {
	t.Helper()
	raws := make([][]byte, len(tools))
	for i, tool := range tools {
		raws[i] = []byte(tool)
	}
	list, refused := surface.NewList(surface.KindTool, raws)
	s := surface.Surface{Lists: map[surface.Kind]surface.List{surface.KindTool: list}, Refused: refused}
	return FromSurface(s, nil, surface.AllCovers())
}

// tool spells a tool whose members after the name are given.
func tool(name, rest string) string { return fmt.Sprintf(`{"name":%q%s}`, name, rest) }

func schema(s string) string { return `,"inputSchema":` + s }

// account spells aspects as "grade code path".
func account(changes []Change) []string {
	var out []string
	for _, c := range changes {
		for _, a := range c.Aspects {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", a.Grade, a.Code, a.Path)))
		}
	}
	return out
}

func TestDefinitionChanges(t *testing.T) {
	const in = "inputSchema"
	tests := []struct {
		name     string
		old, now string
		want     []string
	}{
		{"description", `,"description":"a"`, `,"description":"b"`, []string{"warning description-changed description"}},
		{"description null and empty differ", `,"description":null`, `,"description":""`, []string{"warning description-changed description"}},
		{"title", `,"title":"a"`, `,"title":"b"`, []string{"info title-changed title"}},
		{"icons", ``, `,"icons":[]`, []string{"info icons-changed icons"}},
		{"meta", `,"_meta":{"a":1}`, `,"_meta":{"a":2}`, []string{"warning meta-changed _meta"}},
		{"unknown member", ``, `,"x":1`, []string{"warning definition-changed x"}},
		{"read-only lost", `,"annotations":{"readOnlyHint":true}`, `,"annotations":{}`, []string{"critical hint-loosened annotations.readOnlyHint"}},
		{"read-only gained", `,"annotations":{}`, `,"annotations":{"readOnlyHint":true}`, []string{"warning annotations-changed annotations.readOnlyHint"}},
		{"destructive gained by absence", `,"annotations":{"destructiveHint":false}`, ``, []string{"critical hint-loosened annotations.destructiveHint"}},
		{"open world gained", `,"annotations":{"openWorldHint":false}`, `,"annotations":{"openWorldHint":true}`, []string{"critical hint-loosened annotations.openWorldHint"}},
		{"the protocol's default spelled out", ``, `,"annotations":{"openWorldHint":true}`, []string{"warning annotations-changed annotations.openWorldHint"}},
		{"annotation title", `,"annotations":{"title":"a"}`, `,"annotations":{"title":"b"}`, []string{"info title-changed annotations.title"}},
		{"empty annotations", ``, `,"annotations":{}`, []string{"warning annotations-changed annotations"}},
		{"parameter added", schema(`{"properties":{}}`), schema(`{"properties":{"a":{}}}`), []string{"warning parameter-added " + in + ".properties.a"}},
		{"parameter removed", schema(`{"properties":{"a":{}}}`), schema(`{"properties":{}}`), []string{"critical parameter-removed " + in + ".properties.a"}},
		{"parameter retyped", schema(`{"properties":{"a":{"type":"string"}}}`), schema(`{"properties":{"a":{"type":"number"}}}`), []string{"critical parameter-retyped " + in + ".properties.a.type"}},
		{"newly required", schema(`{"properties":{"a":{}}}`), schema(`{"properties":{"a":{}},"required":["a"]}`), []string{"critical parameter-required " + in + ".required"}},
		{"no longer required", schema(`{"properties":{"a":{}},"required":["a"]}`), schema(`{"properties":{"a":{}}}`), []string{"warning schema-changed " + in + ".required"}},
		{"nested parameter removed", schema(`{"properties":{"o":{"properties":{"a":{},"b":{}}}}}`), schema(`{"properties":{"o":{"properties":{"a":{}}}}}`), []string{"critical parameter-removed " + in + ".properties.o.properties.b"}},
		{"enum widened", schema(`{"properties":{"a":{"enum":[1]}}}`), schema(`{"properties":{"a":{"enum":[1,2]}}}`), []string{"warning schema-changed " + in + ".properties.a.enum"}},
		{"opened", schema(`{"additionalProperties":false}`), schema(`{}`), []string{"warning schema-changed " + in + ".additionalProperties"}},
		{"constraint", schema(`{"properties":{"a":{"maximum":1}}}`), schema(`{"properties":{"a":{"maximum":9}}}`), []string{"warning schema-changed " + in + ".properties.a.maximum"}},
		{"words of a parameter", schema(`{"properties":{"a":{"description":"x"}}}`), schema(`{"properties":{"a":{"description":"y"}}}`), []string{"warning description-changed " + in + ".properties.a.description"}},
		{"inlined to referenced", schema(`{"properties":{"a":{"type":"string"}}}`), schema(`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`), []string{"warning schema-changed " + in}},
		{"what a reference leads to", schema(`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`), schema(`{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"integer"}}}`), []string{"critical parameter-retyped " + in + ".properties.a.type"}},
		{"required null", schema(`{}`), schema(`{"required":null}`), []string{"warning schema-changed " + in + ".required"}},
		{"an unreferenced definition", schema(`{"$defs":{"s":{}}}`), schema(`{"$defs":{"s":{},"t":{"description":"x"}}}`), []string{"warning schema-changed " + in + ".$defs.t"}},
		{"a reference that is text", schema(`{}`), schema(`{"$ref":"x"}`), []string{"critical parameter-retyped " + in, "warning schema-changed " + in + ".$ref"}},
		{"properties that is a string", schema(`{}`), schema(`{"properties":"x"}`), []string{"warning schema-changed " + in + ".properties"}},
		{"an object in required", schema(`{"properties":{"a":{}},"required":["a"]}`), schema(`{"properties":{"a":{}},"required":["a",{"x":1}]}`), []string{"warning schema-changed " + in + ".required"}},
		{"a description that another is over", schema(`{"properties":{"a":{"$ref":"#/$defs/s","description":"x"}},"$defs":{"s":{"description":"y"}}}`),
			schema(`{"properties":{"a":{"$ref":"#/$defs/s","description":"x"}},"$defs":{"s":{"description":"z"}}}`), []string{"warning schema-changed " + in + ".$defs.s.description"}},
		{"the same part with references beside a change", schema(`{"dependentSchemas":{"a":{"$ref":"#"}}}`), schema(`{"dependentSchemas":{"a":{"$ref":"#"}},"maximum":1}`), []string{"warning schema-changed " + in + ".maximum"}},
		{"annotations that are a text", `,"annotations":{"readOnlyHint":true}`, `,"annotations":"x"`, []string{"critical hint-loosened annotations.readOnlyHint", "warning annotations-changed annotations"}},
		{"an alternative more", schema(`{"properties":{"a":{"anyOf":[{}]}}}`), schema(`{"properties":{"a":{"anyOf":[{},{}]}}}`), []string{"critical parameter-retyped " + in + ".properties.a.anyOf"}},
		{"output schema", `,"outputSchema":{"properties":{"a":{}}}`, `,"outputSchema":{"properties":{}}`, []string{"warning output-schema-changed outputSchema.properties.a"}},
		{"schema removed", schema(`{}`), ``, []string{"warning schema-changed " + in}},
		{"worst first", `,"title":"a"` + schema(`{"properties":{"a":{}}}`), `,"title":"b"` + schema(`{}`), []string{"critical parameter-removed " + in + ".properties.a", "info title-changed title"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			have := account(Compare(side(t, tool("t", tt.old)), side(t, tool("t", tt.now))))
			if diff := cmp.Diff(tt.want, have); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSurfaceChanges(t *testing.T) {
	echo, add := tool("echo", `,"description":"e"`), tool("add", ``)
	instructed := side(t)
	instructed.Instructions = &Text{Hash: canonical.SumString("be good"), Text: "be good", Known: true}
	entry := &lockfile.Server{Lists: map[surface.Kind][]lockfile.Item{surface.KindTool: {
		{Name: "echo", Tool: &surface.ToolHashes{Name: canonical.SumString("echo"), Description: canonical.SumString("old"), InputSchema: canonical.SumString("{}")}},
	}}}
	tests := []struct {
		name     string
		old, now Side
		want     []string
	}{
		{"nothing", side(t, echo, add), side(t, add, echo), nil},
		{"added", side(t, echo), side(t, echo, add), []string{"warning tool-added"}},
		{"removed", side(t, echo, add), side(t, echo), []string{"warning tool-removed"}},
		{"instructions", side(t), instructed, []string{"warning instructions-changed instructions"}},
		{"a duplicate appears", side(t, echo), side(t, echo, echo), []string{"warning refused-changed refused", "warning refused-changed refused", "warning tool-removed"}},
		{"the original format has hashes only", FromLockfile(entry, func(surface.Kind, string) []byte { return nil }), side(t, echo), []string{"warning description-changed description"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, account(Compare(tt.old, tt.now))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSelfReferenceEnds holds that a schema whose references lead to themselves
// is compared in bounded work.
func TestSelfReferenceEnds(t *testing.T) {
	var properties []string
	for i := range 40 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	body := `"properties":{` + strings.Join(properties, ",") + `}`
	old := side(t, tool("t", schema(`{`+body+`}`)))
	now := side(t, tool("t", schema(`{`+body+`,"maximum":1}`)))
	changes := Compare(old, now)
	if len(changes) != 1 || changes[0].Aspects[0].Code != finding.SchemaChanged {
		t.Errorf("changes %v", account(changes))
	}
}

// TestReferencesElsewhere holds that a reference to another document is critical
// wherever it comes in, since no hash covers what is there.
func TestReferencesElsewhere(t *testing.T) {
	tool := func(schema string) []byte { return []byte(`{"inputSchema":` + schema + `,"name":"t"}`) }
	far := `{"$ref":"https://example.com/x.json"}`
	for _, test := range []struct {
		name, before, after string
		critical            bool
	}{
		{"for another one", `{"properties":{"x":{"$ref":"https://example.com/y.json"}},"type":"object"}`, `{"properties":{"x":` + far + `},"type":"object"}`, true},
		{"in a new parameter", `{"type":"object"}`, `{"properties":{"x":` + far + `},"type":"object"}`, true},
		{"within a list", `{"anyOf":[{"type":"object"}]}`, `{"anyOf":[{"type":"object"},` + far + `]}`, true},
		{"dynamic", `{"type":"object"}`, `{"properties":{"x":{"$dynamicRef":"other.json#a"}},"type":"object"}`, true},
		{"that was there", `{"properties":{"x":` + far + `},"type":"object"}`, `{"properties":{"x":` + far + `,"y":{"type":"string"}},"type":"object"}`, false},
		{"within the document", `{"$defs":{"a":{"type":"string"}},"type":"object"}`, `{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}},"type":"object"}`, false},
	} {
		if grade := Between(surface.KindTool, "t", tool(test.before), tool(test.after)).Grade(); (grade == finding.Critical) != test.critical {
			t.Errorf("%s: the grade is %s", test.name, grade)
		}
	}
}
