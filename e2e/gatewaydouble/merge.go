package gatewaydouble

import (
	"slices"
	"strings"
)

// incompatible is the error for a result that is not of the method's form.
func incompatible(method string) error {
	return &rpcError{code: codeInternal, message: "upstream returned a result incompatible with " + method}
}

// merge makes one result of those of the targets.
func (x *exchange) merge(results []targetResult, params value) (value, error) {
	if l, ok := listings[x.method]; ok {
		return x.mergeLists(l, results)
	}
	switch x.method {
	case "initialize":
		return x.mergeInitialize(results, params.getText("protocolVersion"))
	case "server/discover":
		return x.mergeDiscover(results)
	default: // ping and logging/setLevel, whose results are empty
		return objectValue(), nil
	}
}

// mergeLists builds a new list result even of one: nothing of the upstream's
// result but the definitions is in it. The upstream's cursor is lost.
func (x *exchange) mergeLists(l listing, results []targetResult) (value, error) {
	perTarget := make([][]value, len(results))
	times := map[string]int{}
	for i, r := range results {
		form, decoded := decodeResult(r.result)
		if form != x.method {
			return value{}, incompatible(x.method)
		}
		items, _ := decoded.get(l.member)
		perTarget[i] = items.items
		for _, item := range items.items {
			times[item.getText(l.names)]++
		}
	}
	var merged []value
	for i, r := range results {
		for _, item := range perTarget[i] {
			name := item.getText(l.names)
			ambiguous := l.names == "name" && x.relay.unprefixed() && times[name] > 1
			if ambiguous || !x.allowed(l.kind(), name) {
				continue
			}
			if l.member == "tools" {
				item = x.rewriteApp(r.target.Name, item)
			}
			merged = append(merged, item.with(l.names, textValue(x.relay.publicName(r.target.Name, l.kind(), name))))
		}
	}
	return objectValue(
		member{"resultType", textValue("complete")}, member{"ttlMs", intValue(0)},
		member{"cacheScope", textValue("private")}, member{l.member, listValue(merged)},
	), nil
}

func (l listing) kind() nameKind {
	switch l.member {
	case "tools":
		return toolName
	case "prompts":
		return promptName
	default:
		return resourceURI
	}
}

// rewriteApp changes a tool's pointers to an app's resource: they go where the
// authorization denies the resource, with what is emptied thereby, and get their
// target where names are prefixed.
func (x *exchange) rewriteApp(target string, tool value) value {
	meta, ok := tool.get("_meta")
	if !ok {
		return tool
	}
	changed := x.rewritePointer(target, meta, "ui/resourceUri")
	if ui, ok := changed.get("ui"); ok && ui.kind == object {
		rewritten := x.rewritePointer(target, ui, "resourceUri")
		if len(rewritten.members) == 0 && len(ui.members) > 0 {
			changed = changed.without("ui")
		} else {
			changed = changed.with("ui", rewritten)
		}
	}
	if len(changed.members) == 0 && len(meta.members) > 0 {
		return tool.without("_meta")
	}
	return tool.with("_meta", changed)
}

func (x *exchange) rewritePointer(target string, holder value, key string) value {
	pointer, ok := holder.get(key)
	if !ok || pointer.kind != text {
		return holder
	}
	if !x.allowed(resourceURI, pointer.text) {
		return holder.without(key)
	}
	return holder.with(key, textValue(x.relay.publicURI(target, pointer.text)))
}

// mergeInitialize passes the only target's result on. For several it speaks for
// itself: the lowest version, its own capabilities, merged instructions.
func (x *exchange) mergeInitialize(results []targetResult, version string) (value, error) {
	var all []TargetInstructions
	for _, r := range results {
		form, decoded := decodeResult(r.result)
		if form != "initialize" {
			return value{}, incompatible(x.method)
		}
		if len(x.relay.Targets) == 1 {
			return decoded, nil
		}
		version = min(version, decoded.getText("protocolVersion"))
		all = append(all, TargetInstructions{r.target.Name, decoded.getText("instructions")})
	}
	return objectValue(
		member{"protocolVersion", textValue(version)},
		member{"capabilities", x.ownCapabilities()},
		member{"serverInfo", serverInfo()},
		member{"instructions", textValue(MergedInstructions(all))},
	), nil
}

