package processor

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// The bounds of a list result.
const (
	maxBody        = 16 << 20
	maxDefinitions = 50_000
)

// A Removal is a definition, or another part of a result, that was not passed on.
type Removal struct {
	Server         string // of the lockfile; empty where it could not be told
	Kind           surface.Kind
	Name           string // as the server spells it
	Code           Code
	Approved, Seen canonical.Digest
}

// page is the verdict on one list result. It does not change.
type page struct {
	denied  Code   // why nothing of it is passed on
	member  string // for which
	body    []byte // in the place of the result; nil where that goes on as it is
	removed []Removal
	groups  []group
	size    int // about how many bytes it takes
}

// lister judges one list result.
type lister struct {
	policy *Policy
	route  *route
	method *method
	kind   kind
	body   []byte

	members     []resultMember
	foreign     string    // a member that no list has
	removed     []Removal // members that are not passed on as they are
	changed     bool      // a member of the result is not passed on as it is
	definitions []definition
	names       map[string]int // how often a name stands in the list

	reader  canonical.Reader
	encoder canonical.Encoder
}

// resultMember is a member of the result that is passed on.
type resultMember struct {
	name  string
	value []byte // nil for the list itself
}

// definition is one element of the list.
type definition struct {
	raw    []byte
	public string // as it stands in the list; empty where it cannot be read
	name   string // as the server spells it
	server *server
	told   bool             // the list itself tells the server
	digest canonical.Digest // zero where it has none
	code   Code             // why it has none, or is not passed on
}

// judgeList reads a list result and decides about each definition.
func judgeList(p *Policy, r *route, m *method, body []byte) *page {
	l := &lister{policy: p, route: r, method: m, kind: m.kind, body: body, names: map[string]int{}}
	if code := l.read(); code != "" {
		return &page{denied: code, member: l.foreign}
	}
	for i := range l.definitions {
		l.identify(&l.definitions[i])
	}
	out := &page{removed: l.removed}
	for i := range l.definitions {
		d := &l.definitions[i]
		if removal, ok := l.decide(d); ok {
			out.removed = append(out.removed, removal)
		}
	}
	if len(out.removed) > 0 || l.changed {
		out.body = l.rewrite()
	}
	out.groups = l.shown()
	out.size = out.weigh()
	return out
}

// weigh is about how many bytes a verdict takes.
func (p *page) weigh() int {
	const removal, seen = 192, 80
	n := len(p.body)
	for _, r := range p.removed {
		n += removal + len(r.Name)
	}
	for _, g := range p.groups {
		n += len(g.seen) * seen
	}
	return n
}

// read finds the definitions and what else of the result is passed on.
func (l *lister) read() Code {
	if len(l.body) > maxBody {
		return DeniedTooLarge
	}
	found := false
	list := l.kind.list().Member
	l.reader.Reset(l.body)
	err := l.reader.Object(func(name []byte) error {
		switch {
		case !l.method.has(l.route.era, name):
			l.foreign = string(name)
			return errForeign
		case string(name) != list:
			return l.member(string(name))
		}
		found = true
		l.members = append(l.members, resultMember{name: list})
		return l.reader.Array(func() error {
			raw, err := l.reader.Raw()
			l.definitions = append(l.definitions, definition{raw: raw})
			if err == nil && len(l.definitions) > maxDefinitions {
				err = l.reader.Refuse(0, canonical.RuleSize, "too many definitions")
			}
			return err
		})
	})
	if err == nil {
		err = l.reader.End()
	}
	switch {
	case errors.Is(err, errForeign):
		return DeniedForeign
	case err != nil && len(l.definitions) > maxDefinitions:
		return DeniedTooLarge
	case err != nil || !found:
		return DeniedUnreadable
	}
	return ""
}

