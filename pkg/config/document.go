package config

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// parse reads the text of a file into entries.
func (f *file) parse(src []byte) *FileError {
	read, ok := parserOf(f.name)
	if !ok {
		return &FileError{File: f.name, Detail: "the syntax is not known", Hint: "name it .json, .jsonc, .toml, .yaml or .yml"}
	}
	if f.client.shared && !f.named && !f.client.mayHold(src) {
		return nil // settings of another kind, whose form is nothing to us
	}
	root, err := read(src)
	if err == nil && root.kind != object {
		if f.client.shared && !f.named {
			return nil
		}
		err = &syntaxError{root.line, 0, string(root.kind) + " in place of an object"}
	}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		if f.client.gateway && !f.named && kubernetes.Match(src) {
			return nil
		}
		return &FileError{File: f.name, Line: syntax.line, Column: syntax.column, Detail: syntax.detail, Hint: "correct the file"}
	} else if err != nil {
		return &FileError{File: f.name, Detail: "the file cannot be read", Hint: "correct the file", Err: err}
	}
	if f.client.gateway || f.client == &anyClient {
		if targets := gatewayTargets(root); len(targets) > 0 {
			f.client = &gatewayClient
			return f.gateway(root, targets)
		}
	}
	switch {
	case f.client.gateway && f.named:
		f.client = &anyClient
	case f.client.gateway && f.client.shared:
		return nil
	}
	return f.servers(root)
}

// parserOf returns how a file of that name is read.
func parserOf(name string) (func(src []byte) (*node, error), bool) {
	read, ok := parsers[strings.ToLower(path.Ext(name))]
	return read, ok
}

// kubernetes marks a resource of Kubernetes, which has file names and members
// alike.
var kubernetes = regexp.MustCompile(`(?m)^apiVersion:`)