// mergeDiscover does the same for server/discover: the versions are those that
// every target supports.
func (x *exchange) mergeDiscover(results []targetResult) (value, error) {
	var all []TargetInstructions
	versions := slices.Clone(knownVersions)
	for _, r := range results {
		form, decoded := decodeResult(r.result)
		if form != x.method {
			return value{}, incompatible(x.method)
		}
		if len(x.relay.Targets) == 1 {
			return decoded.with("ttlMs", intValue(0)).with("cacheScope", textValue("private")), nil
		}
		supported, _ := decoded.get("supportedVersions")
		versions = slices.DeleteFunc(versions, func(version string) bool {
			return !slices.ContainsFunc(supported.items, func(v value) bool { return v.isText(version) })
		})
		all = append(all, TargetInstructions{r.target.Name, decoded.getText("instructions")})
	}
	var shared []value
	for _, version := range versions {
		shared = append(shared, textValue(version))
	}
	return objectValue(
		member{"resultType", textValue("complete")},
		member{"_meta", objectValue(member{"io.modelcontextprotocol/serverInfo", serverInfo()})},
		member{"ttlMs", intValue(0)}, member{"cacheScope", textValue("private")},
		member{"supportedVersions", listValue(shared)},
		member{"capabilities", x.ownCapabilities()},
		member{"instructions", textValue(MergedInstructions(all))},
	), nil
}

func (x *exchange) ownCapabilities() value {
	yes := value{kind: boolean, text: "true"}
	changes := objectValue(member{"listChanged", yes})
	resources := changes
	if !x.relay.Stateless {
		resources = objectValue(member{"subscribe", yes}, member{"listChanged", yes})
	}
	return objectValue(member{"prompts", changes}, member{"resources", resources}, member{"tools", changes})
}

// single is the target that needs no naming, where there is one.
func (r *relay) single() (Target, bool) {
	if len(r.Targets) == 1 && r.PrefixMode != PrefixAlways {
		return r.Targets[0], true
	}
	return Target{}, false
}

// unprefixed says that names do not tell which of several targets they are of.
func (r *relay) unprefixed() bool {
	return len(r.Targets) > 1 && r.PrefixMode == PrefixNever
}

// publicName is the name under which a client knows a target's item.
func (r *relay) publicName(target string, kind nameKind, native string) string {
	if _, ok := r.single(); ok {
		return native
	}
	switch {
	case kind == resourceURI:
		return r.publicURI(target, native)
	case kind == taskID:
		return target + "+" + native
	case r.unprefixed():
		return native
	default:
		return target + "_" + native
	}
}

// publicURI is the URI under which a client knows a target's resource: URIs of
// apps keep their scheme, those without a scheme stay as they are.
func (r *relay) publicURI(target, uri string) string {
	if _, ok := r.single(); ok {
		return uri
	}
	if app := "ui://"; len(uri) >= len(app) && strings.EqualFold(uri[:len(app)], app) {
		return app + target + "+" + uri[len(app):]
	}
	if !hasScheme(uri) {
		return uri
	}
	return target + "+" + uri
}

// hasScheme says whether a URI begins with a scheme by RFC 3986.
func hasScheme(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	if !ok || scheme == "" || !letter(scheme[0]) {
		return false
	}
	for i := range len(scheme) {
		if c := scheme[i]; !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune("+-.", rune(c)) {
			return false
		}
	}
	return true
}

// publicResult names, in the result of a call, the target where clients need it
// to come back: in resource URIs and task ids.
func (r *relay) publicResult(target string, kind nameKind, result value) value {
	if _, ok := r.single(); ok {
		return result
	}
	if contents, ok := result.get("contents"); ok && kind == resourceURI {
		items := slices.Clone(contents.items)
		for i, item := range items {
			if uri, ok := item.get("uri"); ok && uri.kind == text {
				items[i] = item.with("uri", textValue(r.publicURI(target, uri.text)))
			}
		}
		return result.with("contents", listValue(items))
	}
	if task, ok := result.get("task"); ok && task.getText("taskId") != "" {
		return result.with("task", task.with("taskId", textValue(r.publicName(target, taskID, task.getText("taskId")))))
	}
	if id := result.getText("taskId"); id != "" {
		return result.with("taskId", textValue(r.publicName(target, taskID, id)))
	}
	return result
}
