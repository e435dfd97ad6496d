package trust

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/sshsig"
)

// A File is one file of the trust folder: its number, from its name (see
// [ParseVersionPath]), and its bytes.
type File struct {
	Number int
	Data   []byte
}

// A Chain is a verified sequence of trust versions. It is immutable and safe for
// concurrent use.
type Chain struct {
	links   []link
	waiting *Waiting
	root    canonical.Digest // zero where none was given
	persons map[string]string
}

// link is one version with what is looked up in it.
type link struct {
	version *Version
	digest  canonical.Digest
	signers map[string]*Signer // by key
}

// Person returns the person whom a name, principal or email identifies in any
// version, by the newest that lists it; empty for nobody. A nil chain lists nobody.
func (c *Chain) Person(name string) string {
	if c == nil {
		return ""
	}
	return c.persons[PlainEmail(name)]
}

// SelfApproval reports whether proposers may approve under the newest version: by
// its rule, or because nobody else is listed.
func (c *Chain) SelfApproval() bool { return c.Current().Signed.selfApproval() }

// allPersons maps what identifies somebody to the person.
func (c *Chain) allPersons() map[string]string {
	persons := map[string]string{}
	for i := range c.links {
		for k := range c.links[i].version.Signed.Signers {
			s := &c.links[i].version.Signed.Signers[k]
			persons[PlainEmail(s.Person)] = s.Person
			persons[PlainEmail(s.Principal)] = s.Person
			for _, email := range s.Emails {
				persons[PlainEmail(email)] = s.Person
			}
		}
	}
	return persons
}

// A Waiting version has not met its thresholds; everything goes on under the one
// before it.
type Waiting struct {
	Version *Version
	Digest  canonical.Digest
	Missing []Quorum
}

// A Quorum is a number of admins of one version who must sign, and have not.
type Quorum struct {
	Version int      // whose admins
	Need    int      // different persons
	Have    []string // persons who have signed
	Could   []string // persons who could
}

// LoadChain verifies the trust versions of a repository, in any order. With a
// root, verification starts at the version of that digest, which the chain must
// hold: of the versions before it, only form and linkage are judged. Without one
// it starts at version 1, on its first use. A nil chain without an error means
// that there is no trust list; with a root that is an error. A nil verifier
// means [SSH]. Every error is a [*ChainError].
func LoadChain(files []File, root *canonical.Digest, v Verifier) (*Chain, error) {
	if len(files) == 0 {
		if root != nil {
			return nil, &ChainError{Rule: RuleNoList, Detail: fmt.Sprintf("the trust root is %s, and there is no trust version", root.Short()),
				Advice: "restore the folder .agentgateway/trust with git"}
		}
		return nil, nil
	}
	if len(files) > MaxVersions {
		return nil, &ChainError{Rule: RuleLength, Detail: fmt.Sprintf("there are %d versions; the limit is %d", len(files), MaxVersions), Advice: hintRestoreTrust}
	}
	if v == nil {
		v = SSH{}
	}
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Number, b.Number) })
	c := &Chain{links: make([]link, 0, len(files))}
	for i := range files {
		if err := c.read(i+1, &files[i]); err != nil {
			return nil, err
		}
	}
	start := 0
	if root != nil {
		c.root = *root
		if start = c.index(*root); start < 0 {
			return nil, c.noRoot("no version has this digest")
		}
	}
	if err := c.verify(start, v); err != nil {
		return nil, err
	}
	if root != nil && c.index(*root) < 0 {
		return nil, c.noRoot(fmt.Sprintf("version %d has this digest and waits for signatures", c.waiting.Version.Signed.Version))
	}
	c.persons = c.allPersons()
	return c, nil
}

const hintRestoreTrust = "restore the folder .agentgateway/trust with git"

func (c *Chain) noRoot(detail string) error {
	return &ChainError{Rule: RuleRoot, Detail: fmt.Sprintf("the trust root is %v: %s", c.root, detail),
		Advice: "compare the trust root with the one your team pins; a list that does not hold it is another list"}
}

// read adds the file that must hold version n, by form and linkage.
func (c *Chain) read(n int, f *File) error {
	fail := func(rule Rule, hint, format string, args ...any) error {
		return &ChainError{Rule: rule, Version: f.Number, Detail: fmt.Sprintf(format, args...), Advice: hint}
	}
	switch {
	case f.Number < n:
		return fail(RuleForked, hintRestoreTrust, "two files have this number")
	case f.Number > n:
		return fail(RuleSkipped, hintRestoreTrust, "version %d is missing", n)
	}
	v, err := ParseVersion(f.Data)
	if err != nil {
		fe, _ := errors.AsType[*FormatError](err)
		return &ChainError{Rule: fe.Rule, Version: n, Detail: fe.Error(), Advice: "restore the file with git, or make the version again with agentgateway trust", Err: err}
	}
	if v.Signed.Version != n {
		return fail(RuleNumber, "versions are made with agentgateway trust, never copied", "the file says that it is version %d", v.Signed.Version)
	}
	if n > 1 {
		before := &c.links[n-2]
		if v.Signed.Previous != before.digest {
			return fail(RuleForked, "of two changes made side by side only one can stay: make the other again on top of it",
				"it follows a version %s, and the version before it is %s", v.Signed.Previous.Short(), before.digest.Short())
		}
		if v.Signed.Repository != before.version.Signed.Repository {
			return fail(RuleRepository, hintRestoreTrust, "it is of another repository than the version before it")
		}
	}
	c.links = append(c.links, newLink(v))
	return nil
}

