package surface

import (
	"bytes"
	"strconv"

	"agentgateway-lock/pkg/canonical"
)

// The gateway profile. The gateway decodes a list into typed structs and encodes
// it again before its hook runs, so members it does not know are gone. A
// projection does the same to a canonical text.

// profile says what is kept of an object: its known members, each with what is
// done to its value.
type profile map[string]treatment

// treatment is what the profile does to one member's value.
type treatment struct {
	want   canonical.Kind // the type the gateway decodes into; KindNone for any
	object profile        // the value is an object of this profile
	each   profile        // the value is an array of objects of this profile
	special
}

type special int

const (
	asIs         special = iota
	metaUI               // without the pointer to a UI resource
	float32Value         // rounded to float32
	iconTheme            // light or dark
)

var (
	textMember = treatment{want: canonical.KindString}
	boolMember = treatment{want: canonical.KindBool}
	metaMember = treatment{want: canonical.KindObject, special: metaUI}
	icons      = treatment{want: canonical.KindArray, each: profile{
		"src": textMember, "mimeType": textMember, "sizes": {want: canonical.KindArray},
		"theme": {want: canonical.KindString, special: iconTheme},
	}}
	audience = treatment{want: canonical.KindObject, object: profile{
		"audience": {want: canonical.KindArray}, "lastModified": textMember,
		"priority": {want: canonical.KindNumber, special: float32Value},
	}}
)

var profiles = map[Kind]profile{
	KindTool: {
		"name": textMember, "title": textMember, "description": textMember,
		"inputSchema": {want: canonical.KindObject}, "outputSchema": {want: canonical.KindObject},
		"annotations": {want: canonical.KindObject, object: profile{
			"title": textMember, "readOnlyHint": boolMember, "destructiveHint": boolMember,
			"idempotentHint": boolMember, "openWorldHint": boolMember,
		}},
		"icons": icons, "_meta": metaMember,
	},
	KindPrompt: {
		"name": textMember, "title": textMember, "description": textMember,
		"arguments": {want: canonical.KindArray, each: profile{
			"name": textMember, "title": textMember, "description": textMember, "required": boolMember,
		}},
		"icons": icons, "_meta": metaMember,
	},
	KindResource: {
		"uri": textMember, "name": textMember, "title": textMember, "description": textMember,
		"mimeType": textMember, "size": {want: canonical.KindNumber},
		"icons": icons, "_meta": metaMember, "annotations": audience,
	},
	KindResourceTemplate: {
		"uriTemplate": textMember, "name": textMember, "title": textMember, "description": textMember,
		"mimeType": textMember, "icons": icons, "_meta": metaMember, "annotations": audience,
	},
}

// A Projection is a definition after the gateway profile.
type Projection struct {
	Bytes []byte // canonical
	// Unknown names the members that the profile does not know, as paths such as
	// annotations.x. The gateway drops them; a gateway that hands one over is not
	// the one the profile describes.
	Unknown []string
	// Unstable says what the gateway cannot pass on unchanged, one sentence each.
	Unstable []string
}

// Project applies the gateway profile to the canonical text of a definition.
func Project(kind Kind, text canonical.Text) Projection {
	var p projector
	return p.project(kind, text)
}

// project is like [Project] and reuses the working memory of p; the bytes it
// returns are a part of it.
func (p *projector) project(kind Kind, text canonical.Text) Projection {
	p.Projection, p.parts = Projection{Bytes: p.Bytes[:0]}, p.parts[:0]
	for _, m := range text.Members {
		p.parts = append(p.parts, part{text.Bytes[m.Start:m.End], m.Key, text.Bytes[m.Value:m.End]})
	}
	p.object("", p.parts, profiles[kind])
	if v := value(text, "inputSchema"); kind == KindTool && (v == nil || isNull(v)) {
		p.unstable("the gateway refuses a list that holds a tool without inputSchema")
	}
	if !text.Steady {
		p.unstable("it holds a decimal that the gateway's parser may move by one unit in the last place")
	}
	return p.Projection
}

type projector struct {
	Projection
	parts  []part // of every object split so far
	reader canonical.Reader
}

// part is one member of an object: its whole text, its name and its value.
type part struct{ whole, key, value []byte }

func (p *projector) unstable(why string) { p.Unstable = append(p.Unstable, why) }

