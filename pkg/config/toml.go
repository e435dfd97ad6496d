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
	if err := simpleTOML(src); err != nil {
		return nil, err
	}
	var root map[string]any
	if _, err := toml.Decode(string(src), &root); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, &syntaxError{parse.Position.Line, parse.Position.Col, strings.TrimSuffix(parse.Message, ".")}
		}
		return nil, &syntaxError{0, 0, err.Error()}
	}
	return fromTOML(root, tableLines(src), "", 1, 0)
}

// The bounds of a TOML text. The library recurses into brackets, and the time it
// takes for a dotted key grows with the square of its parts, so the dots of each
// line count by their square: 512 in one line, or 20 in each of 655 lines.
const (
	maxTOML = 256 << 10
	maxDots = 512 * 512
)

// simpleTOML refuses what the library would spend too much on. Brackets and dots
// inside strings count as well, and closed brackets count down.
func simpleTOML(src []byte) error {
	if len(src) > maxTOML {
		return &syntaxError{0, 0, fmt.Sprintf("larger than %d KiB", maxTOML>>10)}
	}
	line, depth, dots, squares := 1, 0, 0, 0
	for _, c := range src {
		switch c {
		case '\n':
			line, dots = line+1, 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '.':
			squares += 2*dots + 1
			dots++
		}
		if depth > maxDepth {
			return &syntaxError{line, 0, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
		}
		if squares > maxDots {
			return &syntaxError{line, 0, "too many dots for the keys of a configuration"}
		}
	}
	return nil
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
