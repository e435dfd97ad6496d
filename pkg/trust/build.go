package trust

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/textcheck"
)

// Init makes version 1 of a trust list, unsigned, of one signer who is admin and
// approver unless roles are given. repository is 32 random bytes.
func Init(repository canonical.Digest, signer Signer) (*Version, error) {
	if len(signer.Roles) == 0 {
		signer.Roles = []Role{Admin, Approver}
	}
	s := Signed{Version: 1, Repository: repository, Thresholds: Thresholds{1, 1, 1}}
	if err := Add(signer)(&s); err != nil {
		return nil, err
	}
	return s.finish()
}

// A Change edits a copy of the newest version to make the next.
type Change func(*Signed) error

// Next makes the version after the newest one, unsigned. While a version waits for
// signatures there is no next one. The error is a [*FormatError] where the
// result could not be a version, such as a threshold nobody can meet any more.
func (c *Chain) Next(changes ...Change) (*Version, error) {
	if w := c.waiting; w != nil {
		n := w.Version.Signed.Version
		return nil, &ChainError{Rule: RuleAfter, Version: n + 1, Detail: fmt.Sprintf("version %d waits for signatures", n),
			Advice: fmt.Sprintf("sign it with agentgateway trust sign, or remove %s", VersionPath(n))}
	}
	s := c.Current().Signed.clone()
	s.Version++
	s.Previous = c.Digest()
	s.Checkpoint = nil
	for _, change := range changes {
		if err := change(&s); err != nil {
			return nil, err
		}
	}
	return s.finish()
}

func (s *Signed) clone() Signed {
	out := *s
	out.Stands = slices.Clone(s.Stands)
	out.Signers = make([]Signer, len(s.Signers))
	for i, signer := range s.Signers {
		signer.Keys, signer.Roles, signer.Servers = slices.Clone(signer.Keys), slices.Clone(signer.Roles), slices.Clone(signer.Servers)
		signer.Emails = slices.Clone(signer.Emails)
		out.Signers[i] = signer
	}
	return out
}

// finish puts the lists in order and checks the whole.
func (s *Signed) finish() (*Version, error) {
	for i := range s.Signers {
		signer := &s.Signers[i]
		signer.Keys = ordered(signer.Keys, cmp.Compare)
		signer.Roles = ordered(signer.Roles, cmp.Compare)
		signer.Servers = ordered(signer.Servers, cmp.Compare)
		if len(signer.Emails) > 0 {
			signer.Emails = ordered(signer.Emails, cmp.Compare)
		}
	}
	slices.SortFunc(s.Signers, func(a, b Signer) int { return cmp.Compare(a.Principal, b.Principal) })
	s.Stands = ordered(s.Stands, compareDigests)
	if err := s.Check(); err != nil {
		return nil, err
	}
	return &Version{Signed: *s, Signatures: [][]byte{}}, nil
}

// ordered returns list sorted, each element once; never nil.
func ordered[E comparable](list []E, order func(a, b E) int) []E {
	list = append([]E{}, list...)
	slices.SortFunc(list, order)
	return slices.Compact(list)
}

// Add lists a signer. Where the principal is listed already, keys and emails are
// added to its own, and roles and server patterns that are given replace its own; the
// person stays. Without a person the principal names it; without roles a new
// signer is an approver.
func Add(signer Signer) Change {
	return func(s *Signed) error {
		for i := range s.Signers {
			if s.Signers[i].Principal == signer.Principal {
				return s.extend(&s.Signers[i], &signer)
			}
		}
		signer.Person = cmp.Or(signer.Person, signer.Principal)
		signer.Keys, signer.Emails = slices.Clone(signer.Keys), slices.Clone(signer.Emails) // later changes edit them
		if len(signer.Roles) == 0 {
			signer.Roles = []Role{Approver}
		}
		s.Signers = append(s.Signers, signer)
		return nil
	}
}

func (s *Signed) extend(there, added *Signer) error {
	if added.Person != "" && added.Person != there.Person {
		return s.fail(RulePerson, "", "%s is listed as the person %s, not %s; remove it first", there.Principal, textcheck.Quote(there.Person, textcheck.QuoteLength), textcheck.Quote(added.Person, textcheck.QuoteLength))
	}
	there.Keys = append(there.Keys, added.Keys...)
	there.Emails = append(there.Emails, added.Emails...)
	if len(added.Roles) > 0 {
		there.Roles = added.Roles
	}
	if len(added.Servers) > 0 {
		there.Servers = added.Servers
	}
	return nil
}

// Remove takes out a principal with all its keys, or one key, named as "type
// base64" or by its SHA256:… fingerprint. The last key takes its principal along.
func Remove(name string) Change {
	return func(s *Signed) error {
		if i := slices.IndexFunc(s.Signers, func(signer Signer) bool { return signer.Principal == name }); i >= 0 {
			s.Signers = slices.Delete(s.Signers, i, i+1)
			return nil
		}
		for i := range s.Signers {
			keys := s.Signers[i].Keys
			k := slices.IndexFunc(keys, func(key string) bool { return key == name || fingerprint(key) == name })
			if k < 0 {
				continue
			}
			s.Signers[i].Keys = slices.Delete(keys, k, k+1)
			if len(keys) == 1 {
				s.Signers = slices.Delete(s.Signers, i, i+1)
			}
			return nil
		}
		return s.fail(RuleUnlisted, "", "%s is neither a principal nor a key of the newest version", textcheck.Quote(name, textcheck.QuoteLength))
	}
}

