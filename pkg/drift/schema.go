package drift

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
)

// compareSchemas gives a structural account of how a JSON Schema changed. The
// root is the member of the definition that holds it. References within the
// schema are resolved, so that a schema that only moved between inlined and
// referenced parts is told apart from one that takes something else.
func compareSchemas(root string, old, item []byte) []Aspect {
	if old == nil || item == nil {
		a := aspect(finding.SchemaChanged, root, root+" "+howChanged(old, item))
		a.Old, a.New = string(old), string(item)
		return []Aspect{a}
	}
	s := schemas{before: decode(old), now: decode(item), seen: map[pair]bool{}}
	s.compare(root, "", s.before, s.now, 0)
	if len(s.aspects) == 0 {
		a := aspect(finding.SchemaChanged, root, "spelled another way: the same parameters once references are resolved")
		a.Old, a.New = string(old), string(item)
		s.aspects = []Aspect{a}
	}
	return s.aspects
}

// maxSchemaDepth bounds the walk through references that lead to themselves.
const maxSchemaDepth = 48

// maxAspects and maxPairs bound the account of one schema: references can make a
// small schema as large as its writer likes.
const (
	maxAspects = 200
	maxPairs   = 10_000
)

type schemas struct {
	before, now any // the roots, for references
	aspects     []Aspect
	seen        map[pair]bool // compared already, or being compared
}

// pair is two decoded objects by identity.
type pair struct{ old, item uintptr }

func (s *schemas) add(code finding.Code, path, summary string, old, item any) {
	if len(s.aspects) == maxAspects {
		return
	}
	a := aspect(code, path, summary)
	a.Old, a.New = spell(old), spell(item)
	_, oldText := old.(string)
	_, newText := item.(string)
	a.Words = oldText && newText
	s.aspects = append(s.aspects, a)
}

func spell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return encode(v)
}

// compare walks two sub-schemas. path is for machines, param names the parameter
// for people, such as options.depth or items[].
func (s *schemas) compare(path, param string, old, item any, depth int) {
	old, item = resolve(s.before, old), resolve(s.now, item)
	a, aok := old.(map[string]any)
	b, bok := item.(map[string]any)
	if !aok || !bok {
		if !reflect.DeepEqual(old, item) {
			s.add(finding.SchemaChanged, path, name(param)+" changed", old, item)
		}
		return
	}
	p := pair{reflect.ValueOf(a).Pointer(), reflect.ValueOf(b).Pointer()}
	if depth > maxSchemaDepth || s.seen[p] {
		return
	}
	if len(s.seen) == maxPairs {
		s.add(finding.SchemaChanged, path, name(param)+": too large to compare in full", nil, nil)
		return
	}
	s.seen[p] = true
	if reflect.DeepEqual(old, item) && !hasRef(old) {
		return
	}
	s.types(path, param, a, b)
	s.properties(path, param, a, b, depth)
	for _, key := range unionKeys(a, b) {
		s.keyword(path, param, key, a[key], b[key], depth)
	}
}

func name(param string) string {
	if param == "" {
		return "the schema"
	}
	return "parameter " + param
}

func (s *schemas) types(path, param string, a, b map[string]any) {
	if reflect.DeepEqual(a["type"], b["type"]) {
		return
	}
	code := finding.ParameterRetyped
	if param == "" {
		code = finding.SchemaChanged
	}
	s.add(code, path+".type", fmt.Sprintf("%s: type %s → %s", name(param), orAny(a["type"]), orAny(b["type"])), a["type"], b["type"])
}

func orAny(v any) string {
	if v == nil {
		return "any"
	}
	return spell(v)
}

func (s *schemas) properties(path, param string, a, b map[string]any, depth int) {
	before, _ := a["properties"].(map[string]any)
	now, _ := b["properties"].(map[string]any)
	wasRequired, isRequired := stringSet(a["required"]), stringSet(b["required"])
	for _, key := range unionKeys(before, now) {
		old, had := before[key]
		item, has := now[key]
		at, p := path+".properties."+key, join(param, key)
		switch {
		case !has:
			s.add(finding.ParameterRemoved, at, "parameter "+p+" removed", old, nil)
		case !had:
			s.add(finding.ParameterAdded, at, "parameter "+p+" added", nil, item)
		default:
			s.compare(at, p, old, item, depth+1)
		}
	}
	for _, key := range unionKeys(wasRequired, isRequired) {
		_, has := now[key]
		switch {
		case !wasRequired[key] && isRequired[key]:
			s.add(finding.ParameterRequired, path+".required", "parameter "+join(param, key)+" is now required", nil, nil)
		case wasRequired[key] && !isRequired[key] && has:
			s.add(finding.SchemaChanged, path+".required", "parameter "+join(param, key)+" is no longer required", nil, nil)
		}
	}
}

func join(param, key string) string {
	if param == "" {
		return key
	}
	return param + "." + key
}

func stringSet(v any) map[string]bool {
	set := map[string]bool{}
	list, _ := v.([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			set[s] = true
		}
	}
	return set
}

