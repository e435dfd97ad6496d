package trust

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
)

// VersionType is the type of a trust version.
const VersionType = "agentgateway-trust/v1"

// A Role is what a signer may sign.
type Role string

// The roles.
const (
	Admin    Role = "admin"    // trust versions
	Approver Role = "approver" // decisions
	Deployer Role = "deployer" // the lockfile as a whole
)

// A Signer is one entry of the list: a name that keys sign under, and the person
// behind it. Several signers may be one person, who counts once.
type Signer struct {
	Principal string   // one literal lower-case name, as in allowed_signers
	Person    string   // who it is; what is counted
	Emails    []string // further ones that the person's commits bear, in lower case, sorted; mostly none
	Keys      []string // "type base64", sorted; one or more
	Roles     []Role   // sorted; one or more
	Servers   []string // patterns of servers and targets, sorted; empty for all
}

// Has reports whether the signer has a role.
func (s *Signer) Has(role Role) bool { return slices.Contains(s.Roles, role) }

// Thresholds say how many different persons must agree.
type Thresholds struct {
	Approve  int // an approval
	Critical int // of a source, or of a change graded critical; Approve where that is more
	Admin    int // the next trust version
}

// Rules are what else a version decides.
type Rules struct {
	AllowSelfApproval    bool  // proposers may approve, whoever else is listed
	Enforced             bool  // a gateway hides what is rejected, so the gate lets it pass
	NewItemsCritical     bool  // what has never been in force is graded critical
	MaxAge               int64 // seconds after which the gate asks for a fresh approval; 0 for none
	RequireSignedCommits bool  // the audit asks for signed commits
}

// A Checkpoint is a commit that an audit judges from, because one before it
// breaks a rule.
type Checkpoint struct {
	Commit   string           // 40 or 64 hexadecimal digits
	Lockfile canonical.Digest // SHA-256 of the lockfile's bytes in that commit
	Reason   string
}

// Signed is what the signatures of a version are over.
type Signed struct {
	Version    int              // from 1
	Repository canonical.Digest // 32 random bytes drawn at version 1
	Previous   canonical.Digest // the digest of the version before; zero for version 1
	Signers    []Signer         // sorted by principal; one or more
	Thresholds Thresholds
	Rules      Rules
	Stands     []canonical.Digest // ids of decisions that go on counting, sorted
	Checkpoint *Checkpoint        // nil for none
}

// A Version is one trust version.
type Version struct {
	Signed     Signed
	Signatures [][]byte // SSHSIG blobs, sorted by key
}

// VersionPath is where version n stands, from the folder that holds
// .agentgateway.
func VersionPath(n int) string { return VersionFolder + "/" + strconv.Itoa(n) + ".json" }

// AllowedSignersPath is where the derived allowed_signers file stands.
const AllowedSignersPath = ".agentgateway/allowed_signers"

// VersionFolder is where trust versions are, from the folder that holds
// .agentgateway. It holds nothing else.
const VersionFolder = lockfile.Folder + "/trust"

// ParseVersionPath returns the number of the version that stands at path; ok is
// false where none can.
func ParseVersionPath(path string) (n int, ok bool) {
	name, ok := strings.CutPrefix(path, VersionFolder+"/")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
	return n, err == nil && n > 0 && path == VersionPath(n)
}

const versionSubject = "trust version"

// ParseVersion reads a trust version: its form, and everything that one version
// can say of itself (thresholds that can be met, keys listed once). It does not
// verify signatures: see [LoadChain]. The error is a [*FormatError].
func ParseVersion(src []byte) (*Version, error) {
	v := &Version{}
	raw, err := readWhole(versionSubject, src, MaxVersionSize, "signed", func(p *parser) error { return p.signed(&v.Signed) }, &v.Signatures)
	if err != nil {
		return nil, err
	}
	if err := v.Signed.Check(); err != nil {
		return nil, err
	}
	return v, sameForm(versionSubject, raw, v.Signed.Canonical())
}

func (p *parser) signed(s *Signed) error {
	var version int64
	err := p.object(
		field{"type", p.literal(VersionType)},
		field{"version", p.integer(&version, 1, MaxVersions)},
		field{"repository", p.digest(&s.Repository, false)},
		field{"previous", p.digest(&s.Previous, true)},
		field{"signers", func() error {
			s.Signers = []Signer{}
			return p.array(MaxSigners, func() error {
				s.Signers = append(s.Signers, Signer{})
				return p.signer(&s.Signers[len(s.Signers)-1])
			})
		}},
		field{"thresholds", func() error { return p.thresholds(&s.Thresholds) }},
		field{"rules", func() error { return p.rules(&s.Rules) }},
		field{"stands", p.digests(&s.Stands, MaxStands)},
		field{"checkpoint", func() error { return p.checkpoint(&s.Checkpoint) }},
	)
	s.Version = int(version)
	return err
}

