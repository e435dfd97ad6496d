package audit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// A SignatureState says what the signature of a commit is worth.
type SignatureState string

// The states of a commit's signature.
const (
	SignedByListed   SignatureState = "listed"   // good, by a key of the trust list
	SignedByUnlisted SignatureState = "unlisted" // good, by another SSH key
	SignedOtherwise  SignatureState = "other"    // not an SSH signature; not judged
	BadlySigned      SignatureState = "bad"      // it does not verify
	NotSigned        SignatureState = "none"
)

// CommitFacts tell who made a commit, as far as the commit itself says. Author and
// committer are what whoever made it wrote; only a signature by a listed key is
// proof of anything.
type CommitFacts struct {
	Commit      gitrepo.Hash   `json:"commit"`
	Author      string         `json:"author"`    // the email, or the name where there is none
	Committer   string         `json:"committer"` // the same
	CoAuthors   []string       `json:"coAuthors,omitempty"`
	Time        int64          `json:"time"` // the committer's, in seconds since 1970
	Signature   SignatureState `json:"signature"`
	Fingerprint string         `json:"fingerprint,omitempty"` // of the signing key
	Principal   string         `json:"principal,omitempty"`   // of a listed key
	Person      string         `json:"person,omitempty"`      // of a listed key

	key string // "type base64"
}

// maxCoAuthors bounds the trailers that are read of one commit.
const maxCoAuthors = 64

// commitFacts reads a commit, strictly, and judges its signature by whoever signers
// lists.
func commitFacts(ctx context.Context, repo *gitrepo.Repo, id gitrepo.Hash, signers func(key string) *trust.Signer) (CommitFacts, error) {
	c, err := repo.ReadCommit(ctx, id)
	if err != nil {
		return CommitFacts{Commit: id}, err
	}
	e := CommitFacts{
		Commit: id, Author: identity(c.Author.Name, c.Author.Email), Committer: identity(c.Committer.Name, c.Committer.Email),
		CoAuthors: coAuthors(string(c.Message)), Time: c.Committer.When.Unix(), Signature: NotSigned,
	}
	if c.Signature != nil {
		e.judge(c, signers)
	}
	return e, nil
}

func (e *CommitFacts) judge(c *gitrepo.Commit, signers func(key string) *trust.Signer) {
	if !strings.HasPrefix(string(c.Signature), "-----BEGIN SSH SIGNATURE-----\n") {
		e.Signature = SignedOtherwise
		return
	}
	e.Signature = BadlySigned
	s, err := sshsig.ParseArmor(c.Signature)
	if err != nil {
		return
	}
	e.Fingerprint = s.Fingerprint()
	if sshsig.Verify(c.Payload, s, sshsig.NamespaceGit) != nil {
		return
	}
	e.Signature, e.key = SignedByUnlisted, sshsig.FormatPublicKey(s.PublicKey)
	if signer := signers(e.key); signer != nil {
		e.Signature, e.Principal, e.Person = SignedByListed, signer.Principal, signer.Person
	}
}

// maxIdentity is how much of an identity a statement can hold as a proposer.
const maxIdentity = 255

// identity is the one text for an author: the email, or the name where there is
// none, in lower case. One too long to be recorded stands as its hash.
func identity(name, email string) string {
	text := strings.TrimSpace(email)
	if text == "" {
		text = strings.TrimSpace(name)
	}
	text = strings.ToLower(strings.ToValidUTF8(text, "\uFFFD"))
	switch {
	case text == "":
		return "nobody"
	case len(text) > maxIdentity:
		return "sha256:" + canonical.SumString(text).String()
	}
	return text
}

// coAuthors reads the trailers that name further authors, wherever in the message
// they stand: one too many does no harm.
func coAuthors(message string) []string {
	const trailer = "co-authored-by:"
	var list []string
	for line := range strings.SplitSeq(message, "\n") {
		if len(line) < len(trailer) || !strings.EqualFold(line[:len(trailer)], trailer) || len(list) == maxCoAuthors {
			continue
		}
		name, rest, _ := strings.Cut(line[len(trailer):], "<")
		email, _, _ := strings.Cut(rest, ">")
		list = append(list, identity(name, email))
	}
	return list
}

// listedIn returns who the versions of a chain from number first on list for a
// key, the newest first.
func listedIn(c *trust.Chain, first int) func(key string) *trust.Signer {
	return func(key string) *trust.Signer {
		if c == nil {
			return nil
		}
		for n := c.Len(); n >= max(1, first); n-- {
			v, _ := c.Version(n)
			for i := range v.Signed.Signers {
				if slices.Contains(v.Signed.Signers[i].Keys, key) {
					return &v.Signed.Signers[i]
				}
			}
		}
		return nil
	}
}

// broken turns an error of reading a judged file into a violation; nil where the
// error means that the question could not be answered.
func broken(commit gitrepo.Hash, path string, err error) *Violation {
	v := &Violation{Commit: commit, Path: path, Detail: err.Error()}
	if e, ok := errors.AsType[*trust.ChainError](err); ok {
		v.Rule = e.Code()
		return v
	}
	if _, ok := errors.AsType[*gitrepo.FormatError](err); ok {
		v.Rule = finding.CommitInvalid
		return v
	}
	return nil
}

// fingerprint names a key that is nobody's.
func fingerprint(key string) string {
	parsed, _, err := sshsig.ParsePublicKey([]byte(key))
	if err != nil {
		return "an unreadable key"
	}
	return sshsig.Fingerprint(parsed)
}
