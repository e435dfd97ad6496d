package gatewaydouble

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxPages bounds how far the owner of an unprefixed name is looked for.
const maxPages = 64

// resolve finds the target that a request is for, and the parameter that named
// it as the target knows it.
func (x *exchange) resolve(ctx context.Context, m method, params value) (Target, value, error) {
	given, _ := params.get(m.names)
	if m.kind == completionRef {
		return x.resolveRef(ctx, given)
	}
	target, native, err := x.resolveName(ctx, m.kind, given.text)
	return target, textValue(native), err
}

// resolveRef does so for what a completion refers to.
func (x *exchange) resolveRef(ctx context.Context, ref value) (Target, value, error) {
	key, kind := "name", promptName
	if _, ok := ref.get("uri"); ok {
		key, kind = "uri", resourceURI
	}
	target, native, err := x.resolveName(ctx, kind, ref.getText(key))
	if _, ok := ref.get(key); ok {
		ref = ref.with(key, textValue(native))
	}
	return target, ref, err
}

func (x *exchange) resolveName(ctx context.Context, kind nameKind, name string) (Target, string, error) {
	if target, ok := x.relay.single(); ok {
		return target, name, nil
	}
	if x.relay.unprefixed() && (kind == toolName || kind == promptName) {
		target, err := x.owner(ctx, kind, name)
		return target, name, err
	}
	prefix, native, ok := splitName(kind, name)
	if !ok {
		return Target{}, "", x.invalid("invalid resource name")
	}
	target, ok := x.relay.target(prefix)
	if !ok {
		return Target{}, "", x.invalid("unknown service " + prefix)
	}
	return target, native, nil
}

// splitName takes the target off a name.
func splitName(kind nameKind, name string) (target, native string, ok bool) {
	switch kind {
	case resourceURI:
		if rest, isApp := strings.CutPrefix(name, "ui://"); isApp {
			target, native, ok = strings.Cut(rest, "+")
			return target, "ui://" + native, ok
		}
		return strings.Cut(name, "+")
	case taskID:
		return strings.Cut(name, "+")
	default:
		return strings.Cut(name, "_")
	}
}

var (
	listOfKind = map[nameKind]string{toolName: "tools/list", promptName: "prompts/list"}
	kindWord   = map[nameKind]string{toolName: "tool", promptName: "prompt"}
)

// owner finds the one target that lists a name by paging through the lists of
// all. No processor sees these lists.
func (x *exchange) owner(ctx context.Context, kind nameKind, name string) (Target, error) {
	owns := make([]bool, len(x.relay.Targets))
	errs := x.each(func(i int, target Target) (err error) {
		owns[i], err = x.lists(ctx, target, listOfKind[kind], name)
		return err
	})
	var owners []Target
	for i, target := range x.relay.Targets {
		if errs[i] != nil && !x.relay.FailOpen {
			return Target{}, errs[i]
		}
		if owns[i] {
			owners = append(owners, target)
		}
	}
	switch len(owners) {
	case 1:
		return owners[0], nil
	case 0:
		return Target{}, x.invalid(fmt.Sprintf("unknown %s %s", kindWord[kind], name))
	default:
		return Target{}, x.invalid(fmt.Sprintf("%s %s is served by multiple targets", kindWord[kind], name))
	}
}

// lists says whether a target lists a name.
func (x *exchange) lists(ctx context.Context, target Target, method, name string) (bool, error) {
	own := *x
	own.method = method
	l := listings[method]
	params := objectValue()
	for range maxPages {
		own.id = x.gateway.nextID()
		result, err := own.ask(ctx, target, own.message(method, params), func(value) {}, nil)
		var failed *upstreamError
		if errors.As(err, &failed) {
			if code, _ := failed.error.get("code"); code.text == fmt.Sprint(codeNotFound) {
				return false, nil
			}
		}
		if err != nil {
			return false, err
		}
		form, decoded := decodeResult(result)
		if form != method {
			return false, incompatible(method)
		}
		items, _ := decoded.get(l.member)
		for _, item := range items.items {
			if item.getText(l.names) == name {
				return true, nil
			}
		}
		cursor, ok := decoded.get("nextCursor")
		if !ok {
			return false, nil
		}
		params = objectValue(member{"cursor", cursor})
	}
	return false, x.invalid(fmt.Sprintf("exceeded %d pages", maxPages))
}
