package gatewaydouble

import (
	"context"
	"net/http"

	"google.golang.org/grpc/status"

	"agentgateway-lock/pkg/extmcp"
)

// The JSON-RPC error codes that the gateway answers with.
const (
	codeInternal       = -32603
	codeInvalidRequest = -32600
	codeNotFound       = -32601
	codeInvalidParams  = -32602
	codeParse          = -32700
	codeDenied         = -32001
	codeExhausted      = -32003
	codeVersion        = -32022
)

// rpcError is a JSON-RPC error of the gateway's own. It is an error so that it
// can travel as one.
type rpcError struct {
	code    int
	message string
	data    *value
}

func (e *rpcError) Error() string { return e.message }

func (e *rpcError) value() value {
	members := []member{{"code", intValue(e.code)}, {"message", textValue(e.message)}}
	if e.data != nil {
		members = append(members, member{"data", *e.data})
	}
	return objectValue(members...)
}

var denialCodes = map[extmcp.AuthorizationError_Code]int{
	extmcp.AuthorizationError_PERMISSION_DENIED:  codeDenied,
	extmcp.AuthorizationError_RESOURCE_EXHAUSTED: codeExhausted,
	extmcp.AuthorizationError_INVALID:            codeInvalidRequest,
}

// denial is the JSON-RPC error of a processor's refusal. What is no known code is
// an internal error; details that do not parse are left out.
func denial(refusal *extmcp.AuthorizationError) *rpcError {
	code, ok := denialCodes[refusal.GetCode()]
	if !ok {
		code = codeInternal
	}
	out := &rpcError{code: code, message: refusal.GetReason()}
	if details, err := parse(refusal.GetMcpError()); refusal.McpError != nil && err == nil {
		details = details.free()
		out.data = &details
	}
	return out
}

// outage is what becomes of a call that failed or was answered against the
// protocol: an error, or nothing where the processor may fail open.
func (p *processor) outage(message string) *rpcError {
	if p.FailOpen {
		return nil
	}
	return &rpcError{code: codeInternal, message: message}
}

func (p *processor) failed(rpc string, err error) *rpcError {
	return p.outage("mcpGuardrails " + rpc + " failed: " + status.Convert(err).Message())
}

func (p *processor) violation(what string) *rpcError {
	return p.outage("mcpGuardrails protocol violation: " + what)
}

// checkRequest puts a request to the processors in their order and returns the
// params that it goes on with. Without params (a request to every target) a
// mutation is ignored. decode reads mutated params.
func (x *exchange) checkRequest(ctx context.Context, services []string, params *value, decode decoder) (*value, error) {
	for _, p := range x.relay.processors {
		if !p.phase(x.method).request() {
			continue
		}
		in := &extmcp.McpRequest{
			ServiceNames:    services,
			Method:          x.method,
			MetadataContext: p.metadataContext(x.headers, x.given),
			Headers:         p.forwarded(x.headers),
		}
		if params != nil {
			in.McpRequest = encode(*params)
		}
		var out *extmcp.McpRequestResult
		err := p.call(ctx, func(ctx context.Context, client extmcp.ExtMcpClient) (err error) {
			out, err = client.CheckRequest(ctx, in)
			return err
		})
		if err != nil {
			if failure := p.failed("checkRequest", err); failure != nil {
				return nil, failure
			}
			continue
		}
		params, err = x.applyRequest(p, out, params, decode)
		if err != nil {
			return nil, err
		}
	}
	return params, nil
}

// applyRequest follows one answer to a request.
func (x *exchange) applyRequest(p *processor, out *extmcp.McpRequestResult, params *value, decode decoder) (*value, error) {
	switch result := out.GetResult().(type) {
	case *extmcp.McpRequestResult_Pass:
	case *extmcp.McpRequestResult_Error:
		return nil, denial(result.Error)
	case *extmcp.McpRequestResult_Mutated:
		if params == nil {
			break
		}
		mutated, err := parse(result.Mutated)
		if err == nil {
			mutated, err = decode(mutated)
		}
		if err != nil {
			if failure := p.violation("mutated params: " + err.Error()); failure != nil {
				return nil, failure
			}
			return params, nil
		}
		params = &mutated
	default:
		if failure := p.violation("no result"); failure != nil {
			return nil, failure
		}
		return params, nil
	}
	x.mutateHeaders(out.GetHeaderMutation())
	for key, given := range out.GetMetadata().AsMap() {
		if text, ok := given.(string); ok {
			x.given[key] = text
		}
	}
	return params, nil
}

func (x *exchange) mutateHeaders(mutation *extmcp.HeaderMutation) {
	for _, name := range mutation.GetRemove() {
		x.headers.http.Del(name)
	}
	set := map[string]bool{}
	for _, header := range mutation.GetSet() {
		name := http.CanonicalHeaderKey(header.GetKey())
		if !set[name] {
			x.headers.http.Del(name)
			set[name] = true
		}
		x.headers.http.Add(name, string(header.GetValue()))
	}
}

// checkResponse puts a result to the processors in their order and returns the
// result that goes on. A mutated result is decoded again, as any result is.
func (x *exchange) checkResponse(ctx context.Context, services []string, result value) (value, error) {
	for _, p := range x.relay.processors {
		if !p.phase(x.method).response() {
			continue
		}
		in := &extmcp.McpResponse{
			ServiceNames:    services,
			Method:          x.method,
			MetadataContext: p.metadataContext(x.headers, x.given),
			McpResponse:     encode(result),
		}
		var out *extmcp.McpResponseResult
		err := p.call(ctx, func(ctx context.Context, client extmcp.ExtMcpClient) (err error) {
			out, err = client.CheckResponse(ctx, in)
			return err
		})
		var failure *rpcError
		switch answer := out.GetResult().(type) {
		case *extmcp.McpResponseResult_Pass:
		case *extmcp.McpResponseResult_Error:
			return value{}, denial(answer.Error)
		case *extmcp.McpResponseResult_Mutated:
			var mutated value
			if mutated, err = parse(answer.Mutated); err == nil {
				_, result = decodeResult(mutated)
			} else {
				failure = p.violation("mutated result: " + err.Error())
			}
		default:
			if err != nil {
				failure = p.failed("checkResponse", err)
			} else {
				failure = p.violation("no result")
			}
		}
		if failure != nil {
			return value{}, failure
		}
	}
	return result, nil
}