// member reads a member of the result beside the list. Only those that the
// protocol has for lists are passed on.
func (l *lister) member(name string) error {
	kind := l.reader.Peek()
	at := l.reader.Offset()
	value, err := l.reader.Raw()
	if err != nil {
		return err
	}
	switch name {
	case "resultType":
		if string(value) != `"complete"` {
			return l.reader.Refuse(at, canonical.RuleShape, "not the result of a list")
		}
	case "cacheScope":
		if string(value) != `"private"` && string(value) != `"public"` {
			return l.reader.Refuse(at, canonical.RuleShape, "neither private nor public")
		}
	case "nextCursor":
		if kind != canonical.KindString {
			return l.reader.Refuse(at, canonical.RuleShape, "not a string")
		}
		if !cursor.Match(value) {
			l.remove(name, DeniedCut)
			return nil
		}
	case "ttlMs":
		if kind != canonical.KindNumber {
			return l.reader.Refuse(at, canonical.RuleShape, "not a number")
		}
		value = l.cut(value)
	default: // what the protocol has for extensions
		l.remove(name, DeniedMember)
		return nil
	}
	l.members = append(l.members, resultMember{name, value})
	return nil
}

// cursor is what a nextCursor may be, as it is spelled: a text without spaces that
// a person would not take for words.
var cursor = regexp.MustCompile(`^"[!#-\[\]-~]{0,512}"$`)

// remove notes that a member of the result is not passed on.
func (l *lister) remove(name string, code Code) {
	l.changed = true
	l.removed = append(l.removed, Removal{Server: l.route.server(l.policy), Name: name, Code: code})
}

// cut bounds a ttlMs.
func (l *lister) cut(value []byte) []byte {
	limit := int64(l.policy.options.MaxListTTL / time.Millisecond)
	if ms, err := strconv.ParseInt(string(value), 10, 64); err == nil && 0 <= ms && ms <= limit {
		return value
	}
	l.changed = true
	return strconv.AppendInt(nil, limit, 10)
}

// identify finds the name, server and gateway digest of a definition.
func (l *lister) identify(d *definition) {
	text, err := l.encoder.Encode(d.raw)
	if err != nil {
		d.code = DeniedUnreadable
		d.public = l.peek(d.raw)
	} else if id := l.id(text); id != nil {
		d.public = canonical.Unquote(text.Bytes[id.Value:id.End])
	}
	if d.public == "" {
		d.code = DeniedUnreadable
		return
	}
	l.names[d.public]++
	target, name, ok := l.route.native(l.kind, d.public)
	if ok {
		d.server, d.told = l.policy.targets[target], true
		if it := d.server.find(l.kind, name); it != nil && l.route.names != NamesRaw {
			name = it.name // which the gateway may have spelled otherwise
		}
	} else if l.route.names == NamesNever && (l.kind == tool || l.kind == prompt || !hasScheme(d.public)) {
		d.server = l.only(d.public)
	}
	d.name = name
	switch {
	case d.code != "" || d.server != nil && !d.server.covers[l.kind]:
		return // nothing to hash, or nothing to compare a hash with
	case d.server == nil && l.route.names != NamesNever:
		d.code = DeniedUnknownServer
		return
	}
	if name != d.public {
		text = rename(text, l.id(text), name)
	}
	projection := surface.Project(l.kind.list().Kind, text)
	if len(projection.Unknown) > 0 {
		d.code = DeniedGatewayProfile
		return
	}
	d.digest = canonical.Sum(projection.Bytes)
}

// id returns the member that identifies the definition, where it is a string.
func (l *lister) id(text canonical.Text) *canonical.Member {
	for i, m := range text.Members {
		if string(m.Key) == l.kind.list().ID && text.Bytes[m.Value] == '"' {
			return &text.Members[i]
		}
	}
	return nil
}

// peek returns the name of a definition that has no canonical form, as far as it
// can be read: it counts as a bearer of the name all the same.
func (l *lister) peek(raw []byte) string {
	name := ""
	l.reader.Reset(raw)
	_ = l.reader.Object(func(key []byte) error {
		if string(key) == l.kind.list().ID && l.reader.Peek() == canonical.KindString {
			s, err := l.reader.String()
			name = s
			return err
		}
		_, err := l.reader.Raw()
		return err
	})
	return name
}