// mayHold reports whether a text may name servers in the way of a client. Names can
// be written with escapes.
func (c *client) mayHold(src []byte) bool {
	if bytes.Contains(src, []byte(`\`)) && bytes.Contains(src, []byte(`\u`)) || bytes.Contains(src, []byte(`\x`)) {
		return true
	}
	if c.gateway {
		return bytes.Contains(src, []byte("mcp")) && bytes.Contains(src, []byte("targets"))
	}
	return slices.ContainsFunc(c.containers, func(keys []string) bool {
		return len(keys) > 0 && bytes.Contains(src, []byte(keys[len(keys)-1]))
	})
}

// servers reads the containers of a client's file.
func (f *file) servers(root *node) *FileError {
	found := false
	for _, container := range f.client.containers {
		n := root
		for _, key := range container {
			if key == "{root}" {
				key = f.loader.o.Root
			}
			if n = n.get(key); n != nil && n.kind != object {
				break
			}
		}
		switch {
		case n == nil:
			continue
		case len(container) == 0:
			if n = flatServers(root); found || n == nil {
				continue
			}
		case slices.Equal(container, mcp) && n.kind == object:
			n = &node{kind: object, line: n.line, members: openCodeServers(n)}
		}
		found = true
		if err := f.container(n); err != nil {
			return err
		}
	}
	if f.named && !found {
		return &FileError{File: f.name, Detail: "no servers are in this file", Hint: "servers are under mcpServers, servers, mcp, context_servers or mcp_servers, and targets under mcp"}
	}
	f.loader.read[f.name] = true
	f.geminiSettings(root)
	return nil
}

// flatServers are the members of a file that has servers and nothing around them, as
// plugins do; nil where there is none.
func flatServers(root *node) *node {
	n := &node{kind: object, line: root.line}
	for _, m := range root.members {
		if describes(m.value) {
			n.members = append(n.members, m)
		}
	}
	if len(n.members) == 0 {
		return nil
	}
	return n
}

// openCodeServers returns the servers of OpenCode's member mcp. Older versions have
// them right under it; newer ones under its member servers, with settings beside.
// What either version would take for a server is read as one.
func openCodeServers(mcp *node) []member {
	var found []member
	nested := mcp.get("servers")
	isServer := nested != nil && (nested.kind != object || describes(nested))
	if nested != nil {
		for _, m := range nested.members {
			_, known := fields[m.key]
			if !isServer || m.value.kind == object && !known {
				found = append(found, m)
			}
		}
	}
	newer := nested != nil && (!isServer || len(found) > 0)
	for _, m := range mcp.members {
		if m.key == "servers" && isServer || m.key != "servers" && (!newer || describes(m.value)) {
			found = append(found, m)
		}
	}
	return found
}

// describes reports whether a value has members that describe a server.
func describes(n *node) bool {
	return slices.ContainsFunc(n.members, func(m member) bool {
		_, known := fields[m.key]
		return known && m.value.kind != object
	})
}

// container reads servers out of an object of entries, or a list of entries that
// have a name.
func (f *file) container(n *node) *FileError {
	switch {
	case n.kind == object:
		for _, m := range n.members {
			if !comment(m) {
				f.add(m.key, m.line, m.value)
			}
		}
	case f.client.id == pluginID && (n.kind == text || n.kind == array):
		return f.pluginFiles(n)
	case n.kind == array:
		for _, item := range n.items {
			name := item.get("name")
			if name == nil || name.kind != text {
				return &FileError{File: f.name, Line: item.line, Detail: "a server has no name", Hint: "give it a member name"}
			}
			f.add(name.text, item.line, item)
		}
	default:
		return &FileError{File: f.name, Line: n.line, Detail: string(n.kind) + " in place of the servers", Hint: "correct the file"}
	}
	return nil
}

// comment reports a member that people write among servers to say something.
func comment(m member) bool {
	return m.value.kind != object && (strings.HasPrefix(m.key, "_") || strings.HasPrefix(m.key, "//") || strings.HasPrefix(m.key, "$") || m.key == "comment")
}

// pluginID is the client whose file may name the files that hold its servers.
const pluginID = "claude-plugin"

// pluginFiles reads the files that a plugin names in place of servers.
func (f *file) pluginFiles(n *node) *FileError {
	items := n.items
	if n.kind == text {
		items = []*node{n}
	}
	for _, item := range items {
		switch item.kind {
		case object:
			if err := f.container(item); err != nil {
				return err
			}
		case text:
			name, inside := f.loader.locate(path.Join(f.folder(), strings.TrimPrefix(item.text, "${CLAUDE_PLUGIN_ROOT}/")))
			if !inside || f.loader.read[name] {
				continue // what is outside of the repository is not the plugin's
			}
			f.loader.load(&file{name: name, inside: true, client: &clients[0], loader: f.loader})
		default:
			return &FileError{File: f.name, Line: item.line, Detail: string(item.kind) + " in place of servers or the name of a file", Hint: "correct the file"}
		}
	}
	return nil
}

// folder is the folder of the plugin or extension whose file this is, relative to
// the repository's root; "" is the root.
func (f *file) folder() string {
	dir := path.Dir(f.name)
	if f.client.id == pluginID {
		dir = path.Dir(dir)
	}
	if dir == "." {
		return ""
	}
	return dir
}

// geminiSettings reads the members that Gemini CLI and its kin have beside servers:
// lists of names that leave servers out, and a command that is one.
func (f *file) geminiSettings(root *node) {
	lists := root.get("mcp")
	if f.client.dialect != dollar || lists == nil {
		return
	}
	allowed := lists.get("allowed")
	for _, e := range f.loader.entries {
		if e.file == f && (named(lists.get("excluded"), e.name) || allowed != nil && !named(allowed, e.name)) {
			e.disabled = true
		}
	}
	if command := lists.get("serverCommand"); command != nil {
		words := &node{kind: array, line: command.line}
		for word := range strings.FieldsSeq(command.text) {
			words.items = append(words.items, &node{kind: text, line: command.line, text: word})
		}
		entry := &node{kind: object, line: command.line, members: []member{{"command", command.line, words}}}
		if strings.ContainsAny(command.text, "\"'\\|&;<>()`*?") {
			entry = &node{kind: text, line: command.line} // a shell would read it in its own way
		}
		f.add("mcp", command.line, entry)
	}
}

func named(list *node, name string) bool {
	return list != nil && slices.ContainsFunc(list.items, func(n *node) bool { return n.text == name })
}
