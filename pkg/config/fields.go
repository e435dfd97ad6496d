package config

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

// fields are the members of an entry that decide what runs and who receives what,
// of all clients: what one client ignores, another reads. Other members are passed
// over.
var fields = map[string]func(*entry, member){
	"command":   (*entry).setCommand,
	"args":      (*entry).setArgs,
	"cwd":       (*entry).setCwd,
	"env":       (*entry).addEnv,
	"envFile":   (*entry).setEnvFile,
	"url":       func(e *entry, m member) { e.setURL(m, e.file.client.urlTransport) },
	"serverUrl": func(e *entry, m member) { e.setURL(m, "") },
	"httpUrl":   func(e *entry, m member) { e.setURL(m, source.HTTP) },
	"headers":   (*entry).addHeaders,
	"type":      (*entry).declare,
	"transport": (*entry).declare,
	"disabled":  func(e *entry, m member) { e.turn(m, true) },
	"enabled":   func(e *entry, m member) { e.turn(m, false) },

	"environment": (*entry).addEnv, // OpenCode

	// Warp and Junie
	"working_directory": (*entry).setCwd,
	"workingDirectory":  (*entry).setCwd,

	// Goose
	"cmd":      (*entry).setCommand,
	"envs":     (*entry).addEnv,
	"env_keys": (*entry).forwardEnv,
	"uri":      func(e *entry, m member) { e.setURL(m, "") },

	"requestOptions": (*entry).addRequestOptions, // Continue

	// Codex
	"env_vars":             (*entry).forwardEnv,
	"http_headers":         (*entry).addHeaders,
	"env_http_headers":     (*entry).addVariableHeaders,
	"bearer_token_env_var": (*entry).addBearer,

	// What cannot be recorded must not be passed over.
	"bearer_token": func(e *entry, m member) {
		e.bad(m.line, "bearer_token holds a literal token: use bearer_token_env_var")
	},
	"headersHelper": func(e *entry, m member) {
		e.bad(m.line, "headersHelper runs a command that the lockfile cannot record")
	},
	"tcp": func(e *entry, m member) { e.bad(m.line, "the transport tcp is not supported") },
}

// headerName is a token of RFC 9110, section 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$")

func validHeader(name string) bool { return headerName.MatchString(name) }

// transports are the spellings of type and transport.
var transports = map[string]source.Transport{
	"stdio": source.Stdio, "local": source.Stdio,
	"http": source.HTTP, "streamable-http": source.HTTP, "streamableHttp": source.HTTP,
	"streamable_http": source.HTTP, "streamableHTTP": source.HTTP, "remote": source.HTTP,
	"sse": source.SSE,
}

// text returns the string that a member holds.
func (e *entry) text(m member) (string, bool) {
	if m.value.kind != text {
		e.bad(m.line, "%s where %s must be a string", m.value.kind, m.key)
		return "", false
	}
	return m.value.text, true
}

// template reads the text of a member.
func (e *entry) template(m member) template {
	s, ok := e.text(m)
	if !ok {
		return nil
	}
	if strings.ContainsRune(s, 0) {
		e.bad(m.line, "%s holds a null character", m.key)
		return nil
	}
	t, err := readTemplate(e.dialect(), e.rooted(s))
	if err != nil {
		e.bad(m.line, "%s: %v%s", m.key, err, e.inStead())
	}
	if len(t) > 0 {
		t[0].line = m.line
	}
	return t
}

// inStead says how the client of an entry refers to a variable.
func (e *entry) inStead() string {
	switch {
	case e.file == nil:
		return ""
	case e.file.client.variable == "":
		return "; " + e.file.client.name + " expands no variables"
	}
	return fmt.Sprintf("; %s writes %s for a variable", e.file.client.name, fmt.Sprintf(e.file.client.variable, "VAR"))
}