// rename gives a definition in canonical form another name.
func rename(text canonical.Text, id *canonical.Member, name string) canonical.Text {
	quoted := canonical.AppendString(nil, name)
	moved := len(quoted) - (id.End - id.Value)
	out := canonical.Text{Steady: text.Steady, Members: slices.Clone(text.Members)}
	out.Bytes = slices.Concat(text.Bytes[:id.Value], quoted, text.Bytes[id.End:])
	for i := range out.Members {
		m := &out.Members[i]
		if m.Start > id.Start {
			m.Start, m.Value = m.Start+moved, m.Value+moved
		}
		if m.Start >= id.Start {
			m.End += moved
		}
	}
	return out
}

// only returns the one server of the route whose entry holds the name, or nil.
func (l *lister) only(name string) *server {
	var found *server
	for _, target := range l.route.targets {
		s := l.policy.targets[target]
		if s == nil || s.items[l.kind][name] == nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = s
	}
	return found
}

// decide says whether a definition is removed, and why.
func (l *lister) decide(d *definition) (Removal, bool) {
	out := Removal{Kind: l.kind.list().Kind, Name: d.name, Seen: d.digest}
	var it *item
	if d.server != nil {
		out.Server = d.server.name
		it = d.server.items[l.kind][d.name]
	}
	if it != nil {
		out.Approved = it.inForce
	}
	pass := l.policy.options.Uncovered == UncoveredPass
	switch {
	case l.names[d.public] > 1:
		out.Code = DeniedDuplicateName
	case it != nil && it.denied == DeniedByFile:
		out.Code = DeniedByFile
	case d.code != "":
		out.Code = d.code
	case d.server == nil && pass && l.uncovered():
	case d.server == nil:
		out.Code = DeniedNotApproved
	case !d.server.covers[l.kind] && pass:
	case !d.server.covers[l.kind]:
		out.Code = DeniedNotCovered
	case it == nil:
		out.Code = DeniedNotApproved
	case it.denied != "":
		out.Code = it.denied
	case it.inForce != d.digest:
		out.Code = DeniedChanged
	}
	d.code = out.Code
	return out, out.Code != ""
}

// uncovered reports whether no server of the route covers the kind.
func (l *lister) uncovered() bool {
	for _, target := range l.route.targets {
		if s := l.policy.targets[target]; s == nil || s.covers[l.kind] {
			return false
		}
	}
	return true
}

// rewrite returns the result with what is passed on, every definition byte for
// byte as it was received.
func (l *lister) rewrite() []byte {
	out := append(make([]byte, 0, len(l.body)+len(`"ttlMs":`)), '{')
	for i, m := range l.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.name...), `":`...)
		if m.value != nil {
			out = append(out, m.value...)
			continue
		}
		out = append(out, '[')
		first := true
		for _, d := range l.definitions {
			if d.code != "" {
				continue
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			out = append(out, d.raw...)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// shown returns what the list is evidence of: each name of each server once, with
// its digest, or without where the name stands twice or has none. Where the list
// does not tell the server it is no evidence.
func (l *lister) shown() []group {
	var groups []group
	done := make(map[string]bool, len(l.names))
	for i := range l.definitions {
		d := &l.definitions[i]
		if !d.told || !d.server.covers[l.kind] || done[d.public] {
			continue
		}
		done[d.public] = true
		n := slices.IndexFunc(groups, func(g group) bool { return g.server == d.server })
		if n < 0 {
			n = len(groups)
			groups = append(groups, group{server: d.server, kind: l.kind})
		}
		o := observation{item: d.server.items[l.kind][d.name], digest: d.digest}
		if o.item != nil {
			o.name = o.item.name
		} else {
			o.name = strings.Clone(d.name)
		}
		if l.names[d.public] > 1 {
			o.digest = canonical.Digest{}
		}
		groups[n].seen = append(groups[n].seen, o)
	}
	return groups
}
