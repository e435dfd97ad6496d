package drift

import (
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/textcheck"
)

// compareSchemas gives a structural account of how a JSON Schema changed. The
// root is the member of the definition that holds it. References within the
// schema are resolved, so that a schema that only moved between inlined and
// referenced parts is told apart from one that takes something else. What the walk
// through the parameters does not come to is told after it, as it is spelled.
func compareSchemas(root string, old, item []byte) []Aspect {
	before, now := readNode(old), readNode(item)
	if before == nil || now == nil {
		a := aspect(finding.SchemaChanged, root, root+" "+howChanged(old, item))
		a.Old, a.New, a.Whole = string(old), string(item), true
		return append([]Aspect{a}, elsewhere(root, before, now)...)
	}
	s := schemas{before: before, now: now, seen: map[[2]*node]bool{}}
	at := &trail{step: root}
	s.compare(at, nil, before, now, 0)
	before.settle(false)
	now.settle(false)
	s.rest(at, nil, before, now)
	if len(s.aspects) == 0 && s.tooLarge == "" {
		s.aspects = []Aspect{aspect(finding.SchemaChanged, root, "spelled another way: the same parameters once references are resolved")}
	}
	s.aspects = append(s.aspects, elsewhere(root, before, now)...)
	if s.tooLarge != "" {
		s.aspects = append(s.aspects, tooLarge(root, s.tooLarge))
	}
	return s.aspects
}

// elsewhere tells references to other documents that a schema did not have: no hash
// covers what is there, so that it can become anything.
func elsewhere(root string, before, now *node) []Aspect {
	had := map[string]bool{}
	before.outward(func(ref *node) { had[ref.text] = true })
	var found []Aspect
	now.outward(func(ref *node) {
		if !had[ref.text] && len(found) < maxAspects {
			had[ref.text] = true
			a := aspect(finding.ParameterRetyped, root, "what a parameter takes is said in another document, which is not pinned")
			a.New, a.Whole, a.Words = ref.spell(), true, true
			found = append(found, a)
		}
	})
	return found
}

// outward calls report for every reference that leads out of its document.
func (n *node) outward(report func(ref *node)) {
	if n == nil {
		return
	}
	for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref := n.member(name); ref.isText() && !strings.HasPrefix(ref.text, "#") {
			report(ref)
		}
	}
	for _, name := range n.names {
		n.members[name].outward(report)
	}
	for _, element := range n.elements {
		element.outward(report)
	}
}

func tooLarge(path, why string) Aspect {
	return aspect(finding.TooLargeToGrade, path, "too large to grade: "+why)
}

// The bounds of the account of one definition: references can make a small schema
// as large as its writer likes. Where one is reached the change is critical.
const (
	maxAspects     = 200
	maxSchemaDepth = 256     // a definition has 128 levels; references can make more
	maxWork        = 400_000 // members that are looked at
	bytesPerMember = 64      // of what is spelled, counted as the work of one member
)

type schemas struct {
	before, now *node // the roots, for references
	aspects     []Aspect
	seen        map[[2]*node]bool // compared already, or being compared
	work        int
	tooLarge    string // why not all was compared
}

// charge counts work and reports whether there may be more.
func (s *schemas) charge(members int) bool {
	if s.work += 1 + members; s.work > maxWork {
		s.tooLarge = "its references lead to more than can be compared"
	}
	return s.tooLarge == ""
}

// add tells a difference with the values on both sides.
func (s *schemas) add(code finding.Code, at *trail, summary string, old, item *node) {
	for _, n := range []*node{old, item} {
		if n != nil {
			n.told = true
			s.charge(len(n.raw) / bytesPerMember)
		}
	}
	if len(s.aspects) == maxAspects {
		s.tooLarge = fmt.Sprintf("more than %d differences", maxAspects)
	}
	if s.tooLarge != "" {
		return
	}
	path, whole := at.words()
	a := aspect(code, path, summary)
	a.Old, a.New, a.Whole = old.spell(), item.spell(), whole
	a.Words = (old.isText() || item.isText()) && (old == nil || old.isText()) && (item == nil || item.isText())
	s.aspects = append(s.aspects, a)
}

// compare walks two sub-schemas. at is for machines, param names the parameter for
// people, such as options.depth or items[].
func (s *schemas) compare(at, param *trail, old, item *node, depth int) {
	if depth > maxSchemaDepth {
		s.tooLarge = fmt.Sprintf("more than %d levels", maxSchemaDepth)
	}
	a, b := s.resolve(s.before, old), s.resolve(s.now, item)
	if !s.charge(len(a.names) + len(b.names)) {
		return
	}
	if equalNodes(a, b) && !a.refs {
		a.told, b.told = true, true
		return
	}
	if !a.isObject() || !b.isObject() {
		if !equalNodes(a, b) {
			s.add(finding.SchemaChanged, at, name(param)+" changed", a, b)
		}
		return
	}
	if s.seen[[2]*node{a, b}] {
		return
	}
	s.seen[[2]*node{a, b}] = true
	a.seen, b.seen = true, true
	s.types(at, param, a, b)
	s.properties(at, param, a, b, depth)
	s.required(at, param, a, b)
	for _, key := range unionNames(a, b) {
		if s.tooLarge != "" {
			return
		}
		s.keyword(at.member(key), param, key, a.member(key), b.member(key), depth)
	}
}