// Stand makes decisions of those ids go on counting, and drop ends it for others;
// see [State.Stands].
func Stand(add, drop []canonical.Digest) Change {
	return func(s *Signed) error {
		s.Stands = slices.DeleteFunc(append(s.Stands, add...), func(id canonical.Digest) bool { return slices.Contains(drop, id) })
		return nil
	}
}

// SetCheckpoint makes an audit judge from a commit; it is of this version alone.
func SetCheckpoint(c Checkpoint) Change {
	return func(s *Signed) error {
		s.Checkpoint = &c
		return nil
	}
}

// Set changes one setting: threshold.approve, threshold.critical or
// threshold.admin to a number, maxAge to an age such as 90d, 12h or 0, newItems to
// critical or warning, allowSelfApproval, enforced or requireSignedCommits to true or false.
func Set(name, value string) Change {
	return func(s *Signed) error {
		t, r := &s.Thresholds, &s.Rules
		numbers := map[string]*int{"threshold.approve": &t.Approve, "threshold.critical": &t.Critical, "threshold.admin": &t.Admin}
		flags := map[string]*bool{"allowSelfApproval": &r.AllowSelfApproval, "enforced": &r.Enforced, "requireSignedCommits": &r.RequireSignedCommits}
		var err error
		switch number, flag := numbers[name], flags[name]; {
		case number != nil:
			*number, err = strconv.Atoi(value)
		case flag != nil && (value == "true" || value == "false"):
			*flag = value == "true"
		case name == "maxAge":
			r.MaxAge, err = parseAge(value)
		case name == "newItems" && (value == newItemsCritical || value == newItemsWarning):
			r.NewItemsCritical = value == newItemsCritical
		case flag != nil, name == "newItems":
			err = strconv.ErrSyntax
		default:
			return s.fail(RuleMember, "", "%s is not a setting; the settings are threshold.approve, threshold.critical, threshold.admin, newItems, maxAge, allowSelfApproval, enforced, requireSignedCommits", textcheck.Quote(name, textcheck.QuoteLength))
		}
		if err != nil {
			return s.fail(RuleValue, "", "%s is not a value of %s", textcheck.Quote(value, textcheck.QuoteLength), name)
		}
		return nil
	}
}

// newItemsWarning is what newItems is while the rule is left out.
const newItemsWarning = "warning"

// parseAge reads days as 90d, or a duration as [time.ParseDuration] does, in whole
// seconds.
func parseAge(text string) (int64, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 20)
		return int64(n) * 24 * 60 * 60, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && (d < 0 || d%time.Second != 0) {
		err = strconv.ErrRange
	}
	return int64(d / time.Second), err
}

// Sign returns a version with one more signature: version 1 with a nil chain, else
// the one that follows the newest. It refuses a key that is no admin's, and one
// that has signed.
func (c *Chain) Sign(ctx context.Context, v *Version, key SigningKey) (*Version, error) {
	listed := v.Signed.isAdmin(key.Key())
	if c != nil {
		if v.Signed.Version != c.Len()+1 || v.Signed.Previous != c.Digest() {
			return nil, &ChainError{Rule: RuleForked, Version: v.Signed.Version, Detail: "it does not follow the newest version in force", Advice: "make it again on top of the newest"}
		}
		listed = listed || c.current().admin(key.Key())
	}
	if !listed {
		return nil, &ChainError{Rule: RuleUnlisted, Version: v.Signed.Version, Detail: fmt.Sprintf("the key %s is no admin's", fingerprint(key.Key())), Advice: "sign with the key of an admin (--ssh-key)"}
	}
	signatures, err := addSignature(ctx, key, sshsig.NamespaceTrust, v.Signed.Canonical(), v.Signatures)
	if err != nil {
		return nil, fmt.Errorf("trust version %d: %w", v.Signed.Version, err)
	}
	return &Version{Signed: v.Signed, Signatures: signatures}, nil
}

// MergeVersions returns the version with the signatures of both files, for two
// branches in which different admins signed the same version. Two different
// versions of one number are an error: only one can stay. A nil verifier means
// [SSH].
func MergeVersions(a, b *Version, v Verifier) (*Version, error) {
	message := a.Signed.Canonical()
	if string(message) != string(b.Signed.Canonical()) {
		return nil, &ChainError{Rule: RuleForked, Version: a.Signed.Version, Detail: "two branches made different versions of this number",
			Advice: "keep one of them, and make the other change again on top of it"}
	}
	if v == nil {
		v = SSH{}
	}
	signatures, err := mergeSignatures(v, message, sshsig.NamespaceTrust, a.Signatures, b.Signatures)
	if err != nil {
		return nil, fmt.Errorf("trust version %d: %w", a.Signed.Version, err)
	}
	return &Version{Signed: a.Signed, Signatures: signatures}, nil
}
