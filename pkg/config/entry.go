package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

const maxName = 256

// launch is what a source says, in a form that can be expanded: literals are not
// yet hashed.
type launch struct {
	transport source.Transport
	command   template
	args      []template
	cwd       template
	env       map[string]template
	envFile   *envFile
	url       template
	headers   map[string]template
}

// entry is one server of one file while it is read.
type entry struct {
	file     *file // nil for Options.Direct
	options  *Options
	name     string
	line     int
	disabled bool
	problems []finding.Finding // why it cannot be used
	notes    []finding.Finding
	source   *source.Source
	launch   launch

	declared source.Transport // by type or transport
	implied  source.Transport // by the member that holds the url
	switched *bool            // what disabled or enabled said first
	auto     bool             // nothing says how the url is reached: the client tries HTTP, then SSE
}

func (e *entry) dialect() dialect {
	if e.file == nil {
		return common
	}
	return e.file.client.dialect
}

func (e *entry) place(line int) finding.Place {
	p := finding.Place{Server: e.name, Line: line}
	if e.file != nil {
		p.File = e.file.name
	}
	return p
}

// bad records that the entry cannot be used.
func (e *entry) bad(line int, format string, args ...any) {
	e.problems = append(e.problems, finding.New(finding.ConfigEntryInvalid, e.place(line), fmt.Sprintf(format, args...)))
}

// secret records that the entry holds what must not go into a lockfile.
func (e *entry) secret(line int, format string, args ...any) {
	e.problems = append(e.problems, finding.New(finding.SecretInSource, e.place(line), fmt.Sprintf(format, args...)))
}

// add reads an entry.
func (f *file) add(name string, line int, n *node) {
	e := &entry{file: f, options: f.loader.o, name: name, line: line}
	f.loader.entries = append(f.loader.entries, e)
	e.checkName()
	if n.kind != object {
		e.bad(line, "%s in place of the server's entry", n.kind)
		return
	}
	if nested := n.get("config"); f.client.id == "goose" && nested != nil {
		n = &node{kind: object, line: n.line, members: slices.Concat(n.members, nested.members)}
	}
	if why := f.client.notASource(n); why != "" {
		f.loader.entries = f.loader.entries[:len(f.loader.entries)-1]
		f.loader.noted = append(f.loader.noted, finding.New(finding.ConfigUnread, e.place(line), fmt.Sprintf("%s %s", name, why)))
		return
	}
	for _, m := range n.members {
		if read, ok := fields[m.key]; ok && m.value.kind != null {
			read(e, m)
		}
	}
	e.finish()
}

// notASource says why an entry names something else than a command or an address, or
// "".
func (c *client) notASource(n *node) string {
	if n.get("command") != nil || n.get("url") != nil || n.get("cmd") != nil || n.get("uri") != nil {
		return ""
	}
	kind := n.get("type")
	switch {
	case c.id == "zed" && (n.get("settings") != nil || n.get("source") != nil):
		return "is started by an extension of Zed: what that is cannot be read here"
	case c.id == "goose" && kind != nil && slices.Contains([]string{"builtin", "platform", "frontend"}, kind.text):
		return "is a part of Goose and no MCP server of its own"
	}
	return ""
}

func directEntry(o *Options, name, url string) *entry {
	e := &entry{options: o, name: name}
	e.checkName()
	e.setURL(member{key: "url", value: &node{kind: text, text: url}}, "")
	e.finish()
	return e
}

func (e *entry) checkName() {
	switch {
	case e.name == "":
		e.bad(e.line, "the server's name is empty")
	case len(e.name) > maxName:
		e.bad(e.line, "the server's name is longer than %d bytes", maxName)
	case !utf8.ValidString(e.name) || strings.ContainsFunc(e.name, unicode.IsControl):
		e.bad(e.line, "the server's name holds a control character")
	}
}

// finish decides the transport and makes the source.
func (e *entry) finish() {
	l := &e.launch
	stdio, remote := len(l.command) > 0, len(l.url) > 0
	switch {
	case stdio && remote:
		e.bad(e.line, "the entry has two transports, a command and a url: clients differ in which they take")
	case !stdio && !remote:
		if len(e.problems) == 0 && !e.disabled {
			e.bad(e.line, "the entry has neither a command nor a url")
		}
	case stdio && (e.declared == source.HTTP || e.declared == source.SSE):
		e.bad(e.line, "the entry has a command, but says that it is of the transport %s", e.declared)
	case remote && e.declared == source.Stdio:
		e.bad(e.line, "the entry has a url, but says that it is of the transport stdio")
	}
	switch {
	case stdio:
		l.transport = source.Stdio
		l.url, l.headers = nil, nil
	case e.declared != "":
		l.transport = e.declared
	case e.implied != "":
		l.transport = e.implied
	default:
		l.transport, e.auto = source.HTTP, e.file != nil
	}
	if !stdio {
		l.command, l.args, l.cwd, l.env, l.envFile = nil, nil, nil, nil, nil
	}
	e.record()
}

// record makes the source that goes into the lockfile.
func (e *entry) record() {
	l := &e.launch
	src := &source.Source{Transport: l.transport, Command: l.command.String(), Cwd: l.cwd.String(), URL: l.url.String()}
	for _, a := range l.args {
		src.Args = append(src.Args, a.String())
	}
	if l.envFile != nil {
		src.EnvFile = &source.EnvFile{Path: l.envFile.path, Hash: l.envFile.hash}
	}
	src.Env = e.values("variable", l.env)
	src.Headers = e.values("header", l.headers)
	src.AllowLiteral = e.judgeLiterals()
	if len(e.problems) == 0 {
		e.source = src
		e.noteFloating(src)
	}
	if e.file != nil && e.file.inside && machinePath.MatchString(src.Command) {
		f := finding.New(finding.SourceMachinePath, e.place(e.line), fmt.Sprintf("the command of %s is a full path, which other machines may not have", e.name))
		e.notes = append(e.notes, f)
	}
}

// machinePath is how a full path starts, on any system.
var machinePath = regexp.MustCompile(`^(?:/|~|[A-Za-z]:[\\/]|\\\\)`)
