package processor

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// maxScope is how long the text of a scope may be, in bytes.
const maxScope = 1024

// route is what a hook says of the gateway's route: its services, the spelling of
// names in lists, and the scope.
type route struct {
	services []string
	names    NameMode
	scope    string
}

// newRoute reads the metadata of a hook. The code says why it cannot be used.
func newRoute(services []string, metadata *structpb.Struct, names NameMode) (route, Code) {
	r := route{services: services, names: names}
	if fields := metadata.GetFields(); len(fields) > 0 {
		if v, ok := fields["names"]; ok {
			mode, isText := v.GetKind().(*structpb.Value_StringValue)
			if !isText {
				return r, DeniedMetadata
			}
			r.names = NameMode(mode.StringValue)
		}
		if v, ok := fields["scope"]; ok {
			text, isText := v.GetKind().(*structpb.Value_StringValue)
			if !isText || len(text.StringValue) > maxScope {
				return r, DeniedMetadata
			}
			r.scope = text.StringValue
		}
	}
	switch r.names {
	case NamesByCount:
		r.names = NamesRaw
		if len(services) > 1 {
			r.names = NamesPrefixed
		}
	case NamesNever:
		if len(services) == 1 {
			r.names = NamesRaw
		}
	case NamesRaw, NamesPrefixed:
	default:
		return r, DeniedMetadata
	}
	return r, ""
}

// native splits a name of a list into the service that it is of and the name that
// the service itself gives. It reports false where the name does not tell.
func (r *route) native(k kind, name string) (service, rest string, ok bool) {
	if r.names != NamesPrefixed {
		if len(r.services) != 1 {
			return "", name, false
		}
		return r.services[0], name, true
	}
	if k == template || k == resource {
		service, rest, ok = splitURI(name)
		if !ok && len(r.services) == 1 && !hasScheme(name) {
			return r.services[0], name, true
		}
	} else {
		service, rest, ok = strings.Cut(name, "_")
	}
	if !ok {
		return "", name, false
	}
	if slices.Contains(r.services, service) {
		return service, rest, true
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
