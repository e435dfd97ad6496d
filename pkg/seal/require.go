package seal

import (
	"fmt"
	"strings"

	"agentgateway-lock/pkg/textcheck"
)

// Require says what seal a lockfile must bear before it is used.
type Require string

// The requirements.
const (
	RequireTag       Require = "tag"       // a signed tag, see VerifyTag
	RequireSignature Require = "signature" // a detached SSH signature
	RequireSigstore  Require = "sigstore"  // a Sigstore bundle by one identity
	RequireNone      Require = "none"      // nothing: the trust chain and the decisions alone
)

// An Origin is where a lockfile is taken from.
type Origin string

// The origins.
const (
	OriginTag    Origin = "tag"    // a tag of a repository
	OriginBranch Origin = "branch" // a branch or a commit of a repository
	OriginFolder Origin = "folder" // a folder that is checked out
	OriginBundle Origin = "bundle" // a bundle file
)

// origins says which requirements an origin can meet, the default first. A
// branch has none: it moves, and nobody signs it as a whole.
var origins = map[Origin][]Require{
	OriginTag:    {RequireTag, RequireSigstore, RequireNone},
	OriginBranch: {RequireNone},
	OriginFolder: {RequireSignature, RequireSigstore, RequireNone},
	OriginBundle: {RequireSignature, RequireSigstore, RequireNone},
}

// ParseRequire reads the name of a requirement; the empty text is the empty
// Require, for [Require.For] to fill in. The error is an [*Error].
func ParseRequire(text string) (Require, error) {
	switch r := Require(text); r {
	case "", RequireTag, RequireSignature, RequireSigstore, RequireNone:
		return r, nil
	}
	return "", &Error{RuleRequire, "the requirement", textcheck.Quote(text, textcheck.QuoteLength) + " is not one of tag, signature, sigstore and none", "choose one of them", nil}
}

// For returns the requirement to hold a lockfile of that origin to: r itself, or
// for the empty one the strictest default, which is tag for a tag and signature
// for a bundle. A branch has no default: that its content is not sealed has to be
// said with none. A requirement that the origin cannot meet is an [*Error].
func (r Require) For(o Origin) (Require, error) {
	can := origins[o]
	if r == "" && o != OriginBranch && len(can) > 0 {
		return can[0], nil
	}
	names := make([]string, len(can))
	for i, c := range can {
		if c == r {
			return r, nil
		}
		names[i] = string(c)
	}
	detail := fmt.Sprintf("a %s cannot be held to %q", o, string(r))
	if r == "" {
		detail = fmt.Sprintf("a %s has no seal, and none was waived", o)
	}
	hint := "use " + strings.Join(names, ", ")
	if o == OriginBranch {
		hint = "name a signed tag, or say none: the trust chain and the decisions are judged all the same"
	}
	return "", &Error{RuleRequire, "the requirement", detail, hint, nil}
}
