package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

// sarifSchema is the part of SARIF 2.1.0 that is written, each object with the
// members it must have and, of the others, those that are used. It refuses every
// other name, so a member that is spelled wrong is found.
const sarifSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object", "additionalProperties": false, "required": ["version", "$schema", "runs"],
  "properties": {
    "version": {"const": "2.1.0"},
    "$schema": {"const": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
    "runs": {"type": "array", "minItems": 1, "maxItems": 1, "items": {
      "type": "object", "additionalProperties": false, "required": ["tool", "automationDetails", "invocations", "results"],
      "properties": {
        "tool": {"type": "object", "additionalProperties": false, "required": ["driver"], "properties": {"driver": {"$ref": "#/$defs/driver"}}},
        "automationDetails": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {"id": {"type": "string", "minLength": 1}}},
        "invocations": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": "#/$defs/invocation"}},
        "results": {"type": "array", "maxItems": 25000, "items": {"$ref": "#/$defs/result"}}
      }
    }}
  },
  "$defs": {
    "level": {"enum": ["error", "warning", "note"]},
    "message": {"type": "object", "additionalProperties": false, "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}},
    "driver": {
      "type": "object", "additionalProperties": false, "required": ["name", "rules"],
      "properties": {
        "name": {"const": "agentgateway-lock"}, "version": {"type": "string", "minLength": 1},
        "rules": {"type": "array", "uniqueItems": true, "items": {
          "type": "object", "additionalProperties": false, "required": ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
          "properties": {
            "id": {"type": "string", "minLength": 1},
            "shortDescription": {"$ref": "#/$defs/message"}, "fullDescription": {"$ref": "#/$defs/message"}, "help": {"$ref": "#/$defs/message"},
            "defaultConfiguration": {"type": "object", "additionalProperties": false, "required": ["level"], "properties": {"level": {"$ref": "#/$defs/level"}}}
          }
        }}
      }
    },
    "invocation": {
      "type": "object", "additionalProperties": false, "required": ["executionSuccessful", "exitCode"],
      "properties": {
        "executionSuccessful": {"type": "boolean"}, "exitCode": {"type": "integer"},
        "toolExecutionNotifications": {"type": "array", "minItems": 1, "items": {
          "type": "object", "additionalProperties": false, "required": ["descriptor", "level", "message"],
          "properties": {
            "descriptor": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {"id": {"type": "string"}}},
            "level": {"$ref": "#/$defs/level"}, "message": {"$ref": "#/$defs/message"}
          }
        }}
      }
    },
    "result": {
      "type": "object", "additionalProperties": false,
      "required": ["ruleId", "level", "message", "locations", "partialFingerprints", "properties"],
      "properties": {
        "ruleId": {"type": "string", "minLength": 1}, "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"$ref": "#/$defs/level"}, "message": {"$ref": "#/$defs/message"},
        "locations": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": "#/$defs/location"}},
        "partialFingerprints": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}:[1-9][0-9]*$"}},
        "properties": {"type": "object"}
      }
    },
    "location": {
      "type": "object", "additionalProperties": false, "required": ["physicalLocation"],
      "properties": {
        "physicalLocation": {
          "type": "object", "additionalProperties": false, "required": ["artifactLocation", "region"],
          "properties": {
            "artifactLocation": {
              "type": "object", "additionalProperties": false, "required": ["uri"],
              "properties": {"uri": {"type": "string", "minLength": 1, "pattern": "^[!#-;=?-Z_a-z~%\\[\\]]+$"}, "uriBaseId": {"const": "%SRCROOT%"}}
            },
            "region": {"type": "object", "additionalProperties": false, "required": ["startLine"], "properties": {"startLine": {"type": "integer", "minimum": 1}}}
          }
        },
        "logicalLocations": {"type": "array", "minItems": 1, "items": {
          "type": "object", "additionalProperties": false, "required": ["name", "fullyQualifiedName", "kind"],
          "properties": {"name": {"type": "string"}, "fullyQualifiedName": {"type": "string"}, "kind": {"type": "string"}}
        }}
      }
    }
  }
}`

func checkSARIF(t *testing.T, out string) {
	t.Helper()
	if err := validate(t, "sarif", out); err != nil {
		t.Errorf("sarif: %v", err)
		return
	}
	run := at(t, decode(t, out), "runs", 0)
	rules := at(t, run, "tool", "driver", "rules").([]any)
	seen := map[any]bool{}
	for _, result := range at(t, run, "results").([]any) {
		if index := at(t, result, "ruleIndex"); index != nil {
			var i int
			fmt.Sscan(fmt.Sprint(index), &i)
			if id := at(t, rules[i], "id"); id != at(t, result, "ruleId") {
				t.Errorf("sarif: rule %d is %v, the result's %v", i, id, at(t, result, "ruleId"))
			}
		}
		print := at(t, result, "partialFingerprints", "primaryLocationLineHash")
		if seen[print] {
			t.Errorf("sarif: two results have the fingerprint %v", print)
		}
		seen[print] = true
		text := at(t, result, "message", "text").(string)
		if rest := strings.NewReplacer("{{", "", "}}", "").Replace(text); strings.ContainsAny(rest, "{}") || strings.Contains(text, "](") {
			t.Errorf("sarif: a placeholder or link in %q", text)
		}
	}
}

func TestSARIFMembers(t *testing.T) {
	r := sample("echo")
	r.Findings[0].Place.File, r.Findings[0].Place.Line = "agentgateway.lock", 12
	run := at(t, decode(t, render(t, "sarif", r)), "runs", 0)
	for _, tt := range []struct {
		path []any
		want any
	}{
		{[]any{"automationDetails", "id"}, "agentgateway/ci/agentgateway.lock/"},
		{[]any{"invocations", 0, "executionSuccessful"}, false}, // a server could not be listed
		{[]any{"tool", "driver", "version"}, "0.1.0"},
		{[]any{"results", 0, "ruleId"}, "parameter-removed"},
		{[]any{"results", 0, "level"}, "error"},
		{[]any{"results", 0, "message", "text"}, "echo/echo: echo removed\nRead the change, then run `agentgateway lock`.\n-{{\"type\":\"string\"}}"},
		{[]any{"results", 0, "locations", 0, "physicalLocation", "artifactLocation", "uri"}, "agentgateway.lock"},
		{[]any{"results", 0, "locations", 0, "logicalLocations", 0, "fullyQualifiedName"}, "echo/echo"},
		{[]any{"results", 0, "locations", 0, "logicalLocations", 0, "kind"}, "tool"},
		{[]any{"results", 0, "properties", "grade"}, "critical"},
	} {
		if got := at(t, run, tt.path...); !cmp.Equal(got, tt.want) {
			t.Errorf("%v is %v, want %v", tt.path, got, tt.want)
		}
	}
	if line := at(t, run, "results", 0, "locations", 0, "physicalLocation", "region", "startLine"); fmt.Sprint(line) != "12" {
		t.Errorf("the line is %v", line)
	}
	for _, rule := range at(t, run, "tool", "driver", "rules").([]any) {
		d := finding.Lookup(finding.Code(at(t, rule, "id").(string)))
		if want := sarifMessage(d.Action); at(t, rule, "help", "text") != want {
			t.Errorf("%s: help is %v, want %v", d.Code, at(t, rule, "help", "text"), want)
		}
	}
}

func TestSARIFLevels(t *testing.T) {
	want := map[finding.Grade]string{finding.Critical: "error", finding.Warning: "warning", finding.Info: "note", finding.Note: "note"}
	for grade, level := range want {
		if got := sarifLevel(grade); got != level {
			t.Errorf("%s is the level %s, want %s", grade, got, level)
		}
	}
}

func TestSARIFPaths(t *testing.T) {
	for file, want := range map[string]sarifArtifact{
		"agentgateway.lock":     {"agentgateway.lock", "%SRCROOT%"},
		"a b/ü%.lock":           {"a%20b/%C3%BC%25.lock", "%SRCROOT%"},
		"a:b/c":                 {"./a:b/c", "%SRCROOT%"},
		"x?y#z":                 {"x%3Fy%23z", "%SRCROOT%"},
		"/home/u/mcp.json":      {"file:///home/u/mcp.json", ""},
		"//host/x":              {"file:///host/x", ""},
		"C:/Users/u/mcp.json":   {"file:///C:/Users/u/mcp.json", ""},
		"javascript:alert(1)":   {"./javascript:alert%281%29", "%SRCROOT%"},
		"https://example.com/x": {"./https://example.com/x", "%SRCROOT%"},
	} {
		if got := artifactLocation(file); got != want {
			t.Errorf("%q is %v, want %v", file, got, want)
		}
	}
}

// fingerprints returns the fingerprint of each result.
func fingerprints(t *testing.T, r *Report) []string {
	t.Helper()
	var out []string
	for _, result := range at(t, decode(t, render(t, "sarif", r)), "runs", 0, "results").([]any) {
		out = append(out, at(t, result, "partialFingerprints", "agentgatewayFinding/v1").(string))
	}
	return out
}

func TestSARIFFingerprints(t *testing.T) {
	report := func(definition, detail string, line int) *Report {
		changes := []drift.Change{{Kind: surface.KindTool, Name: "echo", Status: drift.Changed, New: []byte(definition),
			Aspects: []drift.Aspect{{Code: finding.DescriptionChanged, Grade: finding.Warning, Summary: "description changed"}}}}
		r := &Report{Command: "ci", Lockfile: "agentgateway.lock", Servers: []Server{{Name: "s", Changes: changes}}, Findings: FindingsOf("s", changes)}
		r.Findings[0].Detail, r.Findings[0].Place.File, r.Findings[0].Place.Line = detail, "agentgateway.lock", line
		return r
	}
	base := fingerprints(t, report(`{"name":"echo"}`, "took 3 s", 4))
	if got := fingerprints(t, report(`{"name":"echo"}`, "took 5 s", 40)); !cmp.Equal(got, base) {
		t.Error("the fingerprint depends on lines or details")
	}
	if got := fingerprints(t, report(`{"name":"echo","x":1}`, "took 3 s", 4)); cmp.Equal(got, base) {
		t.Error("the fingerprint does not depend on the definition")
	}
	twice := report(`{"name":"echo"}`, "", 4)
	twice.Findings = append(twice.Findings, twice.Findings[0])
	got := fingerprints(t, twice)
	if got[0] != base[0] || got[1] != strings.TrimSuffix(base[0], ":1")+":2" {
		t.Errorf("equal findings have the fingerprints %v", got)
	}
}

// many is a report of n findings of one grade.
func many(n int, grade finding.Grade) *Report {
	r := &Report{Command: "ci", Lockfile: "agentgateway.lock", FailOn: finding.Info}
	for i := range n {
		f := finding.New(finding.ToolAdded, finding.Place{Server: "s", Kind: "tool", Name: fmt.Sprintf("tool-%06d", i)}, "new")
		f.Grade = grade
		r.Findings = append(r.Findings, f)
	}
	r.Conclude()
	return r
}

func TestSARIFCut(t *testing.T) {
	run := at(t, decode(t, render(t, "sarif", many(25_003, finding.Warning))), "runs", 0)
	if n := len(at(t, run, "results").([]any)); n != 25_000 {
		t.Errorf("%d results", n)
	}
	text := at(t, run, "invocations", 0, "toolExecutionNotifications", 0, "message", "text").(string)
	if !strings.HasPrefix(text, "3 more results are left out") {
		t.Errorf("the notification says %q", text)
	}
	if at(t, decode(t, render(t, "sarif", many(3, finding.Warning))), "runs", 0, "invocations", 0, "executionSuccessful") != true {
		t.Error("a run that decided everything is not successful")
	}
}
