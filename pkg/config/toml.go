package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// parseTOML reads TOML 1.0, in which a repeated key is an error. The library keeps
// no lines of values, so those of tables are looked for in the text; a value has
// the line of its table.
func parseTOML(src []byte) (*node, error) {
	if deep(src) {
		return nil, &syntaxError{0, 0, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	var root map[string]any
	if _, err := toml.Decode(string(src), &root); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, &syntaxError{parse.Position.Line, parse.Position.Col, parse.Message}
		}
		return nil, &syntaxError{0, 0, err.Error()}
	}
	return fromTOML(root, tableLines(src), "", 1, 0)
}

// deep reports whether a text opens more brackets than may be nested. Brackets
// inside strings count as well, and those that are closed count down: it keeps the
// library, which recurses, from hostile depth.
func deep(src []byte) bool {
	depth := 0
	for _, c := range src {
		switch c {
		case '[', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return false
}

func fromTOML(v any, lines map[string]int, name string, line, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, &syntaxError{line, 0, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	n := &node{line: line}
	switch v := v.(type) {
	case map[string]any:
		n.kind = object
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := joinKeys(name, key)
			at := line
			if found, ok := lines[inner]; ok {
				at = found
			}
			if why := forbiddenMember(key); why != "" {
				return nil, &syntaxError{at, 0, why}
			}
			value, err := fromTOML(v[key], lines, inner, at, depth+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{key, at, value})
		}
	case []map[string]any:
		n.kind = array
		for _, item := range v {
			value, err := fromTOML(item, nil, "", line, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, value)
		}
	case []any:
		n.kind = array
		for _, item := range v {
			value, err := fromTOML(item, nil, "", line, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, value)
		}
	case string:
		n.kind, n.text = text, v
	case bool:
		n.kind, n.yes = boolean, v
	case int64, float64:
		n.kind, n.text = number, fmt.Sprint(v)
	default:
		n.kind = other
	}
	return n, nil
}

// tableKey is one part of a dotted key: bare, or in quotes of either kind.
var tableKey = regexp.MustCompile(`^\s*(?:([A-Za-z0-9_-]+)|"((?:[^"\\]|\\.)*)"|'([^']*)')\s*`)

// tableLines returns the line of the first header or key that names a table or
// value, by its joined keys.
func tableLines(src []byte) map[string]int {
	lines := map[string]int{}
	table := ""
	for i, line := range strings.Split(string(src), "\n") {
		rest := strings.TrimSpace(line)
		header := strings.HasPrefix(rest, "[")
		name := ""
		if !header {
			name = table
		}
		rest = strings.TrimLeft(rest, "[")
		for {
			m := tableKey.FindStringSubmatch(rest)
			if m == nil {
				break
			}
			key := m[1] + m[3]
			if m[2] != "" {
				var quoted struct{ K string }
				if _, err := toml.Decode(`K="`+m[2]+`"`, &quoted); err == nil {
					key = quoted.K
				}
			}
			name = joinKeys(name, key)
			if _, ok := lines[name]; !ok {
				lines[name] = i + 1
			}
			if rest = rest[len(m[0]):]; !strings.HasPrefix(rest, ".") {
				break
			}
			rest = rest[1:]
		}
		if header {
			table = name
		}
	}
	return lines
}

func joinKeys(name, key string) string { return name + "\x00" + key }
