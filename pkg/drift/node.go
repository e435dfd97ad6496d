package drift

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"agentgateway-lock/pkg/canonical"
)

// A node is one value of a canonical text, read once so that the walk over a
// schema costs no more for what references lead to again and again.
type node struct {
	kind     canonical.Kind
	raw      []byte // of the text that was read; nil for a node that was put together
	text     string // of a string
	names    []string
	members  map[string]*node
	elements []*node
	sum      [sha256.Size]byte // equal for equal values
	refs     bool              // $ref is the name of a member here or below

	// What the account of a change says of the value: seen means that the walk was
	// here, told that all of it is the same on the other side or was reported.
	seen, told bool
	// explained means that nothing here or below is left to tell, untouched that the
	// walk was neither here nor below.
	explained, untouched bool
}

// readNode reads a canonical text; nil where there is none.
func readNode(text []byte) *node {
	if len(text) == 0 {
		return nil
	}
	b := nodeReader{src: text, r: canonical.NewReader(text)}
	n, err := b.value()
	if err != nil {
		return nil
	}
	return n
}

type nodeReader struct {
	src []byte
	r   *canonical.Reader
}

func (b *nodeReader) value() (*node, error) {
	start := b.r.Offset()
	n := &node{kind: b.r.Peek()}
	var err error
	switch n.kind {
	case canonical.KindObject:
		n.members = map[string]*node{}
		err = b.r.Object(func(key []byte) error {
			name := string(key)
			member, err := b.value()
			n.put(name, member)
			return err
		})
	case canonical.KindArray:
		err = b.r.Array(func() error {
			element, err := b.value()
			n.elements = append(n.elements, element)
			n.refs = n.refs || element != nil && element.refs
			return err
		})
	case canonical.KindString:
		n.text, err = b.r.String()
	default:
		_, err = b.r.Raw()
	}
	if err != nil {
		return nil, err
	}
	n.raw = b.src[start:b.r.Offset()]
	n.digest()
	return n, nil
}

// put sets a member of an object.
func (n *node) put(name string, member *node) {
	if _, ok := n.members[name]; !ok {
		n.names = append(n.names, name)
	}
	n.members[name] = member
	n.refs = n.refs || name == "$ref" || member != nil && member.refs
}

// digest sets the sum, from those of what is below.
func (n *node) digest() {
	h := sha256.New()
	h.Write([]byte{byte(n.kind)})
	switch n.kind {
	case canonical.KindObject:
		for _, name := range slices.Sorted(maps.Keys(n.members)) {
			h.Write(binary.AppendUvarint(nil, uint64(len(name))))
			h.Write([]byte(name))
			h.Write(n.members[name].sum[:])
		}
	case canonical.KindArray:
		for _, element := range n.elements {
			h.Write(element.sum[:])
		}
	default:
		h.Write(n.raw)
	}
	h.Sum(n.sum[:0])
}

// member returns a member of an object; nil where there is none.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

func (n *node) isObject() bool { return n != nil && n.kind == canonical.KindObject }

func (n *node) isText() bool { return n != nil && n.kind == canonical.KindString }

// is reports whether n is the literal that is spelled so.
func (n *node) is(literal string) bool { return n != nil && string(n.raw) == literal }

// equalNodes reports whether two values are the same; nil is none.
func equalNodes(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.sum == b.sum
}

// spell is the text of a string, the JSON of another value, and empty for none.
func (n *node) spell() string {
	switch {
	case n == nil:
		return ""
	case n.kind == canonical.KindString:
		return n.text
	}
	return string(n.json())
}

func (n *node) json() []byte {
	if n.raw != nil || n.kind != canonical.KindObject {
		return n.raw
	}
	out := []byte{'{'}
	for i, name := range n.names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(canonical.AppendString(out, name), ':'), n.members[name].json()...)
	}
	return append(out, '}')
}

// settle works out explained and untouched for a value and all below it. told says
// that something above was told whole.
func (n *node) settle(told bool) {
	n.told = n.told || told
	n.explained, n.untouched = n.told || n.seen, !n.told && !n.seen
	for _, name := range n.names {
		n.settleUnder(n.members[name])
	}
	for _, element := range n.elements {
		n.settleUnder(element)
	}
}

func (n *node) settleUnder(child *node) {
	child.settle(n.told)
	n.explained = n.explained && child.explained
	n.untouched = n.untouched && child.untouched
}

// unionNames returns the member names of two objects, in order.
func unionNames(a, b *node) []string {
	var names []string
	for _, n := range []*node{a, b} {
		if n != nil {
			names = append(names, n.names...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
