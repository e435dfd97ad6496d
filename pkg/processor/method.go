package processor

// role is what the processor does about a method.
type role uint8

const (
	carries role = iota // nothing of a definition: it passes
	lists               // its result is filtered
	greets              // its result may hold instructions
	uses                // its request uses one item
)

// method is what the processor knows of one method.
type method struct {
	role  role
	kind  kind
	param string // the member of the params that names the item
}

// methods are those that are known; any other is denied.
var methods = map[string]*method{
	"tools/list":               {role: lists, kind: tool},
	"prompts/list":             {role: lists, kind: prompt},
	"resources/templates/list": {role: lists, kind: template},
	"resources/list":           {role: lists, kind: resource},
	"initialize":               {role: greets},
	"server/discover":          {role: greets},
	"tools/call":               {role: uses, kind: tool, param: "name"},
	"prompts/get":              {role: uses, kind: prompt, param: "name"},
	"resources/read":           {role: uses, kind: resource, param: "uri"},
	"ping":                     {},
	"logging/setLevel":         {},
	"completion/complete":      {},
	"subscriptions/listen":     {},
	"resources/subscribe":      {},
	"resources/unsubscribe":    {},
	"tasks/get":                {},
	"tasks/list":               {},
	"tasks/result":             {},
	"tasks/update":             {},
	"tasks/cancel":             {},
}

// begin does what every verdict begins with: it reads the route and finds the
// method and whether every server of the message may be asked anything. Where
// v.Code is set thereafter, the message is denied.
func (p *Processor) begin(v *Verdict, policy *Policy, r *route, m *Message) *method {
	if policy == nil {
		v.Code = DeniedNoPolicy
		return nil
	}
	v.Enforced = policy.options.Mode != Observe
	*r, v.Code = newRoute(m, policy.options.Names)
	v.Scope = r.scope
	if code := policy.admits(v); v.Code == "" {
		v.Code = code
	}
	known := methods[v.Method]
	if known == nil && v.Code == "" {
		v.Code = DeniedUnknownMethod
	}
	return known
}

// admits says why a server of the message may not be asked anything, or nothing.
func (policy *Policy) admits(v *Verdict) Code {
	if len(v.Targets) == 0 {
		return DeniedUnknownServer
	}
	for _, target := range v.Targets {
		s := policy.targets[target]
		switch {
		case s == nil:
			v.Server = target
			return DeniedUnknownServer
		case s.denied != "":
			v.Server = s.name
			return s.denied
		case len(v.Targets) == 1:
			v.Server = s.name
		}
	}
	return ""
}