// object appends the members that the profile keeps.
func (p *projector) object(path string, members []part, known profile) {
	p.Bytes = append(p.Bytes, '{')
	first := len(p.Bytes)
	for _, m := range members {
		t, ok := known[string(m.key)]
		switch {
		case !ok:
			p.Unknown = append(p.Unknown, path+string(m.key))
			continue
		case isNull(m.value):
			continue
		}
		before := len(p.Bytes)
		if before > first {
			p.Bytes = append(p.Bytes, ',')
		}
		p.Bytes = append(p.Bytes, m.whole[:len(m.whole)-len(m.value)]...)
		if !p.member(path, m.key, m.value, t) {
			p.Bytes = p.Bytes[:before]
		}
	}
	p.Bytes = append(p.Bytes, '}')
}

// member appends the value of the member key of the object at path; it reports
// false where nothing is left of it.
func (p *projector) member(path string, key, v []byte, t treatment) bool {
	if t.want != canonical.KindNone && !hasKind(v, t.want) {
		p.unstable("the gateway refuses a list where " + path + string(key) + " is not " + t.want.String())
		p.Bytes = append(p.Bytes, v...)
		return true
	}
	switch {
	case t.object != nil:
		p.object(path+string(key)+".", p.splitObject(v), t.object)
	case t.each != nil:
		p.each(path+string(key), v, t.each)
	case t.special == metaUI:
		return p.meta(v)
	case t.special == float32Value:
		p.Bytes = append(p.Bytes, roundFloat32(v)...)
	default:
		if t.special == iconTheme && string(v) != `"light"` && string(v) != `"dark"` {
			p.unstable("the gateway refuses a list that holds an icon theme other than light and dark")
		}
		p.Bytes = append(p.Bytes, v...)
	}
	return true
}

func (p *projector) each(path string, v []byte, known profile) {
	p.Bytes = append(p.Bytes, '[')
	for i, element := range splitArray(v) {
		if i > 0 {
			p.Bytes = append(p.Bytes, ',')
		}
		if element[0] != '{' {
			p.unstable("the gateway refuses a list where an element of " + path + " is not an object")
			p.Bytes = append(p.Bytes, element...)
			continue
		}
		p.object(path+"[].", p.splitObject(element), known)
	}
	p.Bytes = append(p.Bytes, ']')
}

// meta appends _meta without its pointers to a UI resource, which the gateway
// rewrites or removes by its own policy, and without what that empties.
func (p *projector) meta(v []byte) bool {
	if !bytes.Contains(v, []byte("resourceUri")) {
		p.Bytes = append(p.Bytes, v...)
		return true
	}
	removed := false
	out := []byte{'{'}
	for _, m := range p.splitObject(v) {
		whole := m.whole
		switch {
		case string(m.key) == "ui/resourceUri":
			removed = true
			continue
		case string(m.key) == "ui" && m.value[0] == '{':
			left, had := p.without(m.value, "resourceUri")
			if removed = removed || had; had && len(left) == len("{}") {
				continue
			}
			whole = append(bytes.Clone(m.whole[:len(m.whole)-len(m.value)]), left...)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, whole...)
	}
	if removed && len(out) == 1 {
		return false
	}
	p.Bytes = append(append(p.Bytes, out...), '}')
	return true
}

// without returns a canonical object without one member, and whether it had it.
func (p *projector) without(v []byte, key string) (left []byte, had bool) {
	left = []byte{'{'}
	for _, m := range p.splitObject(v) {
		if string(m.key) == key {
			had = true
			continue
		}
		if len(left) > 1 {
			left = append(left, ',')
		}
		left = append(left, m.whole...)
	}
	return append(left, '}'), had
}

// roundFloat32 spells the number v as the gateway does after holding it in a
// float32: the shortest digits that round to the same float32.
func roundFloat32(v []byte) []byte {
	f, err := strconv.ParseFloat(string(v), 32)
	if err != nil {
		return v
	}
	shortest := strconv.FormatFloat(f, 'g', -1, 32)
	spelled, err := canonical.Append(nil, []byte(shortest))
	if err != nil {
		return v
	}
	return spelled
}

func hasKind(v []byte, want canonical.Kind) bool { return canonical.NewReader(v).Peek() == want }

// splitObject returns the members of a canonical object.
func (p *projector) splitObject(v []byte) []part {
	first, start := len(p.parts), len("{")
	r := &p.reader
	r.Reset(v)
	_ = r.Object(func(key []byte) error {
		at := r.Offset()
		raw, err := r.Raw()
		end := at + len(raw)
		p.parts = append(p.parts, part{v[start:end], key, raw})
		start = end + len(",")
		return err
	})
	return p.parts[first:]
}

func splitArray(v []byte) [][]byte {
	var elements [][]byte
	r := canonical.NewReader(v)
	_ = r.Array(func() error {
		raw, err := r.Raw()
		elements = append(elements, raw)
		return err
	})
	return elements
}