// rooted puts the folder of a plugin or extension in place of the names that their
// clients have for it.
func (e *entry) rooted(s string) string {
	if e.file == nil || !e.file.inside || !strings.Contains(s, "${") {
		return s
	}
	root := "${workspaceFolder}"
	if dir := e.file.folder(); dir != "" && (e.file.client.id == "gemini-extension" || path.Base(dir) != dir || e.file.client.id == pluginID) {
		root += "/" + dir
	}
	return strings.NewReplacer("${CLAUDE_PLUGIN_ROOT}", root, "${extensionPath}", root,
		"${CLAUDE_PROJECT_DIR}", "${workspaceFolder}", "${workspacePath}", "${workspaceFolder}").Replace(s)
}

// setCommand reads a command as one word, as a list with its arguments, or as the
// object with path, args and env that older versions of Zed have.
func (e *entry) setCommand(m member) {
	switch m.value.kind {
	case object:
		for _, part := range m.value.members {
			switch part.key {
			case "path":
				e.setProgram(part)
			case "args":
				e.setArgs(part)
			case "env":
				e.addEnv(part)
			}
		}
	case array:
		for i, item := range m.value.items {
			part := member{m.key, item.line, item}
			if i == 0 {
				e.setProgram(part)
			} else {
				e.launch.args = append(e.launch.args, e.template(part))
			}
		}
	default:
		e.setProgram(m)
	}
}

func (e *entry) setProgram(m member) {
	t := e.template(m)
	switch {
	case len(e.launch.command) > 0:
		e.bad(m.line, "the entry has two commands")
	case m.value.kind == text && m.value.text == "":
		e.bad(m.line, "the command is empty")
	default:
		e.launch.command = t
	}
}

func (e *entry) setArgs(m member) {
	switch {
	case m.value.kind != array:
		e.bad(m.line, "%s where args must be a list", m.value.kind)
	case len(e.launch.args) > 0 && len(m.value.items) > 0:
		e.bad(m.line, "the entry has arguments at two places")
	default:
		for _, item := range m.value.items {
			e.launch.args = append(e.launch.args, e.template(member{"args", item.line, item}))
		}
	}
}

func (e *entry) setCwd(m member) { e.launch.cwd = e.template(m) }

// setURL reads a url. Two members that hold one are two transports.
func (e *entry) setURL(m member, implied source.Transport) {
	if len(e.launch.url) > 0 {
		e.bad(m.line, "the entry has two urls: clients differ in which they take")
		return
	}
	t := e.template(m)
	if len(t) == 0 {
		return // an empty one is as none: finish says so where there is no command
	}
	e.launch.url, e.implied = t, implied
	if problem := judgeURL(t); problem != "" {
		e.bad(m.line, "%s", problem)
	}
}

func (e *entry) declare(m member) {
	s, ok := e.text(m)
	if !ok || s == "" {
		return
	}
	t, ok := transports[s]
	switch {
	case !ok:
		e.bad(m.line, "%q is no transport that is supported: they are stdio, http and sse", s)
	case e.declared != "" && e.declared != t:
		e.bad(m.line, "the entry says two transports, %s and %s", e.declared, t)
	default:
		e.declared = t
	}
}

// turn reads disabled, where it is off, or enabled.
func (e *entry) turn(m member, off bool) {
	if m.value.kind != boolean {
		e.bad(m.line, "%s where %s must be true or false", m.value.kind, m.key)
		return
	}
	disabled := m.value.yes == off
	if e.switched != nil && *e.switched != disabled {
		e.bad(m.line, "the entry is both enabled and disabled")
	}
	e.switched = &disabled
	if disabled && !e.file.client.obeys {
		e.notes = append(e.notes, finding.New(finding.ServerDisabled, e.place(m.line),
			fmt.Sprintf("%s is written as switched off, which %s does not obey: it counts as on", e.name, e.file.client.name)))
		return
	}
	e.disabled = disabled
}

