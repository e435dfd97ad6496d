package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agentgateway-lock/pkg/canonical"
)

// An author writes random definitions and random changes of them: what a server
// could send to hide a word from who reads it.
type author struct {
	*rand.Rand
	words int // each has its own, so that one cannot be taken for another
}

// schemaMembers are the names that readers of schemas give a meaning to.
var schemaMembers = []string{
	"type", "properties", "required", "$ref", "$defs", "definitions", "description", "title", "enum", "const", "default",
	"items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "dependentRequired",
	"additionalProperties", "propertyNames", "contains", "examples", "$comment", "$schema", "$id", "$anchor", "format", "pattern",
}

var definitionMembers = []string{"title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "execution"}

// unseen are characters that a reader overlooks or a terminal obeys.
var unseen = []string{
	"\u202e", "\u2066", "\u200b", "\u00ad", "\ufeff", "\U000e0041\U000e0042", "\x1b[2K", "\x1b]0;x\x07", "\x00", "\r", "\u2028", "\u3164", "\u00a0",
}

// odd are texts with a meaning to whoever prints or reads a diff.
var odd = []string{
	"\n", "\t", `"`, `\`, `\u0041`, `\u{0041}`, "::error::", "##[group]", "[-", "+}", "@@ -1 +1 @@", "\n+ ", "\n::stop-commands::x", "…", "日本語", "é", "🙂", "  ", "<!--", "|",
}

func (a *author) word() string {
	a.words++
	return fmt.Sprintf("w%dx", a.words)
}

// text is some words with what goes between them.
func (a *author) text() string {
	n := 1 + a.IntN(6)
	switch a.IntN(20) {
	case 0:
		n = 100 + a.IntN(900)
	case 1, 2:
		n = 30 + a.IntN(60)
	}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(a.word())
		switch a.IntN(30) {
		case 0:
			b.WriteString(unseen[a.IntN(len(unseen))] + a.word())
		case 1:
			b.WriteString(odd[a.IntN(len(odd))] + a.word())
		case 2:
			b.WriteString(strings.Repeat(a.word(), 1+a.IntN(40)))
		}
	}
	return b.String()
}

// name is the name of a member.
func (a *author) name() string {
	switch a.IntN(8) {
	case 0:
		return a.word() + unseen[a.IntN(len(unseen))] + a.word()
	case 1:
		return a.word() + odd[a.IntN(len(odd))]
	case 2:
		return a.text()
	}
	return a.word()
}

func (a *author) value(depth int) any {
	switch a.IntN(10) {
	case 0, 1:
		return json.Number(fmt.Sprintf("%d", a.IntN(1_000_000_000)))
	case 2:
		return a.IntN(2) == 0
	case 3:
		if depth > 0 {
			var list []any
			for range a.IntN(4) {
				list = append(list, a.value(depth-1))
			}
			return list
		}
	case 4, 5:
		if depth > 0 {
			object := map[string]any{}
			for range a.IntN(4) {
				object[a.name()] = a.value(depth - 1)
			}
			return object
		}
	}
	return a.text()
}

// schema is a schema, or what should be one.
func (a *author) schema(depth int) any {
	if depth <= 0 || a.IntN(12) == 0 {
		return a.value(1)
	}
	s := map[string]any{"type": "object"}
	for range 1 + a.IntN(5) {
		member := schemaMembers[a.IntN(len(schemaMembers))]
		switch {
		case a.IntN(5) == 0:
			s[member] = a.value(2)
		case member == "properties", member == "$defs", member == "definitions", member == "patternProperties":
			parts := map[string]any{}
			for range 1 + a.IntN(4) {
				parts[a.name()] = a.schema(depth - 1)
			}
			s[member] = parts
		case member == "$ref":
			s[member] = []string{"#", "#/$defs/d", "#/properties/p", "#/$defs/none"}[a.IntN(4)]
		case member == "anyOf", member == "oneOf", member == "allOf", member == "prefixItems":
			s[member] = []any{a.schema(depth - 1), a.schema(depth - 1)}
		case member == "required", member == "enum", member == "examples":
			s[member] = []any{a.text(), a.value(1), a.word()}
		case member == "description", member == "title", member == "pattern", member == "$comment":
			s[member] = a.text()
		default:
			s[member] = a.schema(depth - 1)
		}
	}
	if a.IntN(4) == 0 {
		s["$defs"] = map[string]any{"d": a.schema(depth - 1), a.name(): a.schema(1)}
	}
	return s
}

func (a *author) definition() map[string]any {
	d := map[string]any{"name": "tool", "description": a.text(), "inputSchema": a.schema(4)}
	for range a.IntN(4) {
		switch member := definitionMembers[a.IntN(len(definitionMembers))]; {
		case strings.HasSuffix(member, "Schema"):
			d[member] = a.schema(3)
		case member == "description", member == "title":
			d[member] = a.text()
		default:
			d[member] = a.value(3)
		}
	}
	if a.IntN(5) == 0 {
		d[a.name()] = a.value(3)
	}
	if a.IntN(6) == 0 { // deeper than anybody reads
		var deep any = map[string]any{"description": a.text()}
		for range 20 + a.IntN(40) {
			deep = map[string]any{"properties": map[string]any{a.word(): deep}}
		}
		d["inputSchema"] = deep
	}
	return d
}

// change returns a copy of a definition in which something differs.
func (a *author) change(definition map[string]any) map[string]any {
	changed := clone(definition).(map[string]any)
	n := 1 + a.IntN(4)
	if a.IntN(15) == 0 { // more than anybody counts
		many := map[string]any{}
		for range 250 {
			many[a.word()] = a.value(1)
		}
		changed["inputSchema"] = map[string]any{"properties": many}
	}
	for range n {
		a.changeWithin(changed, a.IntN(60))
	}
	changed["name"] = "tool"
	return changed
}

// changeWithin changes one thing in an object, down levels below it or as many as
// there are.
func (a *author) changeWithin(object map[string]any, down int) {
	names := slices.Sorted(maps.Keys(object))
	if len(names) > 0 && down > 0 {
		name := names[a.IntN(len(names))]
		switch v := object[name].(type) {
		case map[string]any:
			a.changeWithin(v, down-1)
			return
		case []any:
			for _, e := range v {
				if inner, ok := e.(map[string]any); ok && a.IntN(2) == 0 {
					a.changeWithin(inner, down-1)
					return
				}
			}
			object[name] = append(slices.Clone(v), a.value(2))
			return
		case string:
			switch at := a.IntN(len(v) + 1); {
			case strings.IndexByte(v[at:], ' ') >= 0: // in the middle
				at += strings.IndexByte(v[at:], ' ')
				object[name] = v[:at] + " " + a.text() + v[at:]
			default:
				object[name] = v + " " + a.text()
			}
			return
		}
	}
	switch {
	case len(names) > 1 && a.IntN(3) == 0:
		delete(object, names[a.IntN(len(names))])
	case len(names) > 0 && a.IntN(2) == 0:
		object[names[a.IntN(len(names))]] = a.value(2)
	case a.IntN(2) == 0:
		object[schemaMembers[a.IntN(len(schemaMembers))]] = a.schema(2)
	default:
		object[a.name()] = a.value(3)
	}
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// canonicalForm is the definition as it is hashed.
func canonicalForm(t *testing.T, definition map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	out, err := canonical.Append(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tokens adds every text, number and name of a value.
func tokens(v any, to map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			to[k] = true
			tokens(e, to)
		}
	case []any:
		for _, e := range v {
			tokens(e, to)
		}
	case string:
		to[v] = true
	case json.Number:
		to[string(v)] = true
	}
}

// onlyIn lists what one of two definitions has and the other has not.
func onlyIn(a, b map[string]any) []string {
	of, other := map[string]bool{}, map[string]bool{}
	tokens(a, of)
	tokens(b, other)
	for token := range other {
		delete(of, token)
	}
	delete(of, "")
	return slices.Sorted(maps.Keys(of))
}
