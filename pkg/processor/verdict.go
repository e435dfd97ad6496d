package processor

import (
	"fmt"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// Phase says which half of an exchange a message is.
type Phase string

// The phases.
const (
	PhaseRequest  Phase = "request"
	PhaseResponse Phase = "response"
)

// A Message is what a verdict is asked for: the request of a client, or the result
// of a server. Nothing in it is changed, and all of it may be hostile.
type Message struct {
	At     time.Time // when it was seen, for the age of evidence
	Phase  Phase
	Method string
	// Targets are the gateway's names of the servers that the request goes to, or
	// that the result comes from.
	Targets []string
	// Names says how lists spell names here; the policy's where empty.
	Names NameMode
	// Scope tells apart those whose lists differ, such as users.
	Scope string
	// BadMetadata is set where Names or Scope was given in a form that cannot be
	// read: the message is denied.
	BadMetadata bool
	Era         Era
	Body        []byte // the params or the result, as JSON; nil for none
}

// A Verdict is what is to become of one message, and why. Text in it may come from
// servers and clients and is not escaped.
type Verdict struct {
	At      time.Time
	Phase   Phase
	Method  string
	Targets []string
	Scope   string
	// Server is the lockfile's name of the server, where the message is about one
	// that the policy knows, or else the gateway's.
	Server string
	Kind   surface.Kind // of the item, where the message is about one
	Name   string
	// Code says why the message is denied; it is empty where it passes.
	Code Code
	// ID names a denial: whoever asked is told it, and the log has it.
	ID string
	// Member is the member for which a result is denied, where it is one.
	Member         string
	Approved, Seen canonical.Digest // zero where there is none
	// Body goes on in the place of the message's; nil where that goes on as it is.
	Body []byte
	// Removed is what was taken out of a result that passed otherwise. It is
	// shared, and not to be changed.
	Removed []Removal
	// Remembered is set where the verdict on a list result was made before, so that
	// Removed tells nothing new.
	Remembered bool
	// Enforced is false in the mode observe: everything passes unchanged.
	Enforced bool
	// Failure is what went wrong inside the processor, for the code internal.
	Failure string
}

// Denied reports whether the message is not to go on. Reason and Data tell why.
func (v *Verdict) Denied() bool { return v.Code != "" && v.Enforced }

// maxShownName is how much of a name stands in a denial, in characters.
const maxShownName = 200

// Reason is a sentence or more for the person or agent that asked.
func (v *Verdict) Reason() string {
	var out strings.Builder
	switch {
	case v.Name != "":
		fmt.Fprintf(&out, "%s %s", v.Kind, Shown(v.Name))
	case v.Kind != "":
		out.WriteString(string(v.Kind))
	default:
		out.WriteString(Shown(v.Method))
	}
	if v.Server != "" {
		fmt.Fprintf(&out, " of the server %s", Shown(v.Server))
	}
	fmt.Fprintf(&out, " is denied (%s). %s", v.Code, describe(v.Code).Meaning)
	if v.Member != "" {
		fmt.Fprintf(&out, " The member is %s.", Shown(v.Member))
	}
	if !v.Approved.IsZero() {
		fmt.Fprintf(&out, " Approved is the digest %v", v.Approved)
		if !v.Seen.IsZero() && v.Seen != v.Approved {
			fmt.Fprintf(&out, ", seen was %v", v.Seen)
		}
		out.WriteByte('.')
	}
	fmt.Fprintf(&out, " The log of the processor has this as %s.", v.ID)
	return out.String()
}

// Shown quotes a text that somebody else wrote.
func Shown(s string) string {
	return `"` + textcheck.Terminal(textcheck.Clip(s, maxShownName)) + `"`
}

// Data is the same for programs: a JSON object of strings.
func (v *Verdict) Data() []byte {
	text := func(digest canonical.Digest) string {
		if digest.IsZero() {
			return ""
		}
		return digest.String()
	}
	out := make([]byte, 0, 512)
	for i, m := range [...]struct{ name, value string }{
		{"code", string(v.Code)}, {"server", v.Server}, {"kind", string(v.Kind)}, {"name", textcheck.Clip(v.Name, maxShownName)},
		{"approved", text(v.Approved)}, {"seen", text(v.Seen)}, {"hint", describe(v.Code).Action}, {"id", v.ID},
	} {
		out = append(out, "{,,,,,,,"[i], '"')
		out = append(append(out, m.name...), `":`...)
		out = canonical.AppendString(out, m.value)
	}
	return append(out, '}')
}
