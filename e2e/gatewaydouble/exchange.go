package gatewaydouble

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// exchange is the handling of one HTTP request of a client.
type exchange struct {
	gateway *Gateway
	relay   *relay
	session *session
	out     *answer
	headers headers           // as the processors left them
	given   map[string]string // metadata that the processors gave
	allow   []string          // the tools that are allowed, where not nil
	modern  bool
	id      value
	method  string
}

// refusal is an error that the client gets as a JSON body.
type refusal struct {
	status int
	rpc    *rpcError
}

func (e *refusal) Error() string { return e.rpc.message }

// invalid refuses a request that the gateway cannot make sense of.
func (x *exchange) invalid(message string) error {
	if x.modern {
		return &refusal{http.StatusBadRequest, &rpcError{code: codeInvalidParams, message: message}}
	}
	return errors.New(message)
}

// request serves a JSON-RPC request.
func (x *exchange) request(ctx context.Context, message value) {
	result, err := x.dispatch(ctx, message)
	if err != nil {
		x.fail(err)
		return
	}
	x.out.event(response(x.id, result))
}

func (x *exchange) dispatch(ctx context.Context, message value) (value, error) {
	m, ok := methods[x.method]
	if !ok || m.modern && !x.modern || m.legacy && x.modern {
		if x.modern {
			return value{}, &refusal{http.StatusNotFound, &rpcError{code: codeNotFound, message: "unsupported method: " + x.method}}
		}
		return value{}, errors.New("unsupported method: " + x.method)
	}
	given, ok := message.get("params")
	if !ok || given.kind == null {
		given = objectValue()
	}
	params, err := m.params(given)
	if err != nil {
		return value{}, x.invalid("invalid params: " + err.Error())
	}
	if x.relay.Stateless && !x.modern && x.method != "initialize" {
		if err := x.introduce(ctx); err != nil {
			return value{}, err
		}
	}
	switch m.route {
	case oneTarget:
		return x.toOne(ctx, m, params)
	case subscribe:
		return x.listen(ctx, params)
	default:
		return x.toEvery(ctx, params)
	}
}

// fail answers with an error: of an upstream and of a response hook as an event,
// of a request hook and of the gateway as JSON.
func (x *exchange) fail(err error) {
	var (
		status  *upstreamStatus
		failed  *upstreamError
		refused *refusal
		rpc     *rpcError
	)
	switch {
	case errors.As(err, &status) && !x.out.streaming():
		x.out.raw(status.status, status.contentType, status.body)
	case errors.As(err, &failed):
		x.out.event(errorResponse(x.id, failed.error))
	case errors.As(err, &refused):
		x.out.body(refused.status, errorResponse(x.id, refused.rpc.value()))
	case errors.As(err, &rpc):
		x.out.event(errorResponse(x.id, rpc.value()))
	default:
		rpc = &rpcError{code: codeInternal, message: "failed to send message: " + err.Error()}
		x.out.body(http.StatusInternalServerError, errorResponse(x.id, rpc.value()))
	}
}

// forward puts a request to a target under the client's id.
func (x *exchange) forward(ctx context.Context, target Target, params value) (value, error) {
	return x.ask(ctx, target, x.message(x.method, params), func(message value) { x.relayed(target, message) }, nil)
}

func (x *exchange) message(method string, params value) value {
	members := []member{{"jsonrpc", textValue("2.0")}, {"id", x.id}, {"method", textValue(method)}}
	if len(params.members) > 0 {
		members = append(members, member{"params", params})
	}
	return objectValue(members...)
}