func (e *entry) addEnv(m member) {
	e.launch.env = e.addMap(e.launch.env, m, "variable", func(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") })
}

func (e *entry) addHeaders(m member) {
	e.launch.headers = e.addMap(e.launch.headers, m, "header", validHeader)
}

// addMap reads an object of strings into values.
func (e *entry) addMap(values map[string]template, m member, what string, valid func(string) bool) map[string]template {
	if m.value.kind == array && len(m.value.items) == 0 {
		return values // as PHP writes an empty object
	}
	if m.value.kind != object {
		e.bad(m.line, "%s where %s must be an object of strings", m.value.kind, m.key)
		return values
	}
	for _, v := range m.value.members {
		switch v.value.kind {
		case null:
			continue
		case number, boolean:
			v.value = plainText(v.value)
		}
		if !valid(v.key) {
			e.bad(v.line, "%q is no name of a %s", v.key, what)
			continue
		}
		values = e.put(values, v, what, e.template(v))
	}
	return values
}

// plainText is a number or boolean as the string that clients make of it.
func plainText(n *node) *node {
	word := n.text
	if n.kind == boolean {
		word = strconv.FormatBool(n.yes)
	}
	return &node{kind: text, line: n.line, text: word}
}

// put adds a value, whose name must not be there already. Header names are the
// same in upper and lower case.
func (e *entry) put(values map[string]template, m member, what string, t template) map[string]template {
	for name := range values {
		if name == m.key || what == "header" && strings.EqualFold(name, m.key) {
			e.bad(m.line, "the %s %s is set twice", what, m.key)
			return values
		}
	}
	if values == nil {
		values = map[string]template{}
	}
	values[m.key] = t
	return values
}

func (e *entry) addRequestOptions(m member) {
	if m.value.kind != object {
		e.bad(m.line, "%s where requestOptions must be an object", m.value.kind)
	}
	for _, part := range m.value.members {
		if part.key == "headers" && part.value.kind != null {
			e.addHeaders(part)
		}
	}
}

// forwardEnv reads the names of variables that are handed on, each a string or an
// object with a name.
func (e *entry) forwardEnv(m member) {
	if m.value.kind != array {
		e.bad(m.line, "%s where env_vars must be a list of names", m.value.kind)
	}
	for _, item := range m.value.items {
		if item.kind == object {
			item = item.get("name")
		}
		if item == nil {
			e.bad(m.line, "env_vars holds an entry without a name")
			continue
		}
		name, ok := e.text(member{"env_vars", m.line, item})
		if !ok {
			continue
		}
		e.launch.env = e.put(e.launch.env, member{name, m.line, item}, "variable", e.variable(m.line, "env_vars", name))
	}
}

func (e *entry) addVariableHeaders(m member) {
	if m.value.kind != object {
		e.bad(m.line, "%s where %s must be an object of strings", m.value.kind, m.key)
	}
	for _, v := range m.value.members {
		if !validHeader(v.key) {
			e.bad(v.line, "%q is no name of a header", v.key)
		} else if name, ok := e.text(v); ok {
			e.launch.headers = e.put(e.launch.headers, v, "header", e.variable(v.line, m.key, name))
		}
	}
}

func (e *entry) addBearer(m member) {
	if name, ok := e.text(m); ok {
		token := e.variable(m.line, m.key, name)
		m.key = "Authorization"
		e.launch.headers = e.put(e.launch.headers, m, "header", append(template{{literal: "Bearer "}}, token...))
	}
}

// variable is the template of a variable that a member names without a dollar
// sign. What is no name is not shown: people put the secret there by mistake.
func (e *entry) variable(line int, what, name string) template {
	ref, err := variable(name)
	switch {
	case err != nil:
		e.bad(line, "%s holds something else than the name of a variable", what)
	case generated(name) && strings.ToUpper(name) != name:
		e.secret(line, "%s holds what looks like a secret, not the name of a variable", what)
	default:
		return template{{ref: ref}}
	}
	return nil
}

// literalPrefix begins a value that stands for a literal, in a source.
const literalPrefix = "sha256:"

// values are the values of env or headers as they go into a source.
func (e *entry) values(what string, templates map[string]template) map[string]string {
	if len(templates) == 0 {
		return nil
	}
	out := make(map[string]string, len(templates))
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		t := templates[name]
		switch {
		case !t.literal():
			out[name] = t.String()
		case len(t) > 0 && !e.file.inside:
			e.secret(e.line, "the %s %s is set to a literal in a file outside the repository: use ${VAR}", what, name)
		default:
			out[name] = literalPrefix + canonical.SumString(t.String()).String()
		}
	}
	return out
}
