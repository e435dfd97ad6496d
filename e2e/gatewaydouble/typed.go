package gatewaydouble

import (
	"errors"
	"fmt"
	"slices"
)

// A decoder reads a value as one Rust type does and returns what that type writes
// again: unknown members and null optional ones are gone, and the members stand
// in the order of the struct.
type decoder func(value) (value, error)

// field is one member of a struct.
type field struct {
	name     string
	decode   decoder
	required bool
}

func req(name string, decode decoder) field { return field{name, decode, true} }
func opt(name string, decode decoder) field { return field{name, decode, false} }

var errType = errors.New("invalid type")

// structOf decodes an object of known members. A known member that stands twice
// is an error, an unknown one may.
func structOf(fields ...field) decoder {
	return func(v value) (value, error) {
		if v.kind != object {
			return value{}, errType
		}
		given := make(map[string]value, len(v.members))
		double := map[string]bool{}
		for _, m := range v.members {
			_, seen := given[m.key]
			double[m.key] = seen || double[m.key]
			given[m.key] = m.value
		}
		out := make([]member, 0, len(fields))
		for _, f := range fields {
			w, ok := given[f.name]
			switch {
			case double[f.name]:
				return value{}, fmt.Errorf("duplicate field %q", f.name)
			case !ok && f.required:
				return value{}, fmt.Errorf("missing field %q", f.name)
			case !ok || w.kind == null && !f.required:
				continue
			}
			decoded, err := f.decode(w)
			if err != nil {
				return value{}, fmt.Errorf("%s: %w", f.name, err)
			}
			out = append(out, member{f.name, decoded})
		}
		return objectValue(out...), nil
	}
}

// ofKind decodes any value of one kind and keeps all of it.
func ofKind(want kind) decoder {
	return func(v value) (value, error) {
		if v.kind != want {
			return value{}, errType
		}
		return v.free(), nil
	}
}

func listOf(decode decoder) decoder {
	return func(v value) (value, error) {
		if v.kind != list {
			return value{}, errType
		}
		items := make([]value, 0, len(v.items))
		for i, item := range v.items {
			decoded, err := decode(item)
			if err != nil {
				return value{}, fmt.Errorf("%d: %w", i, err)
			}
			items = append(items, decoded)
		}
		return listValue(items), nil
	}
}

func oneOf(names ...string) decoder {
	return func(v value) (value, error) {
		if slices.ContainsFunc(names, v.isText) {
			return v, nil
		}
		return value{}, errType
	}
}

func anything(v value) (value, error) { return v.free(), nil }

func uint64Field(v value) (value, error) {
	if v.kind != number || v.number.kind != unsigned {
		return value{}, errType
	}
	return v, nil
}

// float32Field is a single-precision number; it takes integers too.
func float32Field(v value) (value, error) {
	if v.kind != number {
		return value{}, errType
	}
	return value{kind: number, text: v.number.spellFloat32(), number: v.number}, nil
}

// ttlField is a duration in milliseconds, of which a negative one counts as 0.
func ttlField(v value) (value, error) {
	if v.kind == number && v.number.kind == negative {
		return intValue(0), nil
	}
	return uint64Field(v)
}

var (
	textField    = ofKind(text)
	boolField    = ofKind(boolean)
	objectField  = ofKind(object)
	listField    = ofKind(list)
	iconsField   = listOf(structOf(req("src", textField), opt("mimeType", textField), opt("sizes", listOf(textField)), opt("theme", oneOf("light", "dark"))))
	contentNotes = structOf(opt("audience", listOf(textField)), opt("priority", float32Field), opt("lastModified", textField))

	toolDecoder = structOf(
		req("name", textField), opt("title", textField), opt("description", textField),
		req("inputSchema", objectField), opt("outputSchema", objectField),
		opt("annotations", structOf(
			opt("title", textField), opt("readOnlyHint", boolField), opt("destructiveHint", boolField),
			opt("idempotentHint", boolField), opt("openWorldHint", boolField))),
		opt("icons", iconsField), opt("_meta", objectField),
	)
	promptDecoder = structOf(
		req("name", textField), opt("title", textField), opt("description", textField),
		opt("arguments", listOf(structOf(
			req("name", textField), opt("title", textField), opt("description", textField), opt("required", boolField)))),
		opt("icons", iconsField), opt("_meta", objectField),
	)
	resourceDecoder = structOf(
		req("uri", textField), req("name", textField), opt("title", textField), opt("description", textField),
		opt("mimeType", textField), opt("size", uint64Field), opt("icons", iconsField), opt("_meta", objectField),
		opt("annotations", contentNotes),
	)
	templateDecoder = structOf(
		req("uriTemplate", textField), req("name", textField), opt("title", textField), opt("description", textField),
		opt("mimeType", textField), opt("icons", iconsField), opt("_meta", objectField),
		opt("annotations", contentNotes),
	)
	changesField        = structOf(opt("listChanged", boolField))
	capabilitiesDecoder = structOf(
		opt("experimental", objectField), opt("extensions", objectField), opt("logging", objectField), opt("completions", objectField),
		opt("prompts", changesField), opt("resources", structOf(opt("subscribe", boolField), opt("listChanged", boolField))),
		opt("tools", changesField), opt("tasks", objectField),
	)
	initializeDecoder = structOf(
		req("protocolVersion", textField), req("capabilities", capabilitiesDecoder),
		req("serverInfo", structOf(
			req("name", textField), opt("title", textField), req("version", textField), opt("description", textField),
			opt("icons", iconsField), opt("websiteUrl", textField))),
		opt("instructions", textField), opt("_meta", objectField),
	)
	callDecoder = structOf(
		opt("resultType", textField), req("content", listField), opt("structuredContent", anything),
		opt("isError", boolField), opt("_meta", objectField),
	)
)

// listDecoder decodes the result of a list method. The member that holds the
// list has to be there.
func listDecoder(name string, item decoder) decoder {
	return structOf(
		opt("resultType", textField), opt("_meta", objectField), opt("nextCursor", textField),
		opt("ttlMs", ttlField), opt("cacheScope", oneOf("public", "private")),
		req(name, listOf(item)),
	)
}

// marked accepts an object by one of its members, and keeps all of it: the
// variants whose fields no hook of ours depends on.
func marked(name string, want kind) decoder {
	return func(v value) (value, error) {
		if m, ok := v.get(name); !ok || m.kind != want {
			return value{}, errType
		}
		return v.free(), nil
	}
}

// variants are the forms of a result, in the order in which the gateway tries
// them: a result is taken as the first that it decodes as. What is none of them
// is passed on as it is.
var variants = []struct {
	name   string
	decode decoder
}{
	{"server/discover", marked("supportedVersions", list)},
	{"initialize", initializeDecoder},
	{"completion/complete", marked("completion", object)},
	{"prompts/get", marked("messages", list)},
	{"prompts/list", listDecoder("prompts", promptDecoder)},
	{"resources/list", listDecoder("resources", resourceDecoder)},
	{"resources/templates/list", listDecoder("resourceTemplates", templateDecoder)},
	{"resources/read", marked("contents", list)},
	{"tools/list", listDecoder("tools", toolDecoder)},
	{"tasks", marked("task", object)},
	{"tools/call", callDecoder},
}

// decodeResult returns the form of a result, named for the method that gives it
// and empty for an unknown one, and the result as the gateway writes it again.
func decodeResult(v value) (string, value) {
	for _, variant := range variants {
		if decoded, err := variant.decode(v); err == nil {
			return variant.name, decoded
		}
	}
	return "", v.free()
}
