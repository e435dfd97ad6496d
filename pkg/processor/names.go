package processor

import (
	"slices"
	"strings"
)

// maxScope is how long the text of a scope may be, in bytes.
const maxScope = 1024

// route is where a message belongs: its targets, the spelling of names in lists,
// and the scope.
type route struct {
	targets []string
	names   NameMode
	scope   string
}

// newRoute reads what came with a message. The code says why it cannot be used.
func newRoute(m *Message, names NameMode) (route, Code) {
	r := route{targets: m.Targets, names: m.Names}
	if m.BadMetadata || len(m.Scope) > maxScope {
		return r, DeniedMetadata
	}
	r.scope = m.Scope
	if r.names == NamesByCount {
		r.names = names
	}
	switch r.names {
	case NamesByCount:
		r.names = NamesRaw
		if len(r.targets) > 1 {
			r.names = NamesPrefixed
		}
	case NamesNever:
		if len(r.targets) == 1 {
			r.names = NamesRaw
		}
	case NamesRaw, NamesPrefixed:
	default:
		return r, DeniedMetadata
	}
	return r, ""
}

// native splits a name of a list into the target that it is of and the name that
// the server itself gives. It reports false where the name does not tell.
func (r *route) native(k kind, name string) (target, rest string, ok bool) {
	if r.names != NamesPrefixed {
		if len(r.targets) != 1 {
			return "", name, false
		}
		return r.targets[0], name, true
	}
	if k == template || k == resource {
		target, rest, ok = splitURI(name)
		if !ok && len(r.targets) == 1 && !hasScheme(name) {
			return r.targets[0], name, true
		}
	} else {
		target, rest, ok = strings.Cut(name, "_")
	}
	if !ok {
		return "", name, false
	}
	if slices.Contains(r.targets, target) {
		return target, rest, true
	}
	return "", name, false
}

// splitURI takes the target out of a URI as the gateway puts it in: "target+uri",
// or "ui://target+rest". URIs without a scheme have none.
func splitURI(uri string) (target, rest string, ok bool) {
	if inside, ui := strings.CutPrefix(uri, "ui://"); ui {
		target, rest, ok = strings.Cut(inside, "+")
		return target, "ui://" + rest, ok
	}
	target, rest, ok = strings.Cut(uri, "+")
	return target, rest, ok && hasScheme(rest) && !strings.HasPrefix(rest, "ui://")
}

// hasScheme reports whether a URI begins with a scheme (RFC 3986, section 3.1).
func hasScheme(uri string) bool {
	for i := range len(uri) {
		switch c := uri[i]; {
		case c == ':':
			return i > 0
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}