func newLink(v *Version) link {
	signers := make(map[string]*Signer, len(v.Signed.Signers))
	for i := range v.Signed.Signers {
		for _, key := range v.Signed.Signers[i].Keys {
			signers[key] = &v.Signed.Signers[i]
		}
	}
	return link{v, v.Signed.Digest(), signers}
}

// isAdmin reports whether a version lists a key for an admin.
func (s *Signed) isAdmin(key string) bool {
	return slices.ContainsFunc(s.Signers, func(signer Signer) bool {
		return slices.Contains(signer.Keys, key) && signer.Has(Admin)
	})
}

// verify judges the signatures of the links from start on, and cuts the chain
// before the first that waits for more.
func (c *Chain) verify(start int, v Verifier) error {
	for i := start; i < len(c.links); i++ {
		missing, err := c.missing(i, v)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			continue
		}
		l := &c.links[i]
		if i == 0 {
			return &ChainError{Rule: RuleUnsigned, Version: 1, Detail: "it has too few signatures of its own admins", Advice: "sign it with agentgateway trust sign"}
		}
		if i+1 < len(c.links) {
			return &ChainError{Rule: RuleAfter, Version: i + 2, Detail: fmt.Sprintf("it follows version %d, which waits for signatures", i+1),
				Advice: "sign the version before it with agentgateway trust sign, or remove this one"}
		}
		c.waiting = &Waiting{l.version, l.digest, missing}
		c.links = c.links[:i]
	}
	return nil
}

// missing verifies the signatures of link i and tells what it lacks.
func (c *Chain) missing(i int, v Verifier) ([]Quorum, error) {
	l := &c.links[i]
	if len(l.version.Signatures) == 0 {
		return c.quorums(i, nil), nil
	}
	keys, err := verifyAll(v, l.version.Signed.Canonical(), l.version.Signatures, sshsig.NamespaceTrust)
	if err != nil {
		return nil, &ChainError{Rule: RuleSignature, Version: i + 1, Detail: err.Error(), Advice: "restore the file with git", Err: err}
	}
	for _, key := range keys {
		if !l.admin(key) && (i == 0 || !c.links[i-1].admin(key)) {
			return nil, &ChainError{Rule: RuleUnlisted, Version: i + 1, Detail: fmt.Sprintf("signed by the key %s, which is no admin's in it or in the version before", fingerprint(key)),
				Advice: "a version is signed by admins alone: restore the file with git"}
		}
	}
	return c.quorums(i, keys), nil
}

func (l *link) admin(key string) bool {
	s := l.signers[key]
	return s != nil && s.Has(Admin)
}

// quorums tells which thresholds the keys do not meet: of the version before
// link i, and its own.
func (c *Chain) quorums(i int, keys []string) []Quorum {
	var missing []Quorum
	for _, l := range c.links[max(0, i-1) : i+1] {
		have, could := map[string]bool{}, map[string]bool{}
		for key, s := range l.signers {
			switch {
			case !s.Has(Admin):
			case slices.Contains(keys, key):
				have[s.Person] = true
			default:
				could[s.Person] = true
			}
		}
		maps.DeleteFunc(could, func(person string, _ bool) bool { return have[person] })
		if need := l.version.Signed.Thresholds.Admin; len(have) < need {
			missing = append(missing, Quorum{l.version.Signed.Version, need, slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(could))})
		}
	}
	return missing
}

// index returns where the version of that digest stands among the links, or -1.
func (c *Chain) index(d canonical.Digest) int {
	return slices.IndexFunc(c.links, func(l link) bool { return l.digest == d })
}

// Current is the newest version in force.
func (c *Chain) Current() *Version { return c.current().version }

func (c *Chain) current() *link { return &c.links[len(c.links)-1] }

// Digest is the digest of the newest version in force: the trust root to pin.
func (c *Chain) Digest() canonical.Digest { return c.current().digest }

// Repository is the number of the repository the chain belongs to.
func (c *Chain) Repository() canonical.Digest { return c.links[0].version.Signed.Repository }

// Len is the number of versions in force.
func (c *Chain) Len() int { return len(c.links) }

// Version returns version n with its digest; nil where it is not in force.
func (c *Chain) Version(n int) (*Version, canonical.Digest) {
	if n < 1 || n > len(c.links) {
		return nil, canonical.Digest{}
	}
	return c.links[n-1].version, c.links[n-1].digest
}

// At returns the version of that digest; nil where the chain in force does not
// hold it.
func (c *Chain) At(d canonical.Digest) *Version {
	if i := c.index(d); i >= 0 {
		return c.links[i].version
	}
	return nil
}

// Contains reports whether the chain in force holds the version of that digest.
func (c *Chain) Contains(d canonical.Digest) bool { return c.index(d) >= 0 }

// Pinned reports whether the chain was verified from a trust root.
func (c *Chain) Pinned() bool { return !c.root.IsZero() }

// Waiting returns the version that waits for signatures, or nil.
func (c *Chain) Waiting() *Waiting { return c.waiting }

// Signer returns who the newest version lists for a key as "type base64"; nil for
// nobody.
func (c *Chain) Signer(key string) *Signer { return c.current().signers[key] }

// SignerByPrincipal returns who the newest version lists under a principal; nil
// for nobody.
func (c *Chain) SignerByPrincipal(principal string) *Signer {
	signers := c.Current().Signed.Signers
	i, ok := slices.BinarySearchFunc(signers, principal, func(s Signer, p string) int { return cmp.Compare(s.Principal, p) })
	if !ok {
		return nil
	}
	return &signers[i]
}
