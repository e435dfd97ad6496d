package processor

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/surface"
)

// Config is what a processor gets from outside.
type Config struct {
	Now      func() time.Time // time.Now where nil
	Observer Observer         // may be nil
}

// A Processor answers the hooks of the gateway. It is safe for concurrent use.
// Until SetPolicy is called it denies everything.
type Processor struct {
	extmcp.UnimplementedExtMcpServer

	now      func() time.Time
	observer Observer
	policy   atomic.Pointer[Policy]
	evidence *evidence
	contents atomic.Uint64 // list results that were read
	readers  sync.Pool     // of *canonical.Reader

	passRequest  *extmcp.McpRequestResult
	passResponse *extmcp.McpResponseResult
}

// New returns a processor without a policy.
func New(config Config) *Processor {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Processor{
		now: config.Now, observer: config.Observer, evidence: newEvidence(),
		readers:      sync.Pool{New: func() any { return new(canonical.Reader) }},
		passRequest:  &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Pass{Pass: &extmcp.Pass{}}},
		passResponse: &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Pass{Pass: &extmcp.Pass{}}},
	}
}

// SetPolicy puts a policy in force; nil denies everything. Hooks in flight end
// with the one they began with.
func (p *Processor) SetPolicy(policy *Policy) {
	old := p.policy.Swap(policy)
	if policy == nil {
		return
	}
	p.evidence.policyChanged(len(policy.services), old != nil && old.input.ID == policy.input.ID && policy.input.ID != "")
}

// Policy returns the policy in force, or nil before the first.
func (p *Processor) Policy() *Policy { return p.policy.Load() }

// RecordProbe takes what the processor's own probe of a server, by the name the
// lockfile gives it, has just listed. Of kinds that are not covered nothing is
// kept. It reports false where the policy in force
// does not know the server.
func (p *Processor) RecordProbe(name string, seen surface.Surface, at time.Time) bool {
	policy := p.policy.Load()
	if policy == nil || policy.names[name] == nil {
		return false
	}
	s := policy.names[name]
	witness := p.evidence.make(s.target)
	for k := range kind(kinds) {
		if !s.covers[k] {
			continue
		}
		g := group{server: s, kind: k}
		for _, d := range seen.Lists[k.list().Kind].Definitions {
			g.seen = append(g.seen, observation{d.Name, s.items[k][d.Name], d.GatewayDigest})
		}
		for _, r := range seen.Refused {
			if r.Kind == k.list().Kind && r.Name != "" {
				g.seen = append(g.seen, observation{r.Name, s.items[k][r.Name], canonical.Digest{}})
			}
		}
		witness.probed(&g, at)
	}
	return true
}

// CheckRequest implements the ExtMCP service. The error is always nil.
func (p *Processor) CheckRequest(_ context.Context, in *extmcp.McpRequest) (*extmcp.McpRequestResult, error) {
	d := Decision{At: p.now(), Phase: PhaseRequest, Method: in.GetMethod(), Services: in.GetServiceNames(), Enforced: true}
	p.decideRequest(&d, in)
	p.tell(&d)
	if d.Code == "" || !d.Enforced {
		return p.passRequest, nil
	}
	return &extmcp.McpRequestResult{Result: &extmcp.McpRequestResult_Error{Error: denial(&d)}}, nil
}

// CheckResponse implements the ExtMCP service. The error is always nil.
func (p *Processor) CheckResponse(_ context.Context, in *extmcp.McpResponse) (*extmcp.McpResponseResult, error) {
	d := Decision{At: p.now(), Phase: PhaseResponse, Method: in.GetMethod(), Services: in.GetServiceNames(), Enforced: true}
	answer := p.decideResponse(&d, in)
	p.tell(&d)
	switch {
	case !d.Enforced:
		return p.passResponse, nil
	case d.Code != "":
		return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Error{Error: denial(&d)}}, nil
	case answer == nil:
		return p.passResponse, nil
	}
	return answer, nil
}

func (p *Processor) tell(d *Decision) {
	if p.observer == nil {
		return
	}
	defer func() { d.failed(recover()) }()
	p.observer.Decided(*d)
}

// failed makes a denial of a panic.
func (d *Decision) failed(panicked any) {
	if panicked != nil {
		d.Code = DeniedInternal
		d.Failure = fmt.Sprintf("%v\n%s", panicked, debug.Stack())
	}
}

func (p *Processor) decideRequest(d *Decision, in *extmcp.McpRequest) {
	defer func() { d.failed(recover()) }()
	policy := p.policy.Load()
	var r route
	m := p.begin(d, policy, &r, in.GetMetadataContext())
	if d.Code == "" && m.role == uses {
		d.Code = p.judgeCall(d, policy, &r, m, in.GetMcpRequest())
	}
}

// decideResponse returns the result that goes on in the place of the one that
// came, or nil where that goes on as it is.
func (p *Processor) decideResponse(d *Decision, in *extmcp.McpResponse) (answer *extmcp.McpResponseResult) {
	defer func() { d.failed(recover()) }()
	policy := p.policy.Load()
	var r route
	m := p.begin(d, policy, &r, in.GetMetadataContext())
	if d.Code != "" {
		return nil
	}
	switch m.role {
	case lists:
		return p.list(d, policy, &r, m.kind, in.GetMcpResponse())
	case greets:
		g, code := judgeHello(policy, &r, d.Method, in.GetMcpResponse())
		d.Code, d.Removed = code, g.removed
		if code == "" && g.changed {
			return mutated(g.out)
		}
	}
	return nil
}

// list decides about a list result, by memory where it was judged before.
func (p *Processor) list(d *Decision, policy *Policy, r *route, k kind, body []byte) *extmcp.McpResponseResult {
	hash := policy.cache.hash(r, k, body)
	judged := policy.cache.get(hash, r, k, body)
	d.Remembered = judged != nil
	if judged == nil {
		judged = judgeList(policy, r, k, body)
		content := p.contents.Add(1)
		for i := range judged.groups {
			judged.groups[i].content = content
		}
		policy.cache.put(hash, r, k, body, judged)
	}
	for i := range judged.groups {
		g := &judged.groups[i]
		p.evidence.make(g.server.target).listed(r.scope, g, d.At)
	}
	d.Code, d.Removed = judged.denied, judged.removed
	return judged.answer
}

func mutated(body []byte) *extmcp.McpResponseResult {
	return &extmcp.McpResponseResult{Result: &extmcp.McpResponseResult_Mutated{Mutated: body}}
}

// Evidence describes the evidence about each server of the policy in force, in the
// order of the input.
func (p *Processor) Evidence() []EvidenceState {
	policy := p.policy.Load()
	if policy == nil {
		return nil
	}
	out := make([]EvidenceState, 0, len(policy.input.Servers))
	for i := range policy.input.Servers {
		name := policy.input.Servers[i].Name
		out = append(out, p.evidence.of(policy.names[name].target).state(name))
	}
	return out
}