// keyword compares one keyword of two sub-schemas; types, properties and required
// are told by their own functions.
func (s *schemas) keyword(path, param, key string, old, item any, depth int) {
	if reflect.DeepEqual(old, item) && !hasRef(old) {
		return
	}
	at := path + "." + key
	switch key {
	case "type", "properties", "$ref", "$defs", "definitions":
	case "required":
		if len(stringSet(old)) == 0 && len(stringSet(item)) == 0 {
			s.add(finding.SchemaChanged, at, name(param)+": required changed", old, item)
		}
	case "items", "not", "if", "then", "else", "contains", "propertyNames":
		if old != nil && item != nil {
			s.compare(at, param+suffix(key), old, item, depth+1)
			return
		}
		s.add(finding.SchemaChanged, at, name(param)+": "+key+" "+addedOrRemoved(old), old, item)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		s.alternatives(at, param, key, old, item, depth)
	case "enum":
		s.add(finding.SchemaChanged, at, name(param)+": "+enumChange(old, item), old, item)
	case "additionalProperties":
		s.additional(at, param, old, item, depth)
	case "description", "title":
		s.add(finding.DescriptionChanged, at, name(param)+": "+key+" changed", orText(old), orText(item))
	default:
		s.add(finding.SchemaChanged, at, fmt.Sprintf("%s: %s %s → %s", name(param), key, orNone(old), orNone(item)), old, item)
	}
}

// orText keeps an absent text a text, so that a text diff shows it.
func orText(v any) any {
	if v == nil {
		return ""
	}
	return v
}

func orNone(v any) string {
	if v == nil {
		return "none"
	}
	const limit = 60
	if text := spell(v); len(text) <= limit {
		return text
	}
	return "another value"
}

func addedOrRemoved(old any) string {
	if old == nil {
		return "added"
	}
	return "removed"
}

func suffix(key string) string {
	if key == "items" {
		return "[]"
	}
	return " (" + key + ")"
}

func (s *schemas) alternatives(at, param, key string, old, item any, depth int) {
	a, _ := old.([]any)
	b, _ := item.([]any)
	if len(a) != len(b) || len(a) == 0 {
		s.add(finding.ParameterRetyped, at, fmt.Sprintf("%s: %s has %d alternatives, had %d", name(param), key, len(b), len(a)), old, item)
		return
	}
	for i := range a {
		s.compare(fmt.Sprintf("%s[%d]", at, i), fmt.Sprintf("%s (%s %d)", param, key, i+1), a[i], b[i], depth+1)
	}
}

// enumChange says whether the accepted values grew, shrank or both.
func enumChange(old, item any) string {
	a, b := valueSet(old), valueSet(item)
	grew := slices.ContainsFunc(unionKeys(b, nil), func(k string) bool { return !a[k] })
	shrank := slices.ContainsFunc(unionKeys(a, nil), func(k string) bool { return !b[k] })
	switch {
	case old == nil:
		return "enum added"
	case item == nil:
		return "enum removed"
	case grew && shrank:
		return "enum changed"
	case grew:
		return "enum widened"
	case shrank:
		return "enum narrowed"
	}
	return "enum reordered"
}

func valueSet(v any) map[string]bool {
	set := map[string]bool{}
	list, _ := v.([]any)
	for _, e := range list {
		set[encode(e)] = true
	}
	return set
}

func (s *schemas) additional(at, param string, old, item any, depth int) {
	_, oldSchema := old.(map[string]any)
	_, newSchema := item.(map[string]any)
	switch {
	case oldSchema && newSchema:
		s.compare(at, join(param, "*"), old, item, depth+1)
	case old == false:
		s.add(finding.SchemaChanged, at, name(param)+": opened to additional properties", old, item)
	case item == false:
		s.add(finding.SchemaChanged, at, name(param)+": closed to additional properties", old, item)
	default:
		s.add(finding.SchemaChanged, at, name(param)+": additionalProperties changed", old, item)
	}
}

// resolve follows a reference within the schema of the same document.
func resolve(root, v any) any {
	for range maxSchemaDepth {
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		ref, ok := m["$ref"].(string)
		if !ok || !strings.HasPrefix(ref, "#") {
			return v
		}
		target, ok := lookup(root, ref[1:])
		if !ok {
			return v
		}
		v = merge(m, target)
	}
	return v
}

// merge puts the keywords that stand beside a reference over those it leads to.
func merge(beside map[string]any, target any) any {
	t, ok := target.(map[string]any)
	if !ok || len(beside) == 1 {
		return target
	}
	out := make(map[string]any, len(t)+len(beside))
	maps.Copy(out, t)
	for k, v := range beside {
		if k != "$ref" {
			out[k] = v
		}
	}
	return out
}

// lookup follows a JSON pointer (RFC 6901) without percent-encoding.
func lookup(root any, pointer string) (any, bool) {
	if pointer == "" {
		return root, true
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		m, ok := root.(map[string]any)
		if !ok {
			return nil, false
		}
		if root, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]; !ok {
			return nil, false
		}
	}
	return root, true
}

// hasRef reports whether a reference stands anywhere in v: then equal spelling
// does not mean equal meaning.
func hasRef(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if k == "$ref" || hasRef(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasRef)
	}
	return false
}
