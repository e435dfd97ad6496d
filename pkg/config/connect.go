package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

// maxExpanded bounds one text after its variables are expanded, in bytes.
const maxExpanded = 256 << 10

// Connection is what is started or contacted, with variables expanded: it may hold
// secrets.
type Connection struct {
	Transport source.Transport
	Command   string
	Args      []string
	Cwd       string            // absolute
	Env       map[string]string // besides what every child process gets
	URL       string
	Headers   map[string]string
	// Values are those of the variables that were expanded, to be taken out of what
	// is shown.
	Values *Values
	// AllowPrivate is the lockfile's own; the caller sets it where the
	// configuration is what is connected to.
	AllowPrivate bool
}

// UnsetError says that a variable is not set.
type UnsetError struct {
	Variable string
	Place    finding.Place
	Member   string // that names it: command, args, env NAME, …
}

// Error implements error.
func (e *UnsetError) Error() string {
	return fmt.Sprintf("the variable %s is not set, which %s of %s needs", e.Variable, e.Member, e.Place.Server)
}

// Finding is the error as a finding.
func (e *UnsetError) Finding() finding.Finding {
	return finding.New(finding.VariableUnset, e.Place, fmt.Sprintf("the variable %s is not set, which %s needs", e.Variable, e.Member))
}

// LiteralError says that a source holds only the hash of a value, which stands in
// the configuration.
type LiteralError struct {
	Member string // as in UnsetError
}

// Error implements error.
func (e *LiteralError) Error() string {
	return fmt.Sprintf("%s is recorded as a hash, so the configuration that holds it must be read", e.Member)
}

// Connect expands the server's variables. Lookup is os.LookupEnv or less: it is
// asked for no variable but those that the source names. Workspace is the
// absolute path of the repository. The error is an [*UnsetError] where a variable
// is missing.
func (s *Server) Connect(lookup func(name string) (string, bool), workspace string) (Connection, error) {
	place := finding.Place{Server: s.Name}
	if len(s.Places) > 0 {
		place = s.Places[0]
	}
	x := expander{lookup, workspace, place, map[string]string{}}
	return x.connection(&s.launch)
}

// ConnectSource expands a source as the lockfile has it, for a server that no
// configuration names. The error is a [*LiteralError] where the source holds a
// hash in place of a value, else as for [Server.Connect].
func ConnectSource(name string, src *source.Source, lookup func(name string) (string, bool), workspace string) (Connection, error) {
	l, err := parseSource(src)
	if err != nil {
		return Connection{}, err
	}
	x := expander{lookup, workspace, finding.Place{Server: name}, map[string]string{}}
	c, err := x.connection(l)
	c.AllowPrivate = src.AllowPrivate
	return c, err
}

// parseSource reads a source back into what can be expanded.
func parseSource(src *source.Source) (*launch, error) {
	if src.EnvFile != nil {
		return nil, &LiteralError{"envFile"}
	}
	l := &launch{transport: src.Transport}
	var failed error
	parse := func(member, s string) template {
		if strings.HasPrefix(s, literalPrefix) && (strings.HasPrefix(member, "env ") || strings.HasPrefix(member, "header ")) {
			failed = &LiteralError{member}
			return nil
		}
		t, err := parseTemplate(common, s)
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", member, err)
		}
		return t
	}
	l.command, l.cwd, l.url = parse("command", src.Command), parse("cwd", src.Cwd), parse("url", src.URL)
	for _, a := range src.Args {
		l.args = append(l.args, parse("args", a))
	}
	l.env, l.headers = map[string]template{}, map[string]template{}
	for _, name := range slices.Sorted(maps.Keys(src.Env)) {
		l.env[name] = parse("env "+name, src.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(src.Headers)) {
		l.headers[name] = parse("header "+name, src.Headers[name])
	}
	return l, failed
}

type expander struct {
	lookup    func(string) (string, bool)
	workspace string
	place     finding.Place
	expanded  map[string]string // the variables that were set
}

func (x *expander) connection(l *launch) (Connection, error) {
	c := Connection{Transport: l.transport}
	var err error
	set := func(to *string, member string, t template) {
		if err == nil {
			*to, err = x.expand(member, t)
		}
	}
	set(&c.Command, "command", l.command)
	for _, a := range l.args {
		var s string
		set(&s, "args", a)
		c.Args = append(c.Args, s)
	}
	set(&c.Cwd, "cwd", l.cwd)
	set(&c.URL, "url", l.url)
	fill := func(what string, from map[string]template) map[string]string {
		if len(from) == 0 {
			return nil
		}
		to := make(map[string]string, len(from))
		for _, name := range slices.Sorted(maps.Keys(from)) {
			var s string
			set(&s, what+" "+name, from[name])
			to[name] = s
		}
		return to
	}
	env := fill("env", l.env)
	c.Headers = fill("header", l.headers)
	if err != nil {
		return Connection{}, err
	}
	c.Env = env
	if l.envFile != nil {
		c.Env = maps.Clone(l.envFile.values)
		maps.Copy(c.Env, env)
		for name, value := range l.envFile.values {
			if len(findRuns(name, value)) > 0 { // most of such a file are settings
				x.expanded[name] = value
			}
		}
	}
	c.Values = NewValues(x.expanded)
	if l.transport == source.Stdio && !filepath.IsAbs(c.Cwd) {
		c.Cwd = filepath.Join(x.workspace, c.Cwd)
	}
	return c, x.check(&c)
}

// check refuses what a variable brought in that would be read as more than a value.
func (x *expander) check(c *Connection) error {
	for name, value := range c.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("the header %s of %s holds a line break or null character after its variables are expanded", name, x.place.Server)
		}
	}
	for _, s := range slices.Concat([]string{c.Command, c.Cwd, c.URL}, c.Args, slices.Collect(maps.Values(c.Env))) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("a value of %s holds a null character after its variables are expanded", x.place.Server)
		}
	}
	if c.Transport == source.Stdio {
		if c.Command == "" {
			return fmt.Errorf("the command of %s is empty after its variables are expanded", x.place.Server)
		}
		return nil
	}
	if problem := judgeURL(template{{literal: c.URL}}); problem != "" {
		return fmt.Errorf("%s, after the variables of %s are expanded", problem, x.place.Server)
	}
	return nil
}

func (x *expander) expand(member string, t template) (string, error) {
	var b strings.Builder
	for _, p := range t {
		s := p.literal
		if p.ref != nil {
			var err error
			if s, err = x.value(member, p.ref); err != nil {
				return "", err
			}
		}
		if b.Len()+len(s) > maxExpanded {
			return "", fmt.Errorf("%s of %s is longer than %d bytes after its variables are expanded", member, x.place.Server, maxExpanded)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (x *expander) value(member string, r *reference) (string, error) {
	switch r.what {
	case fromWorkspace:
		return x.workspace, nil
	case fromWorkspaceName:
		return filepath.Base(x.workspace), nil
	case fromSeparator:
		return string(filepath.Separator), nil
	case fromHome:
		for _, name := range []string{"HOME", "USERPROFILE"} {
			if s, ok := x.lookup(name); ok && s != "" {
				return s, nil
			}
		}
		return "", &UnsetError{"HOME", x.place, member}
	}
	if s, ok := x.lookup(r.variable); ok {
		if !r.hasDefault || s != r.fallback { // a default is no secret: the source shows it
			x.expanded[r.variable] = s
		}
		return s, nil
	}
	if r.hasDefault {
		return r.fallback, nil
	}
	return "", &UnsetError{r.variable, x.place, member}
}
