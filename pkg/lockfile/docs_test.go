package lockfile_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/schema"
)

const page = "../../docs/lockfile.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every example of the page is a lockfile in the form that Format writes, with
// hashes that fit each other.
func TestExamplesOfThePage(t *testing.T) {
	compiled := compileSchema(t)
	parts := strings.Split(readPage(t), "```json lockfile\n")
	if len(parts) < 3 {
		t.Fatalf("%d examples", len(parts)-1)
	}
	for _, part := range parts[1:] {
		example, _, _ := strings.Cut(part, "```")
		f := mustParse(t, []byte(example))
		for _, finding := range lockfile.Check(f) {
			t.Errorf("%v in\n%s", finding, example)
		}
		if !schemaAccepts(compiled, []byte(example)) {
			t.Errorf("the schema refuses\n%s", example)
		}
	}
}

// Every member and every word of the schema stands on the page.
func TestPageNamesEveryMember(t *testing.T) {
	text := readPage(t)
	var root map[string]any
	if err := json.Unmarshal(schema.Lockfile, &root); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	collect(root, names)
	if len(names) < 50 {
		t.Errorf("only %d names: %v", len(names), names)
	}
	for name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s does not name `%s`", page, name)
		}
	}
}

// collect adds the names of all properties and the words of all enumerations.
func collect(node any, names map[string]bool) {
	switch node := node.(type) {
	case map[string]any:
		if properties, ok := node["properties"].(map[string]any); ok {
			for name := range properties {
				names[name] = true
			}
		}
		if words, ok := node["enum"].([]any); ok {
			for _, word := range words {
				names[word.(string)] = true
			}
		}
		for _, child := range node {
			collect(child, names)
		}
	case []any:
		for _, child := range node {
			collect(child, names)
		}
	}
}

// The schema and the page know all rules by which a definition is refused.
func TestSchemaKnowsEveryRule(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(schema.Lockfile, &root); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	collect(root, names)
	for _, rule := range canonical.Rules() {
		if !names[string(rule)] {
			t.Errorf("the schema lacks the rule %s", rule)
		}
	}
}
