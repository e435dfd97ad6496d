package seal

import (
	"context"
	"errors"
	"fmt"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
)

// VerifyOptions say what a detached seal is held to.
type VerifyOptions struct {
	Require Require           // RequireSignature, RequireSigstore or RequireNone; never empty
	Root    *canonical.Digest // the trust root, where one is pinned
	// Policy and Sigstore are for RequireSigstore.
	Policy   SigstorePolicy
	Sigstore SigstoreVerifier
}

// VerifyBundle verifies what a bundle's lockfile is sealed with, and the trust
// chain inside it. With RequireNone a bundle without a trust list verifies, and
// its Chain is nil.
//
// The seal is over the lockfile alone. The lockfile names a trust version and the
// newest decision about each item by their digests, so whoever changes the rest of
// a bundle can take away from what is in force and add nothing to it.
//
// Decisions are not judged here: give them to [trust.NewLedger]. The error is an
// [*Error].
func VerifyBundle(b *Bundle, opts VerifyOptions) (*Sealed, error) {
	if err := opts.check(OriginBundle); err != nil {
		return nil, err
	}
	c, err := readContent(bundleSubject, b.Path, b.Lockfile, b.Trust, opts.Root)
	if err != nil {
		return nil, err
	}
	if opts.Require != RequireNone && b.Seal.Kind != opts.Require {
		return nil, &Error{RuleMissing, bundleSubject, fmt.Sprintf("it must bear a seal of the kind %s, and bears %s", opts.Require, b.Seal.Kind), hintSealAgain + ", then " + hintRebundle, nil}
	}
	return c.detached(b.Seal.Data, opts)
}

// VerifyCommit verifies the lockfile at path in a commit, for whatever is not
// held to the signature of a tag: with RequireSigstore the Sigstore bundle that
// the commit holds beside the lockfile, with RequireNone the trust chain alone,
// where there is one. A commit that a tag led to is of the origin OriginTag.
func VerifyCommit(ctx context.Context, repo *gitrepo.Repo, commit gitrepo.Hash, path string, origin Origin, opts VerifyOptions) (*Sealed, error) {
	if err := opts.check(origin); err != nil {
		return nil, err
	}
	subject := "commit " + commit.Short()
	c, err := readCommit(ctx, repo, commit, subject, path, opts.Root)
	if err != nil {
		return nil, err
	}
	var data []byte
	if opts.Require == RequireSigstore {
		data, _, err = repo.File(ctx, commit, path+SigstoreSuffix, MaxSigstoreSize)
		if errors.Is(err, gitrepo.ErrNotFound) {
			return nil, &Error{RuleMissing, subject, "it holds no " + quote(path+SigstoreSuffix), "make it with agentgateway seal --sigstore and commit it", err}
		} else if err != nil {
			return nil, err
		}
	}
	s, err := c.detached(data, opts)
	if err != nil {
		return nil, err
	}
	s.Commit = commit
	return s, nil
}

func (o *VerifyOptions) check(origin Origin) error {
	if o.Require == RequireTag || o.Require == "" {
		return &Error{RuleRequire, "the requirement", quote(o.Require) + " is no detached seal", "say signature, sigstore or none, or verify a tag", nil}
	}
	_, err := o.Require.For(origin)
	return err
}

// detached verifies a seal beside the lockfile or in its bundle.
func (c *content) detached(data []byte, opts VerifyOptions) (*Sealed, error) {
	s := c.sealed(opts.Require)
	switch opts.Require {
	case RequireNone:
		return s, nil
	case RequireSigstore:
		if opts.Sigstore == nil {
			return nil, &Error{RuleRequire, c.subject, "this program cannot verify Sigstore bundles", "use one that links pkg/seal/sigstore, or another seal", nil}
		}
		s.Signer = opts.Policy.Identity
		if err := opts.Sigstore.Verify(s.Lockfile, data, opts.Policy); err != nil {
			return nil, err
		}
		return s, nil
	}
	if c.chain == nil {
		return nil, c.noTrust()
	}
	signer, err := VerifySignature(s.Lockfile, data, ByTrust(s.Chain))
	if err != nil {
		return nil, err
	}
	s.Signer, s.Fingerprint = signer.Principal, signer.Fingerprint
	return s, nil
}
