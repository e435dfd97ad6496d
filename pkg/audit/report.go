package audit

import (
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/surface"
)

// A Violation is a commit that breaks a rule.
type Violation struct {
	Commit gitrepo.Hash `json:"commit"`
	Rule   finding.Code `json:"rule"`
	Path   string       `json:"path,omitempty"` // from the root of the repository
	Item   *surface.Key `json:"item,omitempty"` // where it is about one
	Detail string       `json:"detail"`         // one sentence; input in it is quoted
}

// Error implements error.
func (v *Violation) Error() string {
	where := v.Path
	if v.Item != nil {
		where = fmt.Sprintf("%q", v.Item)
	}
	return fmt.Sprintf("commit %s: %s: %s [%s]", v.Commit.Short(), where, v.Detail, v.Rule)
}

// Finding tells the violation as a finding.
func (v *Violation) Finding() finding.Finding {
	place := finding.Place{File: v.Path}
	if v.Item != nil {
		place = finding.PlaceOf(*v.Item)
		place.File = v.Path
	}
	f := finding.New(v.Rule, place, fmt.Sprintf("commit %s: %s", v.Commit.Short(), v.Detail))
	f.Grade, f.Undecided = finding.Critical, false
	return f
}

// A Conflict is a commit after which the decisions about an item have more than
// one end, as where two branches that decided about it meet. Nothing is in force
// for the item until a decision names all ends. One that arose in commits that were
// not judged, being covered by the cache or before a checkpoint, stands at the last
// of those.
type Conflict struct {
	Commit gitrepo.Hash `json:"commit"`
	Item   surface.Key  `json:"item"`
	Detail string       `json:"detail"`
	Open   bool         `json:"open"` // it is so at the head; not told beside a violation
}

// A Checkpoint is the commit that the trust list says to judge from. What lies
// before is reported and not judged.
type Checkpoint struct {
	Commit   gitrepo.Hash     `json:"commit"`
	Lockfile canonical.Digest `json:"lockfile"` // SHA-256 of the lockfile in it
	Reason   string           `json:"reason"`
	Version  int              `json:"version"` // the trust version that carries it
	Commits  int              `json:"commits"` // before it, and itself
	// Violations are the rules that commits before it break, at most
	// [MaxViolations].
	Violations []*Violation `json:"violations"`
}

// MaxViolations bounds the violations that are listed before a checkpoint.
const MaxViolations = 20

// A Report is the result of [Verify].
type Report struct {
	// Head is the commit that was verified: the one to record.
	Head gitrepo.Hash `json:"head"`
	// Violation is the first that breaks a rule, every commit being judged after
	// its parents; nil where all hold. Counts go up to it.
	Violation *Violation `json:"violation,omitempty"`

	Commits       int `json:"commits"`       // with a trust list
	Unjudged      int `json:"unjudged"`      // from before there was one
	Lockfiles     int `json:"lockfiles"`     // different ones
	Decisions     int `json:"decisions"`     // different ones
	TrustVersions int `json:"trustVersions"` // in force at the head
	Skipped       int `json:"skipped"`       // commits that the cache covers

	// Trust is the digest of the newest trust version at the head, and Pinned says
	// that it was verified from a trust root.
	Trust  canonical.Digest `json:"trust"`
	Pinned bool             `json:"pinned"`

	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Conflicts  []Conflict  `json:"conflicts"`
	// Facts tell of each commit that changed a judged file who signed it.
	Facts []CommitFacts `json:"commitFacts"`

	// Cache makes the next run over the same history shorter; nil where a rule is
	// broken.
	Cache *Cache `json:"-"`
}

// Holds reports whether no commit breaks a rule. Conflicts may be open all the same.
func (r *Report) Holds() bool { return r.Violation == nil }

// Findings tells the report as findings: the violation, and conflicts that are
// open.
func (r *Report) Findings() []finding.Finding {
	var findings []finding.Finding
	if r.Violation != nil {
		findings = append(findings, r.Violation.Finding())
	}
	for _, c := range r.Conflicts {
		if c.Open {
			findings = append(findings, finding.New(finding.DecisionForked, finding.PlaceOf(c.Item), fmt.Sprintf("since commit %s: %s", c.Commit.Short(), c.Detail)))
		}
	}
	return findings
}
