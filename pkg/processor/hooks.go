package processor

import (
	"maps"
	"slices"
)

// A Hook is one method that the gateway has to be configured to ask about, and in
// which phase.
type Hook struct {
	Method string
	Phase  string // request, response or full, as the gateway's configuration calls it
}

// responseOnly are the methods that carry no definition and that the gateway asks
// about after the server has answered, or not at all.
var responseOnly = []string{
	"completion/complete", "resources/subscribe", "resources/unsubscribe",
	"tasks/cancel", "tasks/get", "tasks/list", "tasks/result", "tasks/update",
}

// Hooks returns every method that the processor decides about, sorted, and last
// the pattern of all others, so that a method it does not know is denied. What is
// listed is filtered in the response; what is used is decided before the server
// sees the request.
func Hooks() []Hook {
	hooks := make([]Hook, 0, len(methods)+1)
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		phase := PhaseRequest
		if m := methods[name]; m.role == lists || m.role == greets || slices.Contains(responseOnly, name) {
			phase = PhaseResponse
		}
		hooks = append(hooks, Hook{name, string(phase)})
	}
	return append(hooks, Hook{"*", "full"})
}
