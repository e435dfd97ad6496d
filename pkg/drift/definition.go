package drift

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

// compareDefinitions tells how two canonical definitions differ, member by
// member.
func compareDefinitions(old, item []byte) []Aspect {
	before, now := members(old), members(item)
	var aspects []Aspect
	for _, key := range unionKeys(before, now) {
		a, b := before[key], now[key]
		if bytes.Equal(a, b) {
			continue
		}
		switch key {
		case "inputSchema":
			aspects = append(aspects, compareSchemas(key, a, b)...)
		case "outputSchema":
			for _, x := range compareSchemas(key, a, b) {
				x.Code, x.Grade = finding.OutputSchemaChanged, finding.Warning
				aspects = append(aspects, x)
			}
		case "annotations":
			aspects = append(aspects, compareAnnotations(a, b)...)
		default:
			aspects = append(aspects, compareMember(key, a, b))
		}
	}
	return aspects
}

// memberCodes gives members whose change has a code of its own.
var memberCodes = map[string]finding.Code{
	"description": finding.DescriptionChanged,
	"title":       finding.TitleChanged,
	"icons":       finding.IconsChanged,
	"_meta":       finding.MetaChanged,
}

func compareMember(key string, old, item []byte) Aspect {
	code, ok := memberCodes[key]
	if !ok {
		code = finding.DefinitionChanged
	}
	a := aspect(code, key, key+" "+howChanged(old, item))
	a.Old, a.New, a.Words = shown(old), shown(item), isText(old) && isText(item)
	return a
}

func howChanged(old, item []byte) string {
	switch {
	case old == nil:
		return "added"
	case item == nil:
		return "removed"
	}
	return "changed"
}

// isText reports whether a value is absent or a JSON string.
func isText(v []byte) bool { return len(v) == 0 || v[0] == '"' }

// shown spells a value for people: the text of a string, else its JSON.
func shown(v []byte) string {
	if len(v) > 0 && v[0] == '"' {
		return canonical.Unquote(v)
	}
	return string(v)
}

// members returns the members of a canonical object; none of another value.
func members(object []byte) map[string][]byte {
	m := map[string][]byte{}
	r := canonical.NewReader(object)
	_ = r.Object(func(key []byte) error {
		raw, err := r.Raw()
		m[string(key)] = raw
		return err
	})
	return m
}

func unionKeys[V any](a, b map[string]V) []string {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// hints are the annotations that claim safety, with what the protocol takes them
// to be where they are absent, and the value that claims less.
var hints = map[string]struct{ absent, loose bool }{
	"readOnlyHint":    {absent: false, loose: false},
	"destructiveHint": {absent: true, loose: true},
	"openWorldHint":   {absent: true, loose: true},
}

func compareAnnotations(old, item []byte) []Aspect {
	before, now := members(old), members(item)
	var aspects []Aspect
	for _, key := range unionKeys(before, now) {
		if bytes.Equal(before[key], now[key]) {
			continue
		}
		a := aspect(finding.AnnotationsChanged, "annotations."+key, key+" "+howChanged(before[key], now[key]))
		if h, ok := hints[key]; ok {
			was, is := hintValue(before[key], h.absent), hintValue(now[key], h.absent)
			if was != is && is == h.loose {
				a = aspect(finding.HintLoosened, a.Path, key+" now claims less safety")
			}
		}
		if key == "title" {
			a.Code, a.Grade = finding.TitleChanged, finding.Info
		}
		a.Old, a.New = shown(before[key]), shown(now[key])
		aspects = append(aspects, a)
	}
	if len(aspects) == 0 {
		a := aspect(finding.AnnotationsChanged, "annotations", "annotations "+howChanged(old, item))
		a.Old, a.New = string(old), string(item)
		aspects = append(aspects, a)
	}
	return aspects
}

func hintValue(v []byte, absent bool) bool {
	switch string(v) {
	case "true":
		return true
	case "false":
		return false
	}
	return absent
}

// decode reads a canonical value into maps, slices and numbers as spelled.
func decode(v []byte) any {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// encode spells a decoded value as compact JSON.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// Description returns the description of a canonical definition; empty where it
// has none.
func Description(definition []byte) string {
	if v := members(definition)["description"]; len(v) > 0 && v[0] == '"' {
		return canonical.Unquote(v)
	}
	return ""
}

// Title returns the title of a canonical definition; empty where it has none.
func Title(definition []byte) string {
	if v := members(definition)["title"]; len(v) > 0 && v[0] == '"' {
		return canonical.Unquote(v)
	}
	return ""
}

// A NamedText is one text within a definition.
type NamedText struct {
	Path string // such as inputSchema.properties.path.description
	Text string
}

// Texts returns every string of a canonical definition, and every member name of
// its schemas, in canonical order: all that an agent could read.
func Texts(definition []byte) []NamedText {
	var out []NamedText
	collectTexts(&out, "", definition)
	return out
}

func collectTexts(out *[]NamedText, path string, v []byte) {
	if len(v) == 0 {
		return
	}
	switch r := canonical.NewReader(v); v[0] {
	case '"':
		*out = append(*out, NamedText{path, canonical.Unquote(v)})
	case '{':
		_ = r.Object(func(key []byte) error {
			at := join(path, string(key))
			raw, err := r.Raw()
			if strings.HasSuffix(path, "properties") {
				*out = append(*out, NamedText{at + " (name)", string(key)})
			}
			collectTexts(out, at, raw)
			return err
		})
	case '[':
		_ = r.Array(func() error {
			raw, err := r.Raw()
			collectTexts(out, path+"[]", raw)
			return err
		})
	}
}

// Between tells how one item's text differs from the one before; a nil text is
// one that is not there.
func Between(kind surface.Kind, name string, old, item []byte) Change {
	c := Change{Kind: kind, Name: name, Status: Changed, Old: old, New: item}
	switch {
	case old == nil:
		c.Status = Added
	case item == nil:
		c.Status = Removed
	case kind == surface.KindInstructions:
		a := aspect(finding.InstructionsChanged, "instructions", "the instructions differ")
		a.Old, a.New, a.Words = string(old), string(item), true
		c.Aspects = []Aspect{a}
	default:
		c.Aspects = compareDefinitions(old, item)
	}
	slices.SortStableFunc(c.Aspects, func(a, b Aspect) int { return cmp.Compare(b.Grade, a.Grade) })
	return c
}
