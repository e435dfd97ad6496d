package processor

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// preamble is the text that the gateway's own instructions begin with when it
// speaks for several targets.
const preamble = "This server is a gateway to a set of mcp servers. It is responsible for routing requests to the correct server and aggregating the results."

// MergedInstructions returns the text that the gateway gives for the instructions
// of several targets, in their order: its own words, and a section
// for each target that has any.
func MergedInstructions(targets, texts []string) string {
	var out strings.Builder
	out.WriteString(preamble)
	for i, text := range texts {
		if text != "" {
			out.WriteString("\n\n[" + targets[i] + "]\n" + text)
		}
	}
	return out.String()
}

// shape says what of a value is passed on: nothing but what it names.
type shape struct {
	kind    canonical.Kind
	text    *regexp.Regexp    // what a string must match
	cut     int               // or how many characters of it are passed on
	members map[string]*shape // of an object
	each    *shape            // of the elements of an array
}

var (
	flag     = &shape{kind: canonical.KindBool}
	nothing  = &shape{kind: canonical.KindObject}
	short    = &shape{kind: canonical.KindString, cut: maxIdentity}
	version  = &shape{kind: canonical.KindString, text: regexp.MustCompile(`^[0-9A-Za-z.-]{1,32}$`)}
	changes  = object(map[string]*shape{"listChanged": flag})
	identity = object(map[string]*shape{"name": short, "version": short})

	capabilities = object(map[string]*shape{
		"tools": changes, "prompts": changes, "logging": nothing, "completions": nothing,
		"resources": object(map[string]*shape{"subscribe": flag, "listChanged": flag}),
		"tasks": object(map[string]*shape{
			"list": nothing, "cancel": nothing,
			"requests": object(map[string]*shape{"tools": object(map[string]*shape{"call": nothing})}),
		}),
	})

	// hello is the result of initialize and of server/discover; instructions and
	// ttlMs are judged apart.
	hello = map[string]*shape{
		"protocolVersion": version, "supportedVersions": {kind: canonical.KindArray, each: version},
		"capabilities": capabilities, "serverInfo": identity,
		"resultType": word(`complete`), "cacheScope": word(`private|public`),
		"_meta": object(map[string]*shape{"io.modelcontextprotocol/serverInfo": identity}),
	}
)

func object(members map[string]*shape) *shape {
	return &shape{kind: canonical.KindObject, members: members}
}

func word(words string) *shape {
	return &shape{kind: canonical.KindString, text: regexp.MustCompile(`^(?:` + words + `)$`)}
}

// greeter judges one result of initialize or server/discover.
type greeter struct {
	policy  *Policy
	route   *route
	reader  canonical.Reader
	out     []byte
	changed bool
	removed []Removal
}

// judgeHello judges the result of initialize or server/discover. What goes on has
// the members that may pass.
func judgeHello(v *Verdict, p *Policy, r *route, m *method, body []byte) {
	if len(body) > maxBody {
		v.Code = DeniedTooLarge
		return
	}
	needed := "protocolVersion"
	if v.Method == "server/discover" {
		needed = "supportedVersions"
	}
	g := &greeter{policy: p, route: r, out: append(make([]byte, 0, len(body)), '{')}
	found := false
	g.reader.Reset(body)
	err := g.reader.Object(func(name []byte) error {
		if !m.has(r.era, name) {
			v.Member = string(name)
			return errForeign
		}
		before := len(g.out)
		kept, err := g.member(string(name))
		found = found || err == nil && kept && string(name) == needed
		if !kept {
			g.out = g.out[:before]
		}
		return err
	})
	if err == nil {
		err = g.reader.End()
	}
	v.Removed = g.removed
	switch {
	case errors.Is(err, errForeign):
		v.Code = DeniedForeign
	case err != nil || !found:
		v.Code = DeniedUnreadable
	case g.changed:
		v.Body = append(g.out, '}')
	}
}

// member reads a member of the result and appends what of it may pass.
func (g *greeter) member(name string) (kept bool, err error) {
	g.name(name)
	switch {
	case name == "instructions" && g.reader.Peek() == canonical.KindString:
		return g.instructions()
	case name == "ttlMs" && g.reader.Peek() == canonical.KindNumber:
		value, err := g.reader.Raw()
		limit := int64(g.policy.options.MaxListTTL / time.Millisecond)
		if ms, bad := strconv.ParseInt(string(value), 10, 64); bad == nil && 0 <= ms && ms <= limit {
			g.out = append(g.out, value...)
			return true, err
		}
		g.changed = true
		g.out = strconv.AppendInt(g.out, limit, 10)
		return true, err
	}
	return g.value(name, hello[name])
}

// name appends the name of a member, after a comma where one is due.
func (g *greeter) name(name string) {
	if last := g.out[len(g.out)-1]; last != '{' && last != '[' {
		g.out = append(g.out, ',')
	}
	g.out = append(canonical.AppendString(g.out, name), ':')
}