func name(param *trail) string {
	if param == nil {
		return "the schema"
	}
	text, _ := param.words()
	return "parameter " + text
}

func (s *schemas) types(at, param *trail, a, b *node) {
	old, item := a.member("type"), b.member("type")
	if equalNodes(old, item) {
		return
	}
	code := finding.ParameterRetyped
	if param == nil {
		code = finding.SchemaChanged
	}
	s.add(code, at.member("type"), fmt.Sprintf("%s: type %s → %s", name(param), short(old, "any"), short(item, "any")), old, item)
}

// short spells a value within a summary; none is how an absent one is called.
func short(n *node, none string) string {
	const limit = 60
	if n == nil {
		return none
	}
	if len(n.raw) > 2*limit {
		return "another value"
	}
	if text := n.spell(); len(text) <= limit {
		return text
	}
	return "another value"
}

// properties tells which parameters came, went and changed.
func (s *schemas) properties(at, param *trail, a, b *node, depth int) {
	old, item := a.member("properties"), b.member("properties")
	at = at.member("properties")
	if (old != nil && !old.isObject() || item != nil && !item.isObject()) && !equalNodes(old, item) {
		s.add(finding.SchemaChanged, at, name(param)+": properties changed", old, item)
	}
	for _, n := range []*node{old, item} {
		if n != nil {
			n.seen = true
		}
	}
	if old.isObject() && item.isObject() && !s.charge(len(old.names)+len(item.names)) {
		return
	}
	for _, key := range unionNames(old, item) {
		was, is := old.member(key), item.member(key)
		p := param.member(key)
		switch {
		case is == nil:
			s.add(finding.ParameterRemoved, at.member(key), name(p)+" removed", was, nil)
		case was == nil:
			s.add(finding.ParameterAdded, at.member(key), name(p)+" added", nil, is)
		default:
			s.compare(at.member(key), p, was, is, depth+1)
		}
		if s.tooLarge != "" {
			return
		}
	}
}

// required tells which parameters are required now, and which no longer.
func (s *schemas) required(at, param *trail, a, b *node) {
	old, item := a.member("required"), b.member("required")
	at = at.member("required")
	if equalNodes(old, item) {
		return
	}
	was, plain := names(old)
	is, alsoPlain := names(item)
	before, now := a.member("properties"), b.member("properties")
	told := 0
	for _, key := range unionKeys(was, is) {
		switch {
		case !was[key] && is[key]:
			s.requires(finding.ParameterRequired, at, param.member(key), "is now required")
		case was[key] && !is[key] && (now.member(key) != nil || before.member(key) == nil):
			s.requires(finding.SchemaChanged, at, param.member(key), "is no longer required")
		case was[key] != is[key]: // it went, and that is told
		default:
			continue
		}
		told++
	}
	if !plain || !alsoPlain || told == 0 {
		s.add(finding.SchemaChanged, at, name(param)+": required changed", old, item)
	}
	for _, n := range []*node{old, item} {
		if n != nil {
			n.told = true
		}
	}
}

func (s *schemas) requires(code finding.Code, at, param *trail, how string) {
	_, whole := param.words()
	n := len(s.aspects)
	s.add(code, at, name(param)+" "+how, nil, nil)
	for i := range s.aspects[n:] {
		s.aspects[n+i].Whole = s.aspects[n+i].Whole && whole
	}
}

// names returns the strings of an array; plain is false where it is none, or holds
// anything else or a string twice.
func names(n *node) (set map[string]bool, plain bool) {
	set = map[string]bool{}
	if n == nil {
		return set, true
	}
	plain = n.kind == canonical.KindArray
	for _, e := range n.elements {
		plain = plain && e.isText() && !set[e.text]
		if e.isText() {
			set[e.text] = true
		}
	}
	return set, plain
}

// keyword compares one keyword of two sub-schemas; types, properties and required
// are told by their own functions.
func (s *schemas) keyword(at, param *trail, key string, old, item *node, depth int) {
	if equalNodes(old, item) && !old.refs {
		old.told, item.told = true, true
		return
	}
	switch key {
	case "type", "properties", "required", "$defs", "definitions":
	case "items", "not", "if", "then", "else", "contains", "propertyNames":
		if old != nil && item != nil {
			s.compare(at, param.to(suffix(key)), old, item, depth+1)
			return
		}
		s.add(finding.SchemaChanged, at, name(param)+": "+key+" "+addedOrRemoved(old), old, item)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		s.alternatives(at, param, key, old, item, depth)
	case "patternProperties", "dependentSchemas":
		s.parts(at, param, key, old, item, depth)
	case "enum":
		s.add(finding.SchemaChanged, at, name(param)+": "+enumChange(old, item), old, item)
	case "additionalProperties":
		s.additional(at, param, old, item, depth)
	case "description", "title":
		s.add(finding.DescriptionChanged, at, name(param)+": "+key+" changed", old, item)
	default:
		if !equalNodes(old, item) {
			s.add(finding.SchemaChanged, at, fmt.Sprintf("%s: %s %s → %s", name(param), textcheck.Clip(key, maxStep), short(old, "none"), short(item, "none")), old, item)
		}
	}
}

