package config

import (
	"fmt"
	"regexp"
	"strings"
)

// A dialect is how one client spells references beyond the common ${…}.
type dialect int

const (
	common     dialect = iota
	dollar             // also $VAR
	shell              // also $VAR, and $$ is a dollar sign
	shellWords         // also $VAR; $(command) runs one
	openCode           // also {env:VAR}
	expression         // also ${{ secrets.VAR }} and ${{ inputs.ID }}
)

// template is a text with references, in order. A text without references has
// one part at most.
type template []part

// part is a literal text or a reference.
type part struct {
	literal string
	ref     *reference
	line    int // of the first part: where the text is, or 0
}

// reference stands for a value that is known only where a server is started.
type reference struct {
	what       place
	variable   string // of fromVariable
	fallback   string
	hasDefault bool
	spelled    string // as it stands in a source
}

// place is where the value of a reference comes from.
type place int

const (
	fromVariable place = iota
	fromWorkspace
	fromWorkspaceName
	fromHome
	fromSeparator
)

// predefined are the references that are no variables of the environment.
var predefined = map[string]place{
	"workspaceFolder":         fromWorkspace,
	"workspaceFolderBasename": fromWorkspaceName,
	"userHome":                fromHome,
	"pathSeparator":           fromSeparator,
	"/":                       fromSeparator,
}

var (
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	inputName      = regexp.MustCompile(`^[\p{L}\p{N}_.\- ]+$`)
	openCodeRef    = regexp.MustCompile(`^\{(env|file):([^{}]*)\}`)
	expressionRef  = regexp.MustCompile(`^\$\{\{\s*(secrets|inputs)\.([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}`)
	notInVariables = regexp.MustCompile(`[^A-Za-z0-9]`)
)

// InputPrefix begins the names of the variables that hold the values of ${input:ID}.
const InputPrefix = "AGENTGATEWAY_INPUT_"

// InputVariable is the variable that holds the value of ${input:ID}: the prefix and
// the id in upper case, with _ for whatever is no letter or digit of ASCII.
func InputVariable(id string) string {
	return InputPrefix + strings.ToUpper(notInVariables.ReplaceAllString(id, "_"))
}

// parseTemplate reads a text as the client of that dialect does.
func parseTemplate(d dialect, s string) (template, error) {
	var t template
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t = append(t, part{literal: literal.String()})
			literal.Reset()
		}
	}
	for s != "" {
		i := strings.IndexAny(s, "${")
		if i < 0 {
			break
		}
		literal.WriteString(s[:i])
		s = s[i:]
		ref, plain, size, err := d.next(s)
		switch {
		case err != nil:
			return nil, err
		case ref != nil:
			flush()
			t = append(t, part{ref: ref})
		default:
			literal.WriteString(plain)
		}
		s = s[size:]
	}
	literal.WriteString(s)
	flush()
	return t, nil
}

// next reads what stands at the start of s, a dollar sign or a brace: a reference,
// or plain text, and how many bytes it takes.
func (d dialect) next(s string) (ref *reference, plain string, size int, err error) {
	if d == openCode {
		if m := openCodeRef.FindStringSubmatch(s); m != nil {
			if m[1] == "file" {
				return nil, "", 0, fmt.Errorf("{file:…} reads a file that the lockfile cannot record")
			}
			ref, err := variable(m[2])
			return ref, "", len(m[0]), err
		}
	}
	if d == expression {
		if m := expressionRef.FindStringSubmatch(s); m != nil {
			if m[1] == "inputs" {
				return input(m[2]), "", len(m[0]), nil
			}
			ref, err := variable(m[2])
			return ref, "", len(m[0]), err
		}
	}
	if strings.HasPrefix(s, "${") {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return nil, "", 0, fmt.Errorf("a reference that starts with ${ is not closed")
		}
		ref, err := braces(s[2:end])
		return ref, "", end + 1, err
	}
	if d == shellWords && (strings.HasPrefix(s, "$(") || strings.HasPrefix(s, "${(")) {
		return nil, "", 0, fmt.Errorf("$(…) runs a command that the lockfile cannot record")
	}
	if s[0] == '$' && (d == dollar || d == shell || d == shellWords) {
		if name := variableName.FindString(s[1:]); name != "" {
			ref, err := variable(name)
			return ref, "", 1 + len(name), err
		}
		if d == shell && strings.HasPrefix(s, "$$") {
			return nil, "$", 2, nil
		}
	}
	return nil, s[:1], 1, nil
}

