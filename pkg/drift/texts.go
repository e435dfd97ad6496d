package drift

import "agentgateway-lock/pkg/canonical"

// A NamedText is a string of a definition, or the name of one of its members: all that an
// agent could read.
type NamedText struct {
	Text   string
	IsName bool
	// Before is the string that stood there before; Had is false where none did.
	Before string
	Had    bool

	at *trail
}

// Path says where the text is, such as inputSchema.properties.path.description. Of
// a very long path only the ends are given.
func (t NamedText) Path() string {
	path, _ := t.at.words()
	if t.IsName {
		path += " (name)"
	}
	return path
}

// IsTop reports whether the text is that of a member of the definition itself.
func (t NamedText) IsTop(member string) bool {
	return !t.IsName && t.at != nil && t.at.up == nil && t.at.step == "."+member
}

// EachText calls f for every string and every member name of a canonical
// definition, in canonical order, until f returns false. old is the definition
// before; nil where there is none.
func EachText(old, definition []byte, f func(NamedText) bool) {
	if n := readNode(definition); n != nil {
		eachText(nil, readNode(old), n, f)
	}
}

func eachText(at *trail, old, n *node, f func(NamedText) bool) bool {
	if n.isText() {
		t := NamedText{Text: n.text, at: at}
		if old.isText() {
			t.Before, t.Had = old.text, true
		}
		return f(t)
	}
	for _, name := range n.names {
		to := at.member(name)
		if !f(NamedText{Text: name, IsName: true, at: to}) || !eachText(to, old.member(name), n.members[name], f) {
			return false
		}
	}
	for i, element := range n.elements {
		var was *node
		if old != nil && old.kind == canonical.KindArray && i < len(old.elements) {
			was = old.elements[i]
		}
		if !eachText(at.to("[]"), was, element, f) {
			return false
		}
	}
	return true
}