func addedOrRemoved(old *node) string {
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

func (s *schemas) alternatives(at, param *trail, key string, old, item *node, depth int) {
	if old == nil || item == nil || len(old.elements) != len(item.elements) || len(old.elements) == 0 {
		had, has := 0, 0
		if old != nil {
			had = len(old.elements)
		}
		if item != nil {
			has = len(item.elements)
		}
		s.add(finding.ParameterRetyped, at, fmt.Sprintf("%s: %s has %d alternatives, had %d", name(param), key, has, had), old, item)
		return
	}
	old.seen, item.seen = true, true
	for i := range old.elements {
		s.compare(at.to(fmt.Sprintf("[%d]", i)), param.to(fmt.Sprintf(" (%s %d)", key, i+1)), old.elements[i], item.elements[i], depth+1)
	}
}

// parts compares the sub-schemas that stand under names.
func (s *schemas) parts(at, param *trail, key string, old, item *node, depth int) {
	if !old.isObject() || !item.isObject() {
		s.add(finding.SchemaChanged, at, name(param)+": "+key+" changed", old, item)
		return
	}
	old.seen, item.seen = true, true
	for _, part := range unionNames(old, item) {
		was, is := old.member(part), item.member(part)
		p := param.to(" (" + key + " " + part + ")")
		if was != nil && is != nil {
			s.compare(at.member(part), p, was, is, depth+1)
			continue
		}
		s.add(finding.SchemaChanged, at.member(part), name(p)+" "+addedOrRemoved(was), was, is)
	}
}

// enumChange says whether the accepted values grew, shrank or both.
func enumChange(old, item *node) string {
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

func valueSet(n *node) map[string]bool {
	set := map[string]bool{}
	if n != nil {
		for _, e := range n.elements {
			set[string(e.raw)] = true
		}
	}
	return set
}

func (s *schemas) additional(at, param *trail, old, item *node, depth int) {
	switch {
	case old.isObject() && item.isObject():
		s.compare(at, param.member("*"), old, item, depth+1)
	case old.is("false"):
		s.add(finding.SchemaChanged, at, name(param)+": opened to additional properties", old, item)
	case item.is("false"):
		s.add(finding.SchemaChanged, at, name(param)+": closed to additional properties", old, item)
	default:
		s.add(finding.SchemaChanged, at, name(param)+": additionalProperties changed", old, item)
	}
}

// rest tells what differs as it is spelled, and what the walk through the
// parameters did not tell or come to: definitions that nothing refers to, texts
// that others stand over.
func (s *schemas) rest(at, param *trail, old, item *node) {
	switch {
	case s.tooLarge != "" || equalNodes(old, item):
		return
	case (old == nil || old.explained) && (item == nil || item.explained):
		return
	case old.isObject() && item.isObject(),
		old == nil && item.isObject() && !item.untouched,
		item == nil && old.isObject() && !old.untouched:
		for _, key := range unionNames(old, item) {
			s.rest(at.member(key), param.member(key), old.member(key), item.member(key))
		}
		return
	}
	where, _ := param.words()
	how := "changed"
	if old == nil || item == nil {
		how = addedOrRemoved(old)
	}
	s.add(finding.SchemaChanged, at, "elsewhere in the schema: "+where+" "+how, old, item)
}

// resolve follows a reference within the schema of the same document.
func (s *schemas) resolve(root, n *node) *node {
	for range maxSchemaDepth {
		ref := n.member("$ref")
		if !ref.isText() || !strings.HasPrefix(ref.text, "#") {
			return n
		}
		target := lookup(root, ref.text[1:])
		if target == nil || !s.charge(len(n.names)+len(target.names)+len(ref.text)/bytesPerMember) {
			return n
		}
		n.seen, ref.told, target.seen = true, true, true
		n = merge(n, target)
	}
	s.tooLarge = "references that lead on and on"
	return n
}

// merge puts the keywords that stand beside a reference over those it leads to.
func merge(beside, target *node) *node {
	if !target.isObject() || len(beside.names) == 1 {
		return target
	}
	out := &node{kind: canonical.KindObject, members: make(map[string]*node, len(target.names)+len(beside.names))}
	for _, name := range target.names {
		out.put(name, target.members[name])
	}
	for _, name := range beside.names {
		if name != "$ref" {
			out.put(name, beside.members[name])
		}
	}
	out.digest()
	return out
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// lookup follows a JSON pointer (RFC 6901) without percent-encoding.
func lookup(root *node, pointer string) *node {
	if pointer == "" {
		return root
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if !root.isObject() {
			return nil
		}
		root = root.members[pointerEscapes.Replace(token)]
	}
	return root
}
