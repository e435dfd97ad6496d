package processor

import (
	"crypto/rand"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// A Processor judges messages. It is safe for concurrent use. Until SetPolicy is
// called it denies everything.
type Processor struct {
	policy   atomic.Pointer[Policy]
	evidence *evidence
	contents atomic.Uint64 // list results that were read
	run      string        // begins the ids of denials: other processes have others
	denials  atomic.Uint64
	readers  sync.Pool // of *canonical.Reader
}

// New returns a processor without a policy.
func New() *Processor {
	return &Processor{
		evidence: newEvidence(), readers: sync.Pool{New: func() any { return new(canonical.Reader) }}, run: strings.ToLower(rand.Text()[:8]),
	}
}

// SetPolicy puts a policy in force; nil denies everything. What is being judged
// ends with the one it began with.
func (p *Processor) SetPolicy(policy *Policy) {
	old := p.policy.Swap(policy)
	if policy == nil {
		return
	}
	p.evidence.policyChanged(len(policy.targets), old != nil && old.input.ID == policy.input.ID && policy.input.ID != "")
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

// Judge says what is to become of a message.
func (p *Processor) Judge(m *Message) (v Verdict) {
	v = Verdict{At: m.At, Phase: m.Phase, Method: m.Method, Targets: m.Targets, Enforced: true}
	defer func() {
		if panicked := recover(); panicked != nil {
			p.Fail(&v, panicked)
		}
		if v.Code != "" {
			v.Body = nil
			p.name(&v)
		}
		if !v.Enforced {
			v.Body = nil
		}
	}()
	if m.Phase == PhaseRequest {
		p.judgeRequest(&v, m)
	} else {
		p.judgeResult(&v, m)
	}
	return v
}

// Fail makes a denial of something that went wrong with a verdict, such as a panic.
func (p *Processor) Fail(v *Verdict, what any) {
	v.Code, v.Body = DeniedInternal, nil
	v.Failure = fmt.Sprintf("%v\n%s", what, debug.Stack())
	p.name(v)
}

// name gives a denial its id.
func (p *Processor) name(v *Verdict) {
	if v.ID == "" {
		v.ID = p.run + "-" + strconv.FormatUint(p.denials.Add(1), 36)
	}
}

func (p *Processor) judgeRequest(v *Verdict, m *Message) {
	policy := p.policy.Load()
	var r route
	known := p.begin(v, policy, &r, m)
	if v.Code == "" && known.role == uses {
		v.Code = p.judgeCall(v, policy, &r, known, m.Body)
	}
}

func (p *Processor) judgeResult(v *Verdict, m *Message) {
	policy := p.policy.Load()
	var r route
	known := p.begin(v, policy, &r, m)
	switch {
	case v.Code != "":
	case known.role == lists:
		p.list(v, policy, &r, known, m.Body)
	case known.role == greets:
		judgeHello(v, policy, &r, known, m.Body)
	default:
		p.judgeMembers(v, known, r.era, m.Body)
	}
}

// list decides about a list result, by memory where it was judged before.
func (p *Processor) list(v *Verdict, policy *Policy, r *route, m *method, body []byte) {
	hash := policy.cache.hash(r, m.kind, body)
	judged := policy.cache.get(hash, r, m.kind, body)
	v.Remembered = judged != nil
	if judged == nil {
		judged = judgeList(policy, r, m, body)
		content := p.contents.Add(1)
		for i := range judged.groups {
			judged.groups[i].content = content
		}
		policy.cache.put(hash, r, m.kind, body, judged)
	}
	for i := range judged.groups {
		g := &judged.groups[i]
		p.evidence.make(g.server.target).listed(r.scope, g, v.At)
	}
	v.Code, v.Member, v.Removed, v.Body = judged.denied, judged.member, judged.removed, judged.body
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
