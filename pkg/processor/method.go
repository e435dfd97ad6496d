package processor

import "google.golang.org/protobuf/types/known/structpb"

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

// begin does what every hook begins with: it reads the route and finds the method
// and whether every server of the hook may be asked anything. Where d.Code is set
// thereafter, the answer is to deny.
func (p *Processor) begin(d *Decision, policy *Policy, r *route, metadata *structpb.Struct) *method {
	if policy == nil {
		d.Code = DeniedNoPolicy
		return nil
	}
	d.Enforced = policy.options.Mode != Observe
	*r, d.Code = newRoute(d.Services, metadata, policy.options.Names)
	d.Scope = r.scope
	if code := policy.admits(d); d.Code == "" {
		d.Code = code
	}
	m := methods[d.Method]
	if m == nil && d.Code == "" {
		d.Code = DeniedUnknownMethod
	}
	return m
}

// admits says why a server of the hook may not be asked anything, or nothing.
func (policy *Policy) admits(d *Decision) Code {
	if len(d.Services) == 0 {
		return DeniedUnknownServer
	}
	for _, service := range d.Services {
		s := policy.services[service]
		switch {
		case s == nil:
			d.Server = service
			return DeniedUnknownServer
		case s.denied != "":
			d.Server = s.name
			return s.denied
		case len(d.Services) == 1:
			d.Server = s.name
		}
	}
	return ""
}
