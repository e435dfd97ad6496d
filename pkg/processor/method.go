package processor

import (
	"maps"
	"slices"
)

// role is what the processor does about a method.
type role uint8

const (
	carries role = iota // nothing of a definition: its request passes
	lists               // its result is filtered
	greets              // its result may hold instructions
	uses                // its request uses one item
)

// Era is a generation of the protocol. The results of one have members that the
// other's lack.
type Era uint8

// The eras. In EraAny, where it is not known, a result may have the members of
// either: the gateway gives a list of the first era those of the second.
const (
	EraAny       Era = iota
	EraSessions      // 2024-11-05 to 2025-11-25
	EraStateless     // 2026-07-28
)

// method is what the processor knows of one method.
type method struct {
	role  role
	kind  kind
	param string // the member of the params that names the item
	// phase is when the gateway is to ask; empty where it does not know the method.
	phase string
	// members are the top-level members that its result may have, by era; nil where
	// the era lacks the method.
	members [3][]string
	// nested is the method whose result the member result holds; nil for none.
	nested *method
}

// The phases in the words of the gateway's configuration.
const (
	phaseRequest  = "request"
	phaseResponse = "response"
	phaseFull     = "full"
)

// Members that several results share.
var (
	bare      = []string{"_meta"}
	typed     = []string{"_meta", "resultType"}
	cacheable = join(typed, "cacheScope", "ttlMs")
	called    = []string{"_meta", "content", "isError", "structuredContent"}
	waits     = []string{"inputRequests", "requestState"} // for the client's input
	handle    = []string{"createdAt", "lastUpdatedAt", "status", "statusMessage", "taskId"}
	task      = join(handle, "_meta", "pollInterval", "ttl")
	taskNow   = join(handle, "_meta", "pollIntervalMs", "resultType", "ttlMs")
)

func join(members []string, more ...string) []string { return slices.Concat(members, more) }

// methods are those that are known; any other is denied.
var methods = byEra(map[string]*method{
	"tools/list":               listMethod(tool),
	"prompts/list":             listMethod(prompt),
	"resources/templates/list": listMethod(template),
	"resources/list":           listMethod(resource),

	"initialize": {role: greets, phase: phaseResponse, members: eras(
		join(bare, "capabilities", "instructions", "protocolVersion", "serverInfo"), nil)},
	"server/discover": {role: greets, phase: phaseResponse, members: eras(
		nil, join(cacheable, "capabilities", "instructions", "supportedVersions"))},

	"tools/call": {role: uses, kind: tool, param: "name", phase: phaseFull, members: eras(
		join(called, "task"), slices.Concat(called, taskNow, waits))},
	"prompts/get": {role: uses, kind: prompt, param: "name", phase: phaseFull, members: eras(
		join(bare, "description", "messages"), join(typed, "description", "inputRequests", "messages", "requestState"))},
	"resources/read": {role: uses, kind: resource, param: "uri", phase: phaseFull, members: eras(
		join(bare, "contents"), join(cacheable, "contents", "inputRequests", "requestState"))},

	"completion/complete":   {phase: phaseResponse, members: eras(join(bare, "completion"), join(typed, "completion"))},
	"ping":                  {phase: phaseRequest, members: eras(bare, nil)},
	"logging/setLevel":      {phase: phaseRequest, members: eras(bare, nil)},
	"subscriptions/listen":  {phase: phaseRequest, members: eras(nil, typed)},
	"resources/subscribe":   {phase: phaseResponse, members: eras(bare, nil)},
	"resources/unsubscribe": {phase: phaseResponse, members: eras(bare, nil)},

	"tasks/get":    {phase: phaseResponse, members: eras(task, join(taskNow, "error", "inputRequests", "result"))},
	"tasks/update": {phase: phaseResponse, members: eras(nil, typed)},
	"tasks/cancel": {phase: phaseResponse, members: eras(task, typed)},
	"tasks/list":   {members: eras(join(bare, "nextCursor", "tasks"), nil)},
	"tasks/result": {members: eras(called, nil)},
})

// eras are the members in the first and in the second era.
func eras(sessions, stateless []string) [3][]string {
	return [3][]string{EraSessions: sessions, EraStateless: stateless}
}

// listMethod is the method that lists definitions of a kind.
func listMethod(k kind) *method {
	member := k.list().Member
	return &method{role: lists, kind: k, phase: phaseResponse, members: eras(
		join(bare, "nextCursor", member), join(cacheable, "nextCursor", member))}
}

// byEra adds what may be there where the era is not known.
func byEra(methods map[string]*method) map[string]*method {
	for _, m := range methods {
		all := slices.Concat(m.members[EraSessions], m.members[EraStateless])
		slices.Sort(all)
		m.members[EraAny] = slices.Compact(all)
	}
	methods["tasks/get"].nested = methods["tools/call"] // the one that makes tasks there
	return methods
}

// has reports whether a result of the era may have the member.
func (m *method) has(era Era, member []byte) bool {
	return slices.Contains(m.members[era], string(member))
}

// A Hook is one method that the gateway has to be configured to ask about, and in
// which phase.
type Hook struct {
	Method string
	Phase  string // request, response or full, as the gateway's configuration calls it
}

// Hooks returns every method that the gateway has to ask about, sorted, and last
// the pattern of all others, so that a method that is not known is denied. Whatever
// can carry a result is asked about in the response.
func Hooks() []Hook {
	hooks := make([]Hook, 0, len(methods)+1)
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if phase := methods[name].phase; phase != "" {
			hooks = append(hooks, Hook{name, phase})
		}
	}
	return append(hooks, Hook{"*", phaseFull})
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
