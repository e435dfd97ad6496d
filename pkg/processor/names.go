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
	era     Era
}

// newRoute reads what came with a message. The code says why it cannot be used.
func newRoute(m *Message, names NameMode) (route, Code) {
	r := route{targets: m.Targets, names: m.Names, era: m.Era}
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

// server names the one server of the route, where it is one.
func (r *route) server(p *Policy) string {
	if len(r.targets) != 1 {
		return ""
	}
	return p.targets[r.targets[0]].name
}

// native splits a name of a list into the target that it is of and the name that
// the server itself gives. It reports false where the name does not tell.
func (r *route) native(k kind, name string) (target, rest string, ok bool) {
	// The gateway prefixes URIs of several targets even where names stay raw.
	uris := k == template || k == resource
	if r.names != NamesPrefixed && (!uris || r.names != NamesNever) {
		if len(r.targets) != 1 {
			return "", name, false
		}
		return r.targets[0], name, true
	}
	if uris {
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
	if inside, ok := cutApp(uri); ok {
		target, rest, ok = strings.Cut(inside, "+")
		return target, app + rest, ok
	}
	target, rest, ok = strings.Cut(uri, "+")
	_, isApp := cutApp(rest)
	return target, rest, ok && hasScheme(rest) && !isApp
}

// app begins the URIs of app resources.
const app = "ui://"

// lowerApp is the URI of an app resource with its scheme as the gateway writes it,
// and any other as it is.
func lowerApp(uri string) string {
	if rest, ok := cutApp(uri); ok && !strings.HasPrefix(uri, app) {
		return app + rest
	}
	return uri
}

// cutApp returns what follows the scheme of an app resource, in any case.
func cutApp(uri string) (rest string, ok bool) {
	if len(uri) < len(app) || !strings.EqualFold(uri[:len(app)], app) {
		return uri, false
	}
	return uri[len(app):], true
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
