package drift

import (
	"bytes"
	"cmp"
	"fmt"
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
				if x.Code != finding.TooLargeToGrade {
					x.Code, x.Grade = finding.OutputSchemaChanged, finding.Warning
				}
				aspects = append(aspects, x)
			}
		case "annotations":
			aspects = append(aspects, compareAnnotations(a, b)...)
		default:
			aspects = append(aspects, compareMember(key, a, b))
		}
		if len(aspects) > maxAspects {
			aspects = append(aspects[:maxAspects], tooLarge("", fmt.Sprintf("more than %d differences", maxAspects)))
			break
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
	key, whole := (&trail{step: key}).words()
	a := aspect(code, key, key+" "+howChanged(old, item))
	a.Old, a.New, a.Words, a.Whole = shown(old), shown(item), isText(old) && isText(item), whole
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
	aspects := loosened(before, now)
	if len(before)+len(now) == 0 || old != nil && !isObject(old) || item != nil && !isObject(item) {
		a := aspect(finding.AnnotationsChanged, "annotations", "annotations "+howChanged(old, item))
		a.Old, a.New, a.Whole = string(old), string(item), true
		return append(aspects, a)
	}
	for _, key := range unionKeys(before, now) {
		if bytes.Equal(before[key], now[key]) || slices.ContainsFunc(aspects, func(a Aspect) bool { return a.Path == "annotations."+key }) {
			continue
		}
		path, whole := (&trail{step: "annotations"}).member(key).words()
		a := aspect(finding.AnnotationsChanged, path, strings.TrimPrefix(path, "annotations.")+" "+howChanged(before[key], now[key]))
		if key == "title" {
			a.Code, a.Grade = finding.TitleChanged, finding.Info
		}
		a.Old, a.New, a.Whole = shown(before[key]), shown(now[key]), whole
		aspects = append(aspects, a)
	}
	return aspects
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

// loosened tells which hints claim less safety than before, an absent one taken as
// the protocol takes it.
func loosened(before, now map[string][]byte) []Aspect {
	var aspects []Aspect
	for _, key := range unionKeys(hints, nil) {
		h := hints[key]
		was, is := hintValue(before[key], h.absent), hintValue(now[key], h.absent)
		if was != is && is == h.loose {
			a := aspect(finding.HintLoosened, "annotations."+key, key+" now claims less safety")
			a.Old, a.New, a.Whole = shown(before[key]), shown(now[key]), true
			aspects = append(aspects, a)
		}
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
		a.Old, a.New, a.Words, a.Whole = string(old), string(item), true, true
		c.Aspects = []Aspect{a}
	default:
		c.Aspects = compareDefinitions(old, item)
	}
	slices.SortStableFunc(c.Aspects, func(a, b Aspect) int { return cmp.Compare(b.Grade, a.Grade) })
	return c
}
