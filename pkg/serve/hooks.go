package serve

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/processor"
)

// NewHooks returns the ExtMCP service that answers the gateway with the verdicts of
// a processor. A denial is an error in the answer and never a gRPC status, which the
// gateway takes for an outage. judged is told of each verdict, and of the time
// that it took, before the hook is answered: it must not block, and where it panics
// the hook is denied.
func NewHooks(p *processor.Processor, now func() time.Time, judged func(processor.Verdict, time.Duration)) extmcp.ExtMcpServer {
	return &hooks{processor: p, now: now, judged: judged}
}

type hooks struct {
	extmcp.UnimplementedExtMcpServer

	processor *processor.Processor
	now       func() time.Time
	judged    func(processor.Verdict, time.Duration)
}

// The answers that let a message go on as it is. They are shared.
var (
	passRequest  = &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{Pass: &extmcp.Pass{}}}
	passResponse = &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Pass{Pass: &extmcp.Pass{}}}
)

// CheckRequest implements the ExtMCP service. The error is always nil.
func (h *hooks) CheckRequest(_ context.Context, in *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
	m := processor.Message{
		At: h.now(), Phase: processor.PhaseRequest, Method: in.GetMethod(), Targets: in.GetServiceNames(), Body: in.GetMcpRequest(),
	}
	v := h.judge(&m, in.GetMetadataContext())
	if v.Denied() {
		return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Error{Error: denial(&v)}}, nil
	}
	return passRequest, nil
}

// CheckResponse implements the ExtMCP service. The error is always nil.
func (h *hooks) CheckResponse(_ context.Context, in *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
	m := processor.Message{
		At: h.now(), Phase: processor.PhaseResponse, Method: in.GetMethod(), Targets: in.GetServiceNames(), Body: in.GetMcpResponse(),
	}
	v := h.judge(&m, in.GetMetadataContext())
	switch {
	case v.Denied():
		return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Error{Error: denial(&v)}}, nil
	case v.Body != nil:
		return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Mutated{Mutated: v.Body}}, nil
	}
	return passResponse, nil
}

// judge reads the metadata of a route and asks for the verdict.
func (h *hooks) judge(m *processor.Message, metadata *structpb.Struct) processor.Verdict {
	began := time.Now()
	names := ""
	m.BadMetadata = !text(metadata, "names", &names) || !text(metadata, "scope", &m.Scope)
	m.Names = processor.NameMode(names)
	v := h.processor.Judge(m)
	h.tell(&v, time.Since(began))
	return v
}

// text reads a value of the metadata, where it is there, and reports whether it is
// a text.
func text(metadata *structpb.Struct, name string, into *string) bool {
	v, ok := metadata.GetFields()[name]
	if !ok {
		return true
	}
	s, ok := v.GetKind().(*structpb.Value_StringValue)
	if ok {
		*into = s.StringValue
	}
	return ok
}

func (h *hooks) tell(v *processor.Verdict, took time.Duration) {
	defer func() {
		if panicked := recover(); panicked != nil {
			h.processor.Fail(v, panicked)
		}
	}()
	h.judged(*v, took)
}

// denial is a verdict as the gateway understands it.
func denial(v *processor.Verdict) *extmcp.AuthorizationError {
	return &extmcp.AuthorizationError{
		Code: extmcp.AuthorizationError_PERMISSION_DENIED, Reason: v.Reason(), McpError: v.Data(),
	}
}