func (p *parser) signer(s *Signer) error {
	var roles []string
	err := p.objectWith([]field{{"emails", p.texts(&s.Emails, MaxEmails, maxName)}},
		field{"principal", p.text(&s.Principal, maxName)},
		field{"person", p.text(&s.Person, maxName)},
		field{"keys", p.texts(&s.Keys, MaxKeys, maxKeyText)},
		field{"roles", p.texts(&roles, 3, maxName)},
		field{"servers", p.texts(&s.Servers, MaxPatterns, maxName)},
	)
	s.Roles = make([]Role, len(roles))
	for i, r := range roles {
		s.Roles[i] = Role(r)
	}
	return err
}

func (p *parser) thresholds(t *Thresholds) error {
	var approve, critical, admin int64
	const low, high = -1 << 31, 1<<31 - 1 // what is out of reach is judged with its own rule
	err := p.object(
		field{"approve", p.integer(&approve, low, high)},
		field{"critical", p.integer(&critical, low, high)},
		field{"admin", p.integer(&admin, low, high)},
	)
	*t = Thresholds{Approve: int(approve), Critical: int(critical), Admin: int(admin)}
	return err
}

// newItemsCritical is the one value of the rule newItems.
const newItemsCritical = "critical"

func (p *parser) rules(r *Rules) error {
	newItems := field{"newItems", func() error {
		r.NewItemsCritical = true
		return p.literal(newItemsCritical)()
	}}
	return p.objectWith([]field{newItems},
		field{"allowSelfApproval", p.flag(&r.AllowSelfApproval)},
		field{"enforced", p.flag(&r.Enforced)},
		field{"maxAge", p.integer(&r.MaxAge, 0, maxTime)},
		field{"requireSignedCommits", p.flag(&r.RequireSignedCommits)},
	)
}

func (p *parser) checkpoint(into **Checkpoint) error {
	if null, err := p.r.Null(); null || err != nil {
		return err
	}
	c := &Checkpoint{}
	*into = c
	return p.object(
		field{"commit", p.text(&c.Commit, 64)},
		field{"lockfile", p.digest(&c.Lockfile, false)},
		field{"reason", p.text(&c.Reason, maxReason)},
	)
}

func (s *Signed) write() *writer {
	w := &writer{}
	w.open("", '{')
	w.text("type", VersionType)
	w.integer("version", int64(s.Version))
	w.digest("repository", s.Repository)
	w.digest("previous", s.Previous)
	w.open("signers", '[')
	for i := range s.Signers {
		w.signer(&s.Signers[i])
	}
	w.close(']')
	w.open("thresholds", '{')
	w.integer("approve", int64(s.Thresholds.Approve))
	w.integer("critical", int64(s.Thresholds.Critical))
	w.integer("admin", int64(s.Thresholds.Admin))
	w.close('}')
	w.open("rules", '{')
	w.flag("allowSelfApproval", s.Rules.AllowSelfApproval)
	w.flag("enforced", s.Rules.Enforced)
	w.integer("maxAge", s.Rules.MaxAge)
	if s.Rules.NewItemsCritical {
		w.text("newItems", newItemsCritical)
	}
	w.flag("requireSignedCommits", s.Rules.RequireSignedCommits)
	w.close('}')
	w.digests("stands", s.Stands)
	if c := s.Checkpoint; c == nil {
		w.name("checkpoint")
		w.dst = append(w.dst, "null"...)
	} else {
		w.open("checkpoint", '{')
		w.text("commit", c.Commit)
		w.digest("lockfile", c.Lockfile)
		w.text("reason", c.Reason)
		w.close('}')
	}
	w.close('}')
	return w
}

func (w *writer) signer(s *Signer) {
	w.open("", '{')
	w.text("principal", s.Principal)
	w.text("person", s.Person)
	if len(s.Emails) > 0 {
		w.texts("emails", s.Emails)
	}
	w.texts("keys", s.Keys)
	w.open("roles", '[')
	for _, r := range s.Roles {
		w.text("", string(r))
	}
	w.close(']')
	w.texts("servers", s.Servers)
	w.close('}')
}

// Canonical returns the canonical form, which is what is signed.
func (s *Signed) Canonical() []byte { return s.write().canonical() }

// Digest identifies the version; pinned outside the repository it is a trust
// root.
func (s *Signed) Digest() canonical.Digest { return canonical.Sum(s.Canonical()) }

// Format returns the bytes of the version's file.
func (v *Version) Format() []byte { return v.Signed.write().file("signed", v.Signatures) }

// fail is an error of Check.
func (s *Signed) fail(rule Rule, path, format string, args ...any) error {
	return &FormatError{Subject: versionSubject, Rule: rule, Path: path, Detail: fmt.Sprintf(format, args...)}
}
