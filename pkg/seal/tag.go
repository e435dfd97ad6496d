package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/sshsig"
)

const (
	hintRestoreTag = "fetch the tag again from where it was made, or have a deployer seal the lockfile under a new name"
	hintNoTrust    = "make a trust list with agentgateway trust init, or require no seal"
)

// TagOptions say what tag to make.
type TagOptions struct {
	Name    string       // after refs/tags/, such as lock/v1
	Commit  gitrepo.Hash // what is sealed: the lockfile of this commit
	Folder  string       // that holds .agentgateway, from the root of the repository
	Path    string       // of the lockfile, from Folder, with slashes
	Subject string       // the first line of the message; empty for "Seal PATH"
	SignOptions
}

// SignTag makes an annotated tag that seals the lockfile of a commit, and returns
// what [Verify] makes of it. Everything that Verify would refuse is refused before
// anything is signed.
func SignTag(ctx context.Context, repo *gitrepo.Repo, opts TagOptions) (*Sealed, error) {
	s, err := Commit(ctx, repo, opts.Commit, OriginTag, opts.Folder, opts.Path)
	if err != nil {
		return nil, err
	}
	s.name = "tag " + opts.Name
	out, err := s.sealable(opts.SignOptions)
	if err != nil {
		return nil, err
	}
	if opts.Subject == "" {
		opts.Subject = "Seal " + out.Path
	}
	message := TagMessage(canonical.Sum(out.Lockfile), out.Chain.Digest(), opts.Subject)
	if _, _, detail := parseTagMessage([]byte(message)); detail != "" {
		return nil, s.fail(RuleTagMessage, "give the tag another subject", nil, "%s", detail)
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
	made, err := Tag(ctx, repo, gitrepo.TagsPrefix+opts.Name, opts.Folder, opts.Path)
	if err != nil {
		return nil, err
	}
	return Verify(made, Options{Require: RequireTag, Root: opts.Root, Known: out.Ledger, Verifier: opts.Verifier})
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

// readTag reads a tag that is annotated, named as its reference and about a commit.
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
	return tag, at.ID, nil
}