// relayed passes on what an upstream sends besides its answer. No processor sees
// it. A request gets an id that tells its target; a resource's URI its prefix.
func (x *exchange) relayed(target Target, message value) {
	if x.method == "initialize" {
		return // the client's stream has no session yet
	}
	if message.getText("method") == "notifications/subscriptions/acknowledged" && !x.out.acknowledge() {
		return // the client subscribed once, to several targets
	}
	message = message.free()
	if id, ok := message.get("id"); ok {
		message = message.with("id", x.session.track(target, id))
	}
	if params, ok := message.get("params"); ok && message.getText("method") == "notifications/resources/updated" {
		message = message.with("params", params.with("uri", textValue(x.relay.publicURI(target.Name, params.getText("uri")))))
	}
	x.out.event(message)
}

// forwardNotification sends a message without a usable id to every target. No
// processor and no authorization sees it, whatever its method is.
func (x *exchange) forwardNotification(ctx context.Context, message value) {
	members := []member{{"jsonrpc", textValue("2.0")}, {"method", textValue(x.method)}}
	if params, ok := message.get("params"); ok {
		members = append(members, member{"params", params.free()})
	}
	notification := objectValue(members...)
	errs := x.each(func(_ int, target Target) error { return x.notify(ctx, target, notification) })
	for _, err := range errs {
		if err != nil && !x.relay.FailOpen {
			x.fail(err)
			return
		}
	}
	x.out.raw(http.StatusAccepted, "", nil)
}

// reply routes a client's answer to the upstream that asked.
func (x *exchange) reply(ctx context.Context, message value) {
	asked, ok := x.session.answered(message.getText("id"))
	if !ok {
		x.fail(errors.New("unknown request id"))
		return
	}
	if err := x.notify(ctx, asked.target, message.free().with("id", asked.id)); err != nil {
		x.fail(err)
		return
	}
	x.out.raw(http.StatusAccepted, "", nil)
}

// each does something for every target at once and returns the errors in the
// targets' order.
func (x *exchange) each(do func(i int, target Target) error) []error {
	errs := make([]error, len(x.relay.Targets))
	var group sync.WaitGroup
	for i, target := range x.relay.Targets {
		group.Go(func() { errs[i] = do(i, target) })
	}
	group.Wait()
	return errs
}

// watch serves the client's standing stream: what the upstreams send on theirs.
func (x *exchange) watch(ctx context.Context) {
	streams := make([]*http.Response, len(x.relay.Targets))
	errs := make([]error, len(x.relay.Targets))
	unsupported := 0
	for i, target := range x.relay.Targets {
		streams[i], errs[i] = x.open(ctx, http.MethodGet, target, nil, streamType) //nolint:bodyclose // discard closes it
		if streams[i] != nil {
			defer discard(streams[i])
		}
	}
	for _, err := range errs {
		var status *upstreamStatus
		switch missing := errors.As(err, &status) && status.status == http.StatusMethodNotAllowed; {
		case err == nil:
		case missing && len(streams) > 1:
			unsupported++
		case !x.relay.FailOpen:
			x.fail(err)
			return
		}
	}
	if unsupported == len(streams) {
		x.out.raw(http.StatusMethodNotAllowed, "text/plain", []byte("no upstream supports GET streams"))
		return
	}
	x.out.start()
	var group sync.WaitGroup
	for i, target := range x.relay.Targets {
		if streams[i] == nil {
			continue
		}
		group.Go(func() {
			// A stream that breaks ends, and the client opens another.
			_ = readEvents(streams[i].Body, func(data []byte) (bool, error) {
				message, err := parse(data)
				if err == nil {
					x.relayed(target, message)
				}
				return true, err
			})
		})
	}
	group.Wait()
}

// end ends a session, here and at the upstreams.
func (x *exchange) end(ctx context.Context) {
	x.gateway.end(x.session.id)
	errs := x.each(func(_ int, target Target) error {
		response, err := x.open(ctx, http.MethodDelete, target, nil, jsonType)
		if err == nil {
			discard(response)
		}
		return err
	})
	for _, err := range errs {
		if err != nil && !x.relay.FailOpen {
			x.fail(err)
			return
		}
	}
	x.out.raw(http.StatusAccepted, "", nil)
}