// value reads a value and appends what its shape lets pass; it reports false where
// that is nothing. path is for reports.
func (g *greeter) value(path string, s *shape) (kept bool, err error) {
	if s == nil || g.reader.Peek() != s.kind {
		return g.remove(path)
	}
	switch s.kind {
	case canonical.KindObject:
		g.out = append(g.out, '{')
		err := g.reader.Object(func(name []byte) error {
			before, member := len(g.out), string(name)
			g.name(member)
			kept, err := g.value(path+"."+member, s.members[member])
			if !kept {
				g.out = g.out[:before]
			}
			return err
		})
		g.out = append(g.out, '}')
		return true, err
	case canonical.KindArray:
		g.out = append(g.out, '[')
		err := g.reader.Array(func() error {
			before := len(g.out)
			if g.out[before-1] != '[' {
				g.out = append(g.out, ',')
			}
			kept, err := g.value(path+"[]", s.each)
			if !kept {
				g.out = g.out[:before]
			}
			return err
		})
		g.out = append(g.out, ']')
		return true, err
	case canonical.KindString:
		return g.text(path, s)
	default:
		raw, err := g.reader.Raw()
		g.out = append(g.out, raw...)
		return true, err
	}
}

// maxIdentity is how long the name and the version of a server may be, in
// characters. They are not pinned, and clients may show them to the agent.
const maxIdentity = 64

// text reads a string.
func (g *greeter) text(path string, s *shape) (kept bool, err error) {
	before := g.reader
	text, err := g.reader.String()
	switch {
	case err != nil:
		return false, err
	case s.cut > 0:
		if short := printable(text, s.cut); short != text {
			text = short
			g.changed = true
			g.removed = append(g.removed, Removal{Server: g.route.server(g.policy), Name: path, Code: DeniedCut})
		}
	case !s.text.MatchString(text):
		g.reader = before
		return g.remove(path)
	}
	g.out = canonical.AppendString(g.out, text)
	return true, nil
}

// printable is the beginning of a text, without the characters that are not seen.
func printable(text string, limit int) string {
	var out strings.Builder
	for _, c := range text {
		if limit == 0 {
			break
		}
		if c == ' ' || unicode.IsGraphic(c) && !unicode.IsSpace(c) && !textcheck.Invisible(c) {
			out.WriteRune(c)
			limit--
		}
	}
	return out.String()
}

// remove reads a value that does not pass.
func (g *greeter) remove(path string) (bool, error) {
	_, err := g.reader.Raw()
	g.changed = true
	g.removed = append(g.removed, Removal{Server: g.route.server(g.policy), Name: path, Code: DeniedMember})
	return false, err
}

// instructions reads the instructions and passes them where they are approved.
func (g *greeter) instructions() (kept bool, err error) {
	text, err := g.reader.String()
	if err != nil {
		return false, err
	}
	out := Removal{Server: g.route.server(g.policy), Kind: surface.KindInstructions, Seen: canonical.SumString(text)}
	if len(g.route.targets) == 1 {
		i := &g.policy.targets[g.route.targets[0]].instructions
		out.Approved = i.hash
		out.Code = i.judge(out.Seen, g.policy.options.Uncovered)
	} else if want, ok := g.expected(); ok {
		if out.Approved = canonical.SumString(want); text != want {
			out.Code = DeniedChanged
		}
	} else {
		out.Code = DeniedNotApproved
	}
	if out.Code != "" {
		g.changed = true
		g.removed = append(g.removed, out)
		return false, nil
	}
	g.out = canonical.AppendString(g.out, text)
	return true, nil
}

func (i *instructions) judge(seen canonical.Digest, uncovered Uncovered) Code {
	switch {
	case i.denied == DeniedByFile:
		return DeniedByFile
	case !i.covered && uncovered == UncoveredPass:
		return ""
	case !i.covered:
		return DeniedNotCovered
	case i.denied != "":
		return i.denied
	case i.hash != seen:
		return DeniedChanged
	}
	return ""
}

// expected is the text that the gateway makes of the approved instructions of
// several targets. It reports false where one of those is not at hand, or may be
// anything.
func (g *greeter) expected() (string, bool) {
	texts := make([]string, 0, len(g.route.targets))
	for _, target := range g.route.targets {
		i := &g.policy.targets[target].instructions
		switch {
		case i.denied == DeniedByFile:
			texts = append(texts, "")
		case !i.covered && g.policy.options.Uncovered == UncoveredPass:
			return "", false
		case !i.covered || i.denied != "":
			texts = append(texts, "")
		case canonical.SumString(i.text) != i.hash:
			return "", false
		default:
			texts = append(texts, i.text)
		}
	}
	return MergedInstructions(slices.Clone(g.route.targets), texts), true
}
