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
	read, ok := parsers[strings.ToLower(path.Ext(f.name))]
	if !ok {
		return &FileError{File: f.name, Detail: "the syntax is not known", Hint: "name it .json, .jsonc, .toml, .yaml or .yml"}
	}
	root, err := read(src)
	if err == nil && root.kind != object {
		if f.client.common && !f.named {
			return nil
		}
		err = &syntaxError{root.line, 0, string(root.kind) + " stands where an object must"}
	}
	var syntax *syntaxError
	if errors.As(err, &syntax) {
		if f.client.gateway && !f.named && (kubernetes.Match(src) || f.client.common && !maybeGateway(src)) {
			return nil
		}
		return &FileError{File: f.name, Line: syntax.line, Column: syntax.column, Detail: syntax.detail, Hint: "mend the file"}
	} else if err != nil {
		return &FileError{File: f.name, Detail: "the file cannot be read", Hint: "mend the file", Err: err}
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
	case f.client.gateway && f.client.common:
		return nil
	}
	return f.servers(root)
}

// kubernetes marks a resource of Kubernetes, which has file names and members
// alike.
var kubernetes = regexp.MustCompile(`(?m)^apiVersion:`)

// maybeGateway reports whether a text that could not be read may be a configuration
// of the gateway with MCP targets.
func maybeGateway(src []byte) bool {
	return bytes.Contains(src, []byte("mcp")) && bytes.Contains(src, []byte("targets"))
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
		if n == nil {
			continue
		}
		found = true
		if slices.Equal(container, mcp) && n.kind == object {
			n = &node{kind: object, line: n.line, members: openCodeServers(n)}
		}
		if err := f.container(n); err != nil {
			return err
		}
	}
	if f.named && !found {
		return &FileError{File: f.name, Detail: "no servers stand in this file", Hint: "servers stand under mcpServers, servers, mcp, context_servers or mcp_servers, and targets under mcp"}
	}
	f.loader.read[f.name] = true
	f.exclude(root)
	return nil
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
	switch n.kind {
	case object:
		for _, m := range n.members {
			f.add(m.key, m.line, m.value)
		}
	case array:
		for _, item := range n.items {
			name := item.get("name")
			if name == nil || name.kind != text {
				return &FileError{File: f.name, Line: item.line, Detail: "a server has no name", Hint: "give it a member name"}
			}
			f.add(name.text, item.line, item)
		}
	default:
		return &FileError{File: f.name, Line: n.line, Detail: string(n.kind) + " stands where the servers must", Hint: "mend the file"}
	}
	return nil
}

// exclude switches off what Gemini CLI's lists of names leave out.
func (f *file) exclude(root *node) {
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
}

func named(list *node, name string) bool {
	return list != nil && slices.ContainsFunc(list.items, func(n *node) bool { return n.text == name })
}
