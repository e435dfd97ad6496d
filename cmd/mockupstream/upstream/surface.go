package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Surface is all that the server shows a client. Definitions are sent byte
// for byte as they stand here, valid or not.
type Surface struct {
	// Instructions is left out of the answer when empty.
	Instructions string
	Tools        []json.RawMessage
	Prompts      []json.RawMessage
	Templates    []json.RawMessage
	Resources    []json.RawMessage
}

// DefaultSurface returns the surface a new server starts with: the tools echo,
// add and wipe_database, a prompt, a resource template, a resource and
// instructions.
func DefaultSurface() Surface {
	return Surface{
		Instructions: "A server for tests and demonstrations. Use echo to repeat text and add to sum two numbers.",
		Tools: rawAll(
			`{"name":"echo","title":"Echo","description":"Returns the message it is given.",`+
				`"inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"Text to return."}},"required":["message"]},`+
				`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`,
			`{"name":"add","title":"Add","description":"Returns the sum of two numbers.",`+
				`"inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]},`+
				`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`,
			`{"name":"wipe_database","title":"Wipe database","description":"Deletes every row of every table.",`+
				`"inputSchema":{"type":"object","properties":{}},`+
				`"annotations":{"readOnlyHint":false,"destructiveHint":true}}`,
		),
		Prompts: rawAll(
			`{"name":"summarize","title":"Summarize","description":"Asks for a summary of a text.",` +
				`"arguments":[{"name":"text","description":"The text to summarize.","required":true}]}`,
		),
		Templates: rawAll(
			`{"uriTemplate":"mock://notes/{id}","name":"note","description":"One note by its number.","mimeType":"text/plain"}`,
		),
		Resources: rawAll(
			`{"uri":"mock://readme","name":"readme","description":"What this server is.","mimeType":"text/plain"}`,
		),
	}
}

func (f Surface) clone() Surface {
	f.Tools = slices.Clone(f.Tools)
	f.Prompts = slices.Clone(f.Prompts)
	f.Templates = slices.Clone(f.Templates)
	f.Resources = slices.Clone(f.Resources)
	return f
}

func rawAll(defs ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(defs))
	for i, d := range defs {
		out[i] = json.RawMessage(d)
	}
	return out
}

// nameOf returns the name of a definition, or "" where it has none that can be read.
func nameOf(def json.RawMessage) string {
	var d struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(def, &d) != nil {
		return ""
	}
	return d.Name
}

func indexOf(defs []json.RawMessage, name string) int {
	return slices.IndexFunc(defs, func(d json.RawMessage) bool { return nameOf(d) == name })
}

// A member is one name and value of a JSON object. Objects are held as slices
// of these, so that order and duplicates survive an edit.
type member struct {
	name  string
	value json.RawMessage
}

var errNotObject = errors.New("not a JSON object")

func members(raw json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("reading a member name: %w", err)
		}
		m := member{}
		m.name, _ = t.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("reading member %q: %w", m.name, err)
		}
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("reading the end of the object: %w", err)
	}
	return out, nil
}

func object(ms []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// withMember returns def with the first member of that name set to value, or
// with the member added at the end. The other members stay as they were.
func withMember(def json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	ms, err := members(def)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(ms, func(m member) bool { return m.name == name })
	if i < 0 {
		return object(append(ms, member{name, value})), nil
	}
	ms[i].value = value
	return object(ms), nil
}

// quote returns s as a JSON string without the escapes of encoding/json for HTML.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// rotateKeys returns raw with the members of each object in it rotated by n,
// at every level. What is not valid JSON is returned as it is.
func rotateKeys(raw json.RawMessage, n int) json.RawMessage {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 {
		return raw
	}
	switch trimmed[0] {
	case '{':
		ms, err := members(trimmed)
		if err != nil || len(ms) == 0 {
			return raw
		}
		for i := range ms {
			ms[i].value = rotateKeys(ms[i].value, n)
		}
		return object(rotate(ms, n))
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(trimmed, &items) != nil {
			return raw
		}
		for i := range items {
			items[i] = rotateKeys(items[i], n)
		}
		return array(items)
	}
	return raw
}

func array(items []json.RawMessage) json.RawMessage {
	out := append(json.RawMessage{'['}, bytes.Join(asBytes(items), []byte(","))...)
	return append(out, ']')
}

func asBytes(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, r := range items {
		out[i] = r
	}
	return out
}

func rotate[T any](s []T, n int) []T {
	if len(s) == 0 {
		return s
	}
	n %= len(s)
	return slices.Concat(s[n:], s[:n])
}

// generatedTool returns a small, valid definition.
func generatedTool(name string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(
		`{"name":%s,"description":"A generated tool.","inputSchema":{"type":"object","properties":{"value":{"type":"string"}}}}`, quote(name)))
}

// bigTool returns a valid definition named "big" that is size bytes long, or
// the shortest one where size is less than that.
func bigTool(size int) json.RawMessage {
	const head, tail = `{"name":"big","description":"`, `","inputSchema":{"type":"object"}}`
	return json.RawMessage(head + strings.Repeat("x", max(0, size-len(head)-len(tail))) + tail)
}
