package processor

import (
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/surface"
)

// An Input is what a policy is compiled from.
type Input struct {
	// ID names what was approved, such as a commit. Two policies of one ID differ
	// in their options at most: bars on items that showed too many digests end
	// when the ID changes. Policies without one are all different.
	ID      string
	Servers []Server
	Options
}

// Options decide how a policy is applied. The zero value is the strictest, but
// that it sets no limit to the age of evidence.
type Options struct {
	// Uncovered says what happens to kinds that a server's entry does not cover.
	Uncovered Uncovered
	// Mode says whether denials take effect.
	Mode Mode
	// Names says how lists spell names, for routes whose metadata does not say;
	// NamesByCount where empty.
	Names NameMode
	// MaxEvidenceAge is how long evidence counts; 0 for no limit.
	MaxEvidenceAge time.Duration
	// MaxListTTL is how long a client may keep a list; a longer ttlMs is cut.
	MaxListTTL time.Duration
	// Deny is the kill switch: it can only deny, whatever was approved.
	Deny []Ref
}

// Uncovered says what happens to kinds that are not covered.
type Uncovered string

// What happens to kinds that are not covered.
const (
	UncoveredDeny Uncovered = "deny"
	UncoveredPass Uncovered = "pass"
)

// Mode says whether denials take effect.
type Mode string

// The modes. Observe passes everything, and reports what would be denied.
const (
	Enforce Mode = "enforce"
	Observe Mode = "observe"
)

// NameMode says how a route spells the names in lists.
type NameMode string

// The name modes. NamesByCount is raw with one service and prefixed with several.
// NamesNever is the gateway's prefixMode never: names are raw with any number of
// targets, and a list of several is no evidence.
const (
	NamesByCount  NameMode = ""
	NamesRaw      NameMode = "raw"
	NamesPrefixed NameMode = "prefixed"
	NamesNever    NameMode = "never"
)

// A Ref names a server, or items of it: all that bear the name, or the one of a
// kind. The instructions have their kind and no name.
type Ref struct {
	Server string
	Kind   surface.Kind
	Name   string
}

// A Server is what is known of one server.
type Server struct {
	Name           string
	Target         string // the gateway's target; Name where empty
	Paused         bool
	Skipped        bool // known, and on purpose not covered
	SourceApproved bool
	Covers         []string // words of [surface.AllCovers]
	Instructions   *Instructions
	Items          []Item // a kind has a name once
}

// Instructions are the instructions of a server that stand in its entry.
type Instructions struct {
	Hash  canonical.Digest // in force; zero where none is
	Text  string           // in force; lists of several targets are compared with it
	State State
}

// An Item is one definition that stands in a server's entry.
type Item struct {
	Kind    surface.Kind
	Name    string
	State   State
	InForce canonical.Digest // gateway digest in force; zero where none is
	Locked  canonical.Digest // gateway digest in the lockfile
}

// State is what has been decided about an item. Items are served in the states
// approved and changed, the latter with the digest in force.
type State string

// The states.
const (
	StateApproved State = "approved"
	StateChanged  State = "changed" // another digest than the locked one is in force
	StateNew      State = "new"
	StateRejected State = "rejected"
	StateDisabled State = "disabled"
	StateRefused  State = "refused"
	StateAbsent   State = "absent"
	StateConflict State = "conflict"
)
