package processor

import (
	"fmt"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/extmcp"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// Phase is the hook that asked.
type Phase string

// The phases.
const (
	PhaseRequest  Phase = "request"
	PhaseResponse Phase = "response"
)

// A Decision is what one hook was answered, and why. Text in it may come from
// servers and clients and is not escaped.
type Decision struct {
	At       time.Time
	Phase    Phase
	Method   string
	Services []string // as the gateway named them; not to be changed
	Scope    string
	// Server is the lockfile's name of the server, where the hook is about one
	// that the policy knows, or else the gateway's.
	Server string
	Kind   surface.Kind // of the item, where the hook is about one
	Name   string
	// Code says why the message was denied; it is empty where it passed.
	Code           Code
	Approved, Seen canonical.Digest // zero where there is none
	// Removed is what was taken out of a result that passed otherwise. It is
	// shared, and not to be changed.
	Removed []Removal
	// Remembered is set where the verdict on a list result was made before, so that
	// Removed tells nothing new.
	Remembered bool
	// Enforced is false in the mode observe: everything passed unchanged.
	Enforced bool
	// Failure is what went wrong inside the processor, for the code internal.
	Failure string
}

// An Observer is told of every decision, before the hook is answered. It must not
// block: hooks wait for it. Where it panics the hook is denied.
type Observer interface {
	Decided(d Decision)
}

// maxShownName is how much of a name stands in a denial, in
// characters.
const maxShownName = 200

// denial makes the answer of a decision to deny.
func denial(d *Decision) *extmcp.AuthorizationError {
	info := describe(d.Code)
	return &extmcp.AuthorizationError{
		Code:     extmcp.AuthorizationError_PERMISSION_DENIED,
		Reason:   d.reason(info),
		McpError: d.data(info),
	}
}

// reason is a sentence or more for the person or agent that asked.
func (d *Decision) reason(info Denial) string {
	var out strings.Builder
	switch {
	case d.Name != "":
		fmt.Fprintf(&out, "%s %s", d.Kind, shown(d.Name))
	case d.Kind != "":
		out.WriteString(string(d.Kind))
	default:
		out.WriteString(shown(d.Method))
	}
	if d.Server != "" {
		fmt.Fprintf(&out, " of the server %s", shown(d.Server))
	}
	fmt.Fprintf(&out, " is denied (%s). %s", d.Code, info.Meaning)
	if !d.Approved.IsZero() {
		fmt.Fprintf(&out, " Approved is the digest %v", d.Approved)
		if !d.Seen.IsZero() && d.Seen != d.Approved {
			fmt.Fprintf(&out, ", seen was %v", d.Seen)
		}
		out.WriteByte('.')
	}
	return out.String()
}

// shown quotes a text that somebody else wrote.
func shown(s string) string {
	return `"` + textcheck.Terminal(textcheck.Clip(s, maxShownName)) + `"`
}

// data is the same for programs: a JSON object of strings.
func (d *Decision) data(info Denial) []byte {
	text := func(digest canonical.Digest) string {
		if digest.IsZero() {
			return ""
		}
		return digest.String()
	}
	out := make([]byte, 0, 512)
	for i, m := range [...]struct{ name, value string }{
		{"code", string(d.Code)}, {"server", d.Server}, {"kind", string(d.Kind)}, {"name", textcheck.Clip(d.Name, maxShownName)},
		{"approved", text(d.Approved)}, {"seen", text(d.Seen)}, {"hint", info.Action},
	} {
		out = append(out, "{,,,,,,"[i], '"')
		out = append(append(out, m.name...), `":`...)
		out = canonical.AppendString(out, m.value)
	}
	return append(out, '}')
}
