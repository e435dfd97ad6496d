package config

import (
	"slices"
	"strings"

	"agentgateway-lock/pkg/source"
)

// target is one MCP server behind the gateway, with the policies that apply to it,
// the nearest first.
type target struct {
	*node
	policies []*node
}

// gatewayTargets finds the targets of every MCP backend, wherever it stands: under
// routes, binds, backends or at the top.
func gatewayTargets(root *node) []target {
	var found []target
	var walk func(n *node, policies []*node)
	walk = func(n *node, policies []*node) {
		if p := n.get("policies"); p != nil {
			policies = append([]*node{p}, policies...)
		}
		if backend := n.get("mcp"); backend != nil {
			inner := policies
			if p := backend.get("policies"); p != nil {
				inner = append([]*node{p}, policies...)
			}
			if list := backend.get("targets"); list != nil && list.kind == array {
				for _, item := range list.items {
					t := target{item, inner}
					if p := item.get("policies"); p != nil {
						t.policies = append([]*node{p}, inner...)
					}
					found = append(found, t)
				}
			}
		}
		for _, m := range n.members {
			if m.key != "policies" {
				walk(m.value, policies)
			}
		}
		for _, item := range n.items {
			walk(item, policies)
		}
	}
	walk(root, nil)
	return found
}

// gateway reads the targets of a gateway's configuration.
func (f *file) gateway(root *node, targets []target) *FileError {
	f.loader.read[f.name] = true
	for _, t := range targets {
		name := t.get("name")
		if name == nil || name.kind != text {
			return &FileError{File: f.name, Line: t.line, Detail: "a target has no name", Hint: "give it a member name"}
		}
		e := &entry{file: f, options: f.loader.o, name: name.text, line: t.line}
		f.loader.entries = append(f.loader.entries, e)
		e.checkName()
		e.readTarget(root, t)
		e.finish()
	}
	return nil
}

// targetKinds are the members of which a target has exactly one.
var targetKinds = []struct {
	key  string
	read func(e *entry, m member, root *node)
}{
	{"mcp", func(e *entry, m member, root *node) { e.remote(m, root, source.HTTP, "/mcp") }},
	{"sse", func(e *entry, m member, root *node) { e.remote(m, root, source.SSE, "/sse") }},
	{"stdio", func(e *entry, m member, _ *node) { e.local(m) }},
	{"openapi", func(e *entry, m member, _ *node) {
		e.bad(m.line, "an openapi target is no MCP server: what the gateway makes of it cannot be listed here")
	}},
}

func (e *entry) readTarget(root *node, t target) {
	kinds := 0
	for _, k := range targetKinds {
		i := slices.IndexFunc(t.members, func(m member) bool { return m.key == k.key && m.value.kind != null })
		if i < 0 {
			continue
		}
		if kinds++; kinds > 1 {
			e.bad(t.members[i].line, "the target has two transports: the gateway takes one")
			return
		}
		k.read(e, t.members[i], root)
	}
	if kinds == 0 {
		e.bad(t.line, "the target is of no kind that is known: mcp, sse, stdio or openapi")
	}
	for _, p := range t.policies {
		e.apply(p)
	}
}

// local reads a process that the gateway starts.
func (e *entry) local(m member) {
	for _, part := range m.value.members {
		switch {
		case part.value.kind == null:
		case part.key == "cmd":
			part.key = "command"
			e.setCommand(part)
		case part.key == "args":
			e.setArgs(part)
		case part.key == "env":
			e.addEnv(part)
		}
	}
}

// remote reads a server that the gateway contacts: a URL in host, host with port
// and path, or a backend of the file by its name.
func (e *entry) remote(m member, root *node, t source.Transport, defaultPath string) {
	e.declared = t
	host, port, path := m.value.get("host"), m.value.get("port"), m.value.get("path")
	if path != nil && path.kind == text {
		defaultPath = path.text
	}
	var url string
	switch backend := m.value.get("backend"); {
	case backend != nil && host != nil:
		e.bad(m.line, "the target has both a host and a backend")
		return
	case backend != nil:
		address := backendHost(root, backend.text)
		if address == "" {
			e.bad(m.line, "the target names a backend that this file does not give a host")
			return
		}
		url = "http://" + address + defaultPath
	case host == nil || host.kind != text:
		e.bad(m.line, "the target has no host")
		return
	case strings.Contains(host.text, "://"), strings.HasPrefix(host.text, "$") && port == nil:
		if port != nil || path != nil {
			e.bad(m.line, "the target has a url as its host, and a port or path beside it")
			return
		}
		url = host.text
	case port == nil || path == nil:
		e.bad(m.line, "the target's host is no url, so it needs a port and a path")
		return
	default:
		name := host.text
		if strings.Contains(name, ":") && !strings.HasPrefix(name, "[") && !strings.Contains(name, "${") {
			name = "[" + name + "]"
		}
		url = "http://" + name + ":" + port.text + defaultPath
	}
	e.setURL(member{"url", m.line, &node{kind: text, line: m.line, text: url}}, t)
}

// backendHost is the address of a named backend, or "".
func backendHost(root *node, name string) string {
	backends := root.get("backends")
	if backends == nil {
		return ""
	}
	for _, b := range backends.items {
		if n := b.get("name"); n != nil && strings.TrimPrefix(n.text, "/") == strings.TrimPrefix(name, "/") {
			if host := b.get("host"); host != nil && host.kind == text && !strings.Contains(host.text, "://") {
				return host.text
			}
		}
	}
	return ""
}

// apply adds what policies send to a server: credentials and headers. What a
// nearer policy set stays.
func (e *entry) apply(policies *node) {
	if len(e.launch.url) == 0 {
		return
	}
	if u := &e.launch.url[0]; policies.get("backendTLS") != nil && u.ref == nil {
		if rest, ok := strings.CutPrefix(u.literal, "http://"); ok {
			u.literal = "https://" + rest
		}
	}
	if key := policies.get("backendAuth").get("key"); key != nil {
		e.credential(key)
	}
	for _, how := range []string{"set", "add"} {
		if headers := policies.get("requestHeaderModifier").get(how); headers != nil {
			for _, m := range headers.members {
				e.inherit(m.key, m)
			}
		}
	}
}

// credential reads backendAuth.key: the credential itself, or an object that says
// where it goes.
func (e *entry) credential(key *node) {
	name, prefix := "Authorization", "Bearer "
	value := key
	if key.kind == object {
		if key.get("file") != nil {
			e.bad(key.line, "backendAuth reads a credential from a file, which is not read here: use $VAR")
			return
		}
		if value = key.get("value"); value == nil {
			e.bad(key.line, "backendAuth holds no credential")
			return
		}
		if h := key.get("location").get("header"); h != nil {
			prefix = ""
			if n := h.get("name"); n != nil {
				name = n.text
			}
			if p := h.get("prefix"); p != nil {
				prefix = p.text
			}
		}
	}
	if value.kind == text {
		value = &node{kind: text, line: value.line, text: prefix + value.text}
	}
	e.inherit(name, member{name, key.line, value})
}

// inherit sets a header that no nearer policy has set.
func (e *entry) inherit(name string, m member) {
	for set := range e.launch.headers {
		if strings.EqualFold(set, name) {
			return
		}
	}
	if !validHeader(name) {
		e.bad(m.line, "%q is no name of a header", name)
		return
	}
	e.launch.headers = e.put(e.launch.headers, m, "header", e.template(m))
}
