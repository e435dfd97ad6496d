package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

const (
	tagPrefix = "refs/tags/"

	hintRestoreTag = "fetch the tag again from where it was made, or have a deployer seal the lockfile under a new name"
	hintNoTrust    = "make a trust list with agentgateway trust init, or require no seal"
)

// A Sealed lockfile is one whose seal was verified.
type Sealed struct {
	Require  Require
	Path     string // of the lockfile
	Lockfile []byte
	File     *lockfile.File // what Lockfile says
	Chain    *trust.Chain   // nil where there is no trust list, which RequireTag and RequireSignature refuse
	// Signer is the deployer's principal, or the identity of a Sigstore seal; empty
	// for RequireNone.
	Signer      string
	Fingerprint string // of the deployer's key; empty for another seal

	Ref    string       // of a tag: refs/tags/…
	Tag    gitrepo.Hash // the tag object
	Commit gitrepo.Hash
}

// TagOptions say what tag to make.
type TagOptions struct {
	Name    string            // after refs/tags/, such as lock/v1
	Commit  gitrepo.Hash      // what is sealed: the lockfile of this commit
	Path    string            // of the lockfile in the commit, with slashes
	Root    *canonical.Digest // the trust root, where one is pinned
	Subject string            // the first line of the message; empty for "Seal PATH"
	Signer  sshsig.Signer     // of a listed deployer
}

// SignTag makes an annotated tag that seals the lockfile of a commit, and returns
// it as VerifyTag does. Everything that VerifyTag would refuse is refused before
// anything is signed.
func SignTag(ctx context.Context, repo *gitrepo.Repo, opts TagOptions) (*Sealed, error) {
	subject := "tag " + opts.Name
	c, err := readCommit(ctx, repo, opts.Commit, subject, opts.Path, opts.Root)
	if err != nil {
		return nil, err
	}
	if c.chain == nil {
		return nil, c.noTrust()
	}
	if _, err := listed(subject, opts.Signer.PublicKey(), ByTrust(c.chain)); err != nil {
		return nil, err
	}
	if opts.Subject == "" {
		opts.Subject = "Seal " + opts.Path
	}
	message := TagMessage(canonical.Sum(c.bytes), c.chain.Digest(), opts.Subject)
	if _, _, detail := parseTagMessage([]byte(message)); detail != "" {
		return nil, &Error{RuleTagMessage, subject, detail, "give the tag another subject", nil}
	}
	_, err = repo.SignedTag(ctx, gitrepo.TagOptions{Name: opts.Name, Target: opts.Commit, Message: message,
		Sign: func(ctx context.Context, payload []byte) ([]byte, error) {
			s, err := sshsig.Sign(ctx, opts.Signer, sshsig.NamespaceGit, payload)
			if err != nil {
				return nil, err
			}
			return s.Armor(), nil
		}})
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return VerifyTag(ctx, repo, tagPrefix+opts.Name, opts.Path, opts.Root)
}

// VerifyTag verifies that the tag of the full name ref ("refs/tags/…") seals the
// lockfile at path in the commit it points to, by a deployer of the newest trust
// version in that commit. The trust chain is verified from root, where one is
// given. A seal that does not hold is an [*Error]; a repository that cannot be
// read is an error of pkg/gitrepo.
func VerifyTag(ctx context.Context, repo *gitrepo.Repo, ref, path string, root *canonical.Digest) (*Sealed, error) {
	name, ok := strings.CutPrefix(ref, tagPrefix)
	if !ok {
		return nil, &Error{RuleTagName, "tag " + quote(ref), "it is not the full name of a tag", "name it as refs/tags/NAME", nil}
	}
	subject := "tag " + name
	tag, id, err := readTag(ctx, repo, subject, ref)
	if err != nil {
		return nil, err
	}
	c, err := readCommit(ctx, repo, tag.Target, subject, path, root)
	if err != nil {
		return nil, err
	}
	if c.chain == nil {
		return nil, c.noTrust()
	}
	signer, err := verify(subject, tag.Payload, tag.Signature, sshsig.NamespaceGit, ByTrust(c.chain))
	if err != nil {
		return nil, err
	}
	if err := c.matches(tag.Message); err != nil {
		return nil, err
	}
	s := c.sealed(RequireTag)
	s.Signer, s.Fingerprint = signer.Principal, signer.Fingerprint
	s.Ref, s.Tag, s.Commit = ref, id, tag.Target
	return s, nil
}

// tagRules maps what pkg/gitrepo refuses in a tag; anything else is malformed.
var tagRules = map[string]Rule{
	"symbolic":             RuleTagSymbolic,
	"lightweight":          RuleTagLightweight,
	"renamed":              RuleTagName,
	"target":               RuleTagTarget,
	"text-after-signature": RuleTagTrailingText,
	"second-signature":     RuleTagSecond,
}

// readTag reads a tag that is annotated, signed, named as its reference and about
// a commit.
func readTag(ctx context.Context, repo *gitrepo.Repo, subject, ref string) (*gitrepo.Tag, gitrepo.Hash, error) {
	at, err := repo.Reference(ctx, ref)
	if errors.Is(err, gitrepo.ErrNotFound) {
		return nil, gitrepo.Hash{}, &Error{RuleMissing, subject, "there is no such tag", "fetch the tags, or make it with agentgateway seal --tag", err}
	} else if err != nil {
		return nil, gitrepo.Hash{}, err
	}
	tag, _, err := repo.AnnotatedTag(ctx, ref)
	if malformed, ok := errors.AsType[*gitrepo.FormatError](err); ok {
		rule, known := tagRules[malformed.Rule]
		if !known {
			rule = RuleTagMalformed
		}
		return nil, gitrepo.Hash{}, &Error{rule, subject, malformed.Detail, hintRestoreTag, err}
	} else if err != nil {
		return nil, gitrepo.Hash{}, err
	}
	// The reference may have been moved between the two reads.
	if same, err := repo.ReadTag(ctx, at.ID); err != nil {
		return nil, gitrepo.Hash{}, err
	} else if !bytes.Equal(same.Payload, tag.Payload) || !bytes.Equal(same.Signature, tag.Signature) {
		return nil, gitrepo.Hash{}, fmt.Errorf("%s was moved while it was read; run again", ref)
	}
	if tag.Signature == nil {
		return nil, gitrepo.Hash{}, &Error{RuleTagUnsigned, subject, "it bears no signature", hintSealAgain, nil}
	}
	return tag, at.ID, nil
}
