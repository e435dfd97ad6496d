package gatewaydouble

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

const ownVersion = "gateway-double"

// toOne serves a method that one target answers: resolve the name, ask the
// processors, ask the authorization (for the name that the client gave), forward,
// ask the processors about the result.
func (x *exchange) toOne(ctx context.Context, m method, params value) (value, error) {
	target, native, err := x.resolve(ctx, m, params)
	if err != nil {
		return value{}, err
	}
	params = params.with(m.names, native)
	services := []string{target.Name}
	if !m.unasked {
		hidden, hasMeta := params.get("_meta")
		shown := params.without("_meta")
		checked, err := x.checkRequest(ctx, services, &shown, m.params)
		if err != nil {
			return value{}, asRefusal(err)
		}
		params = checked.without("_meta")
		if hasMeta {
			params = objectValue(append([]member{{"_meta", hidden}}, params.members...)...)
		}
	}
	if !x.allowed(m.kind, native.text) {
		return value{}, &refusal{http.StatusBadRequest, &rpcError{code: codeInvalidParams, message: deniedAs[m.kind] + native.text}}
	}
	if _, ok := x.headers.get(nameHeader); ok {
		x.headers.http.Set(nameHeader, params.getText(m.names))
	}
	result, err := x.ask(ctx, target, x.message(x.method, params), func(message value) { x.relayed(target, message) },
		func(answer value) { x.foreign(ctx, target, m.kind, answer) })
	if err != nil {
		return value{}, err
	}
	_, result = decodeResult(x.relay.publicResult(target.Name, m.kind, result))
	result, err = x.checkResponse(ctx, services, result)
	return x.delivered(result), err
}

// foreign hands on a response to another id than that of the request, as the gateway
// does on streams to one target: with that id, after the processors were asked about
// it as an answer to this request.
func (x *exchange) foreign(ctx context.Context, target Target, kind nameKind, answer value) {
	id, _ := answer.get("id")
	result, err := resultOf(answer)
	var failed *upstreamError
	switch {
	case errors.As(err, &failed):
		x.out.event(errorResponse(id, failed.error))
		return
	case err != nil:
		return // no response at all
	}
	_, result = decodeResult(x.relay.publicResult(target.Name, kind, result))
	result, err = x.checkResponse(ctx, []string{target.Name}, result)
	var denied *rpcError
	switch {
	case errors.As(err, &denied):
		x.out.event(errorResponse(id, denied.value()))
	case err == nil:
		x.out.event(response(id, x.delivered(result)))
	}
}

// deniedAs begins the message of an authorization that denies.
var deniedAs = map[nameKind]string{
	toolName: "Unknown tool: ", promptName: "Unknown prompt: ", resourceURI: "Unknown resource: ", taskID: "Unknown task: ",
}

// allowed applies the rule AllowTools, beside which everything else is denied
// that mcpAuthorization speaks of.
func (x *exchange) allowed(kind nameKind, name string) bool {
	if x.allow == nil || kind == completionRef {
		return true
	}
	return kind == toolName && slices.Contains(x.allow, name)
}

// asRefusal makes the error of a request hook a JSON body with HTTP status 200.
func asRefusal(err error) error {
	var rpc *rpcError
	if errors.As(err, &rpc) {
		return &refusal{http.StatusOK, rpc}
	}
	return err
}

// targetResult is what one target answered to a request that went to every.
type targetResult struct {
	target Target
	result value
}

// toEvery serves a method that every target answers. The processors see the
// request once, without params, and the merged result once.
func (x *exchange) toEvery(ctx context.Context, params value) (value, error) {
	services := x.services()
	if _, err := x.checkRequest(ctx, services, nil, nil); err != nil {
		return value{}, asRefusal(err)
	}
	if x.method == "initialize" {
		params = withoutServerRequests(params)
	}
	results, err := x.gather(ctx, params)
	if err != nil {
		return value{}, err
	}
	merged, err := x.merge(results, params)
	if err != nil {
		return value{}, err
	}
	if x.method == "initialize" && !x.relay.Stateless {
		x.gateway.begin(x.session)
		x.out.header(sessionHeader, x.session.id)
	}
	merged, err = x.checkResponse(ctx, services, merged)
	return x.delivered(merged), err
}

func (x *exchange) services() []string {
	names := make([]string, len(x.relay.Targets))
	for i, target := range x.relay.Targets {
		names[i] = target.Name
	}
	return names
}

// gather asks every target at once. Where upstreams may fail open one that fails
// is left out, unless all do.
func (x *exchange) gather(ctx context.Context, params value) ([]targetResult, error) {
	found := make([]value, len(x.relay.Targets))
	errs := x.each(func(i int, target Target) (err error) {
		found[i], err = x.forward(ctx, target, params)
		return err
	})
	var results []targetResult
	var last error
	for i, target := range x.relay.Targets {
		if errs[i] != nil {
			last = errs[i]
			if !x.relay.FailOpen {
				return nil, last
			}
			continue
		}
		results = append(results, targetResult{target, found[i]})
	}
	if len(results) == 0 {
		return nil, last
	}
	return results, nil
}

// withoutServerRequests strips the capabilities of the client that invite an
// upstream to send it requests.
func withoutServerRequests(params value) value {
	capabilities, _ := params.get("capabilities")
	for _, name := range []string{"roots", "sampling", "elicitation"} {
		capabilities = capabilities.without(name)
	}
	return params.with("capabilities", capabilities)
}

// introduce initializes the upstreams for one request of a client without a
// session. The request hook of initialize runs for it; its result is dropped.
func (x *exchange) introduce(ctx context.Context) error {
	own := *x
	own.method, own.id = "initialize", x.gateway.nextID()
	if _, err := own.checkRequest(ctx, own.services(), nil, nil); err != nil {
		return asRefusal(err)
	}
	version, ok := x.headers.get(versionHeader)
	if !ok {
		version = "2025-11-25"
	}
	params := objectValue(
		member{"protocolVersion", textValue(version)}, member{"capabilities", objectValue()},
		member{"clientInfo", serverInfo()},
	)
	if _, err := own.gather(ctx, params); err != nil {
		return err
	}
	initialized := objectValue(member{"jsonrpc", textValue("2.0")}, member{"method", textValue("notifications/initialized")})
	for _, err := range x.each(func(_ int, target Target) error { return x.notify(ctx, target, initialized) }) {
		if err != nil && !x.relay.FailOpen {
			return err
		}
	}
	return nil
}

func serverInfo() value {
	return objectValue(member{"name", textValue("agentgateway")}, member{"version", textValue(ownVersion)})
}

// listen serves subscriptions/listen: notifications of every target go on
// unseen, and the result with which the last of them ends is put to the hook.
func (x *exchange) listen(ctx context.Context, params value) (value, error) {
	services := x.services()
	if _, err := x.checkRequest(ctx, services, nil, nil); err != nil {
		return value{}, asRefusal(err)
	}
	results, err := x.gather(ctx, params)
	if err != nil {
		return value{}, err
	}
	return x.checkResponse(ctx, services, results[len(results)-1].result.free())
}

// delivered is a result as the client of this generation gets it: lists are
// never to be cached, and the older generation does not know of that at all.
func (x *exchange) delivered(result value) value {
	form, decoded := decodeResult(result)
	_, isList := listings[form]
	if !isList && form != "server/discover" {
		return result
	}
	if x.modern {
		return decoded.with("ttlMs", intValue(0)).with("cacheScope", textValue("private"))
	}
	return decoded.without("resultType").without("ttlMs").without("cacheScope")
}
