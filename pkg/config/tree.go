package config

import "fmt"

// kind is the type of a value in a configuration, whatever its syntax.
type kind string

const (
	object  kind = "an object"
	array   kind = "a list"
	text    kind = "a string"
	boolean kind = "a boolean"
	number  kind = "a number"
	null    kind = "null"
	other   kind = "a date or time"
)

// maxDepth bounds the nesting of TOML and YAML; canonical.Reader bounds JSON.
const maxDepth = 128

// node is a value of a configuration and the line it stands on.
type node struct {
	kind    kind
	line    int
	text    string // of a string, or a number as spelled
	yes     bool   // of a boolean
	members []member
	items   []*node
}

type member struct {
	key   string
	line  int
	value *node
}

// get returns the member of that name, or nil where it is absent or null.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if m := &n.members[i]; m.key == key && m.value.kind != null {
			return m.value
		}
	}
	return nil
}

// syntaxError says where a text cannot be read. Line and column count from 1 and
// are 0 where they are not known.
type syntaxError struct {
	line, column int
	detail       string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.line, e.column, e.detail)
}

// parsers are the syntaxes by file extension.
var parsers = map[string]func(src []byte) (*node, error){
	".json":  parseJSON,
	".jsonc": parseJSON,

	".code-workspace": parseJSON,
	".toml":           parseTOML,
	".yaml":           parseYAML,
	".yml":            parseYAML,
}

// forbiddenMember is why a member name is refused in every syntax, or "".
func forbiddenMember(key string) string {
	if key == "__proto__" {
		return "the member name __proto__, which some clients take for something else"
	}
	return ""
}
