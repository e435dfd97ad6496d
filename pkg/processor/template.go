package processor

import (
	"regexp"
	"strings"
)

// The bounds of matching, whose time is the product of the lengths.
const (
	maxURI         = 4 << 10
	maxTemplate    = 2 << 10
	maxExpressions = 12
)

// A pattern recognises the URIs that a resource template (RFC 6570) expands to.
// Variables are not read: every expression stands for any value that its operator
// can write.
type pattern struct {
	item   *item
	start  string         // the literal before the first expression
	match  *regexp.Regexp // nil where the template is none, or over a bound
	closed bool           // start holds scheme and authority
}

// What expressions write, by their operator: a list of values, of reserved
// characters too for + and #, after the operator's own character.
const (
	unreserved = `(?:[A-Za-z0-9\-._~,]|%[0-9A-Fa-f]{2})*`
	reserved   = `(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*`
	pairs      = `(?:[A-Za-z0-9\-._~,=]|%[0-9A-Fa-f]{2})*`
)

var operators = map[byte]string{
	'+': reserved,
	'#': `(?:#` + reserved + `)?`,
	'.': `(?:\.` + unreserved + `)?`,
	'/': `(?:/` + unreserved + `)*`,
	';': `(?:;` + pairs + `)*`,
	'?': `(?:\?` + pairs + `(?:&` + pairs + `)*)?`,
	'&': `(?:&` + pairs + `)*`,
}

// authority is a literal that holds a scheme and the whole authority, which what
// follows cannot add to: only a slash, a question mark or a number sign ends it.
var authority = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*[/?#]`)

func newPattern(it *item) pattern {
	p := pattern{item: it}
	rest := lowerApp(it.name)
	if len(rest) > maxTemplate || strings.Count(rest, "{") > maxExpressions {
		return p
	}
	p.start, _, _ = strings.Cut(rest, "{")
	p.closed = authority.MatchString(p.start)
	var out strings.Builder
	out.WriteString(`\A`)
	for rest != "" {
		literal, after, more := strings.Cut(rest, "{")
		if strings.ContainsRune(literal, '}') {
			return p
		}
		out.WriteString(regexp.QuoteMeta(literal))
		if rest = after; !more {
			break
		}
		expression, after, ok := strings.Cut(rest, "}")
		if !ok || expression == "" || strings.ContainsRune(expression, '{') {
			return p
		}
		written, known := operators[expression[0]]
		if !known {
			written = unreserved
		}
		out.WriteString(written)
		rest = after
	}
	out.WriteString(`\z`)
	if match, err := regexp.Compile(out.String()); err == nil {
		p.match = match
	}
	return p
}

// expands reports whether the template expands to the URI.
func (p *pattern) expands(uri string) bool {
	uri = lowerApp(uri)
	return p.match != nil && strings.HasPrefix(uri, p.start) && p.match.MatchString(uri)
}

// hidden are spellings that servers may read as what a path is made of.
var hidden = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/")

// leaves reports whether a URI has a segment that leads elsewhere than its text
// says: "." or "..", however spelled.
func leaves(uri string) bool {
	for segment := range strings.FieldsFuncSeq(hidden.Replace(uri), func(r rune) bool { return strings.ContainsRune("/?#", r) }) {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
