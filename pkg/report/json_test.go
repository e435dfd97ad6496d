package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/schema"
)

var schemas = map[string]*jsonschema.Schema{
	"report": jsonschema.MustCompileString("report.json", string(schema.Report)),
	"review": jsonschema.MustCompileString("review.json", string(schema.Review)),
	"sarif":  jsonschema.MustCompileString("sarif.json", sarifSchema),
}

// validate checks a JSON text against a schema.
func validate(t testing.TB, name, text string) error {
	t.Helper()
	return schemas[name].Validate(decode(t, text))
}

func decode(t testing.TB, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at follows members and indexes into a decoded value.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("no object at %v of %v", step, path)
			}
			v = object[step]
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				t.Fatalf("no element %d of %v", step, path)
			}
			v = list[step]
		}
	}
	return v
}

func TestJSONMembers(t *testing.T) {
	v := decode(t, render(t, "json", sample("echo")))
	for _, tt := range []struct {
		path []any
		want any
	}{
		{[]any{"type"}, "agentgateway-report/v1"},
		{[]any{"command"}, "ci"},
		{[]any{"version"}, "0.1.0"},
		{[]any{"lockfile"}, "agentgateway.lock"},
		{[]any{"verdict"}, "fail"},
		{[]any{"exitCode"}, json.Number("1")},
		{[]any{"failOn"}, "info"},
		{[]any{"servers", 0, "name"}, "echo"},
		{[]any{"servers", 0, "state"}, "changed"},
		{[]any{"servers", 0, "era"}, "2025-11-25"},
		{[]any{"servers", 0, "source", "args", 1}, "echo"},
		{[]any{"servers", 0, "source", "env", "TOKEN"}, "${TOKEN}"},
		{[]any{"servers", 0, "counts", "tool"}, json.Number("3")},
		{[]any{"servers", 0, "changes", 0, "kind"}, "tool"},
		{[]any{"servers", 0, "changes", 0, "status"}, "changed"},
		{[]any{"servers", 0, "changes", 0, "grade"}, "critical"},
		{[]any{"servers", 0, "changes", 0, "aspects", 0, "code"}, "parameter-removed"},
		{[]any{"servers", 0, "changes", 0, "aspects", 0, "path"}, "inputSchema.properties.echo"},
		{[]any{"servers", 0, "changes", 0, "aspects", 1, "new"}, "echo"},
		{[]any{"servers", 0, "changes", 0, "old", "description"}, "old"},
		{[]any{"servers", 0, "changes", 0, "new", "description"}, "new"},
		{[]any{"servers", 0, "changes", 1, "old"}, nil},
		{[]any{"servers", 0, "changes", 2, "old"}, "echo"},
		{[]any{"servers", 1, "source"}, nil},
		{[]any{"findings", 0, "code"}, "parameter-removed"},
		{[]any{"findings", 0, "place", "kind"}, "tool"},
		{[]any{"advice", 0}, "run `agentgateway lock echo`"},
	} {
		if got := at(t, v, tt.path...); !cmp.Equal(got, tt.want) {
			t.Errorf("%v is %v, want %v", tt.path, got, tt.want)
		}
	}
}

// TestJSONKeepsTexts: what is escaped reads back as it was.
func TestJSONKeepsTexts(t *testing.T) {
	for name, text := range hostile {
		if name == "not utf-8" {
			continue // JSON cannot hold it
		}
		v := decode(t, render(t, "json", sample(text)))
		for _, path := range [][]any{{"servers", 0, "name"}, {"servers", 0, "changes", 2, "old"}, {"servers", 0, "source", "args", 1}} {
			if got := at(t, v, path...); got != text {
				t.Errorf("%s: %v is %q, want %q", name, path, got, text)
			}
		}
	}
}

func TestJSONOfNothing(t *testing.T) {
	r := &Report{Command: "diff"}
	r.Conclude()
	out := render(t, "json", r)
	if err := validate(t, "report", out); err != nil {
		t.Error(err)
	}
	if got := at(t, decode(t, out), "findings"); !cmp.Equal(got, []any{}) {
		t.Errorf("findings are %v", got)
	}
}

// TestSchemaRefuses: the schema asks for every member and knows no others.
func TestSchemaRefuses(t *testing.T) {
	out := render(t, "json", sample("echo"))
	objects := map[string][]any{
		"report":  {},
		"server":  {"servers", 0},
		"change":  {"servers", 0, "changes", 0},
		"aspect":  {"servers", 0, "changes", 0, "aspects", 0},
		"finding": {"findings", 0},
	}
	optional := map[string]bool{"hint": true, "detail": true, "undecided": true}
	for name, path := range objects {
		for key := range at(t, decode(t, out), path...).(map[string]any) {
			v := decode(t, out)
			delete(at(t, v, path...).(map[string]any), key)
			if err := schemas["report"].Validate(v); err == nil && !optional[key] {
				t.Errorf("a %s without %s is valid", name, key)
			}
			v = decode(t, out)
			at(t, v, path...).(map[string]any)[key] = map[string]any{"x": 1}
			// A definition may be any object.
			if err := schemas["report"].Validate(v); err == nil && (name != "change" || key != "old" && key != "new") {
				t.Errorf("a %s with a wrong %s is valid", name, key)
			}
		}
		v := decode(t, out)
		at(t, v, path...).(map[string]any)["unknown"] = "x"
		if schemas["report"].Validate(v) == nil {
			t.Errorf("a %s with an unknown member is valid", name)
		}
	}
	v := decode(t, out).(map[string]any)
	v["verdict"] = "pass"
	if schemas["report"].Validate(v) == nil {
		t.Error("a pass with exit code 1 is valid")
	}
}

// TestCodesFitSchema: every code has the form the schema asks for.
func TestCodesFitSchema(t *testing.T) {
	for _, d := range finding.Codes() {
		r := &Report{Command: "ci", Findings: []finding.Finding{finding.New(d.Code, finding.Place{}, "x")}}
		r.Conclude()
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := validate(t, "report", b.String()); err != nil {
			t.Errorf("%s: %v", d.Code, err)
		}
	}
}
