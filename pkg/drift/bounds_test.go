package drift

import (
	"fmt"
	"strings"
	"testing"

	"agentgateway-lock/pkg/finding"
)

// nested is a schema within n properties of one another.
func nested(n int, inner string) string {
	return strings.Repeat(`{"properties":{"p":`, n) + inner + strings.Repeat(`}}`, n)
}

func parameters(n int, each func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`"p%06d":%s`, i, each(i))
	}
	return `{` + strings.Join(parts, ",") + `}`
}

// TestBounds: a change that is not compared to its end is critical, whatever was
// found until then; one within the bounds is not.
func TestBounds(t *testing.T) {
	empty := func(int) string { return `{}` }
	chain := func(n int) string { // each definition refers to the next twice, with a word of its own
		return parameters(n, func(i int) string {
			next := fmt.Sprintf(`{"$ref":"#/$defs/p%06d","title":"t"}`, (i+1)%n)
			return `{"properties":{"a":` + next + `,"b":` + next + `}}`
		})
	}
	for _, tt := range []struct {
		name     string
		old, now string
		too      bool
	}{
		{"200 differences", `{}`, `{"properties":` + parameters(maxAspects, empty) + `}`, false},
		{"201 differences", `{}`, `{"properties":` + parameters(maxAspects+1, empty) + `}`, true},
		{"60 levels", nested(60, `{}`), nested(60, `{"x":1}`), false},
		{"references that double", `{"$ref":"#/$defs/p000000","$defs":` + chain(100) + `}`, `{"$ref":"#/$defs/p000000","maximum":1,"$defs":` + chain(101) + `}`, true},
		{"a reference to itself", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"$ref":"#/properties/a"}},"x":1}`, true},
	} {
		for _, member := range []string{"inputSchema", "outputSchema"} {
			changes := Compare(side(t, tool("t", `,"`+member+`":`+tt.old)), side(t, tool("t", `,"`+member+`":`+tt.now)))
			if len(changes) != 1 {
				t.Fatalf("%s: %d changes", tt.name, len(changes))
			}
			c := changes[0]
			if too := c.Aspects[0].Code == finding.TooLargeToGrade; too != tt.too || too != (c.Grade() == finding.Critical) {
				t.Errorf("%s of %s: first %s, grade %s", tt.name, member, c.Aspects[0].Code, c.Grade())
			}
		}
	}
}

// TestManyMembers: the account of a definition of many members is bounded too.
func TestManyMembers(t *testing.T) {
	for _, within := range []string{`,"annotations":{%s}`, `,%s`} {
		var members []string
		for i := range 300 {
			members = append(members, fmt.Sprintf(`"m%d":1`, i))
		}
		c := Compare(side(t, tool("t", ``)), side(t, tool("t", fmt.Sprintf(within, strings.Join(members, ",")))))[0]
		if len(c.Aspects) > maxAspects+1 || c.Grade() != finding.Critical {
			t.Errorf("%d aspects, %s", len(c.Aspects), c.Grade())
		}
	}
}

// BenchmarkLargest compares definitions of 800 kB of which every part differs, or
// leads to every other.
func BenchmarkLargest(b *testing.B) {
	shapes := map[string]func(word string) string{
		"parameters": func(word string) string {
			return `{"properties":` + parameters(20_000, func(int) string { return `{"title":"` + word + `"}` }) + `}`
		},
		"references": func(word string) string {
			return `{"properties":` + parameters(16_000, func(int) string { return `{"$ref":"#","title":"` + word + `"}` }) + `}`
		},
		"deep": func(word string) string { return nested(60, `{"title":"`+strings.Repeat(word, 800_000)+`"}`) },
		"long names": func(word string) string {
			return strings.Repeat(`{"properties":{"`+strings.Repeat("n", 8_000)+`":`, 60) + `{"properties":` +
				parameters(10_000, func(int) string { return `"` + word + `"` }) + `}` + strings.Repeat(`}}`, 60)
		},
		"enum": func(word string) string {
			return `{"enum":["` + strings.Repeat(word+`","`, 200_000) + `"]}`
		},
	}
	for name, shape := range shapes {
		b.Run(name, func(b *testing.B) {
			old, now := []byte(`{"inputSchema":`+shape("a")+`}`), []byte(`{"inputSchema":`+shape("b")+`}`)
			for b.Loop() {
				Between("tool", "t", old, now)
			}
		})
	}
}
