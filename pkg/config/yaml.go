package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads one YAML document without what readers differ about: aliases,
// anchors, merge keys, tags, repeated keys and keys that are no strings.
func parseYAML(src []byte) (*node, error) {
	d := yaml.NewDecoder(bytes.NewReader(src))
	var document, second yaml.Node
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return &node{kind: object, line: 1}, nil
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := d.Decode(&second); err == nil {
		return nil, &syntaxError{second.Line, 0, "a second document is in the file"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	return fromYAML(document.Content[0], 0)
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)`)

func yamlError(err error) error {
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			return &syntaxError{line, 0, m[2]}
		}
	}
	return &syntaxError{0, 0, strings.TrimPrefix(err.Error(), "yaml: ")}
}

func fromYAML(y *yaml.Node, depth int) (*node, error) {
	n := &node{line: y.Line}
	switch {
	case depth > maxDepth:
		return nil, &syntaxError{y.Line, y.Column, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		return nil, &syntaxError{y.Line, y.Column, "an anchor or alias, which clients read differently"}
	case y.Style&yaml.TaggedStyle != 0:
		return nil, &syntaxError{y.Line, y.Column, "a tag, which clients read differently"}
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = object
		return n, yamlMembers(n, y, depth)
	case yaml.SequenceNode:
		n.kind = array
		for _, item := range y.Content {
			value, err := fromYAML(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, value)
		}
	default:
		n.text = y.Value
		n.kind = yamlKinds[y.Tag]
		n.yes = n.kind == boolean && (y.Value == "true" || y.Value == "True" || y.Value == "TRUE")
		if n.kind == "" {
			n.kind = other
		}
	}
	return n, nil
}

var yamlKinds = map[string]kind{"!!str": text, "!!bool": boolean, "!!int": number, "!!float": number, "!!null": null}

func yamlMembers(n *node, y *yaml.Node, depth int) error {
	seen := make(map[string]bool, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		var bad string
		switch {
		case key.Tag == "!!merge":
			bad = "a merge key, which clients read differently"
		case key.Kind != yaml.ScalarNode || key.Tag != "!!str" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0:
			bad = "a member name that is not a plain string"
		case seen[key.Value]:
			bad = "a member is there twice in one object"
		default:
			bad = forbiddenMember(key.Value)
		}
		if bad != "" {
			return &syntaxError{key.Line, key.Column, bad}
		}
		seen[key.Value] = true
		value, err := fromYAML(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key.Value, key.Line, value})
	}
	return nil
}