// variable is the reference to a variable of the environment by that name.
func variable(name string) (*reference, error) {
	if name == "" || variableName.FindString(name) != name {
		return nil, fmt.Errorf("a reference names no variable: letters, digits and _ make its name")
	}
	return &reference{variable: name, spelled: "${" + name + "}"}, nil
}

func input(id string) *reference {
	return &reference{variable: InputVariable(id), spelled: "${input:" + id + "}"}
}

// braces reads what stands between ${ and }.
func braces(inside string) (*reference, error) {
	spelled := "${" + inside + "}"
	if strings.ContainsAny(inside, "{$") {
		return nil, fmt.Errorf("in %s a reference is inside another, which clients read differently", quoteReference(inside))
	}
	if what, ok := predefined[inside]; ok {
		return &reference{what: what, spelled: spelled}, nil
	}
	if id, ok := strings.CutPrefix(inside, "input:"); ok {
		if !inputName.MatchString(id) {
			return nil, fmt.Errorf("${input:…} names no input")
		}
		return input(id), nil
	}
	if name, ok := strings.CutPrefix(inside, "env:"); ok {
		ref, err := variable(name)
		if err == nil {
			ref.spelled = spelled
		}
		return ref, err
	}
	name, fallback, hasDefault := strings.Cut(inside, ":-")
	ref, err := variable(name)
	if err != nil {
		return nil, fmt.Errorf("the reference %s is of no kind that is known here", quoteReference(inside))
	}
	ref.fallback, ref.hasDefault, ref.spelled = fallback, hasDefault, spelled
	return ref, nil
}

// maxQuoted bounds what an error shows of a reference, in bytes.
const maxQuoted = 60

// quoteReference is a reference as an error shows it: without what may be a secret.
func quoteReference(inside string) string {
	shown := mask(inside, findRuns("", inside))
	if name, value, ok := strings.Cut(inside, ":-"); ok {
		shown = name + ":-" + mask(value, findRuns(name, value))
	}
	if len(shown) > maxQuoted {
		shown = strings.ToValidUTF8(shown[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", "${"+shown+"}")
}

// String is the template as it stands in a source.
func (t template) String() string {
	var b strings.Builder
	for _, p := range t {
		if p.ref != nil {
			b.WriteString(p.ref.spelled)
		} else {
			b.WriteString(p.literal)
		}
	}
	return b.String()
}

// unified is the template with one spelling for what means the same.
func (t template) unified() string {
	var b strings.Builder
	for _, p := range t {
		switch {
		case p.ref == nil:
			b.WriteString(p.literal)
		case p.ref.what != fromVariable || p.ref.hasDefault:
			b.WriteString(p.ref.spelled)
		default:
			b.WriteString("${" + p.ref.variable + "}")
		}
	}
	return b.String()
}

// literal reports whether the template refers to nothing.
func (t template) literal() bool {
	return len(t) == 0 || len(t) == 1 && t[0].ref == nil
}

// readTemplate is parseTemplate for a text that is to be recorded: what stands in
// the source must be read there as it was in the configuration.
func readTemplate(d dialect, s string) (template, error) {
	t, err := parseTemplate(d, s)
	if err != nil || d == common {
		return t, err
	}
	again, err := parseTemplate(common, t.String())
	if err != nil || !sameParts(t, again) {
		return nil, fmt.Errorf("an escaped dollar sign before a brace cannot be recorded")
	}
	return t, nil
}

func sameParts(a, b template) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].literal != b[i].literal || (a[i].ref == nil) != (b[i].ref == nil) || a[i].ref != nil && *a[i].ref != *b[i].ref {
			return false
		}
	}
	return true
}
