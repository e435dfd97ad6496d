package seal

import (
	"context"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/trust"
)

// A Sealed lockfile is one whose seal was verified, with all that it stands for.
type Sealed struct {
	Require  Require
	Path     string // of the lockfile, from the root of the repository
	Lockfile []byte
	File     *lockfile.File // what Lockfile says
	Chain    *trust.Chain   // nil where there is no trust list, which RequireTag and RequireSignature refuse
	Versions []trust.File   // of the chain
	Ledger   *trust.Ledger  // all decisions; each verifies
	// Signer is the deployer's principal, or the identity of a Sigstore seal; empty
	// for RequireNone.
	Signer      string
	Fingerprint string // of the deployer's key; empty for another seal

	Ref    string       // of a tag: refs/tags/…
	Tag    gitrepo.Hash // the tag object
	Commit gitrepo.Hash // zero for a folder or a bundle
}

// Options say what a seal is held to.
type Options struct {
	// Require is the seal; empty for the strictest that the subject can bear.
	Require Require
	Root    *canonical.Digest // the trust root, where one is pinned
	// Seal is a detached seal that is elsewhere than beside the lockfile; nil for the
	// one there.
	Seal []byte
	// Policy and Sigstore are for RequireSigstore.
	Policy   SigstorePolicy
	Sigstore SigstoreVerifier
	// Known and Verifier are those of [trust.ReadOptions].
	Known    *trust.Ledger
	Verifier trust.Verifier
}

// Verify verifies a lockfile, the trust list and every decision beside it, and the
// seal over them. It is the one judge of seals: what it refuses is not sealed,
// bundled or served. With RequireNone no seal is looked at, and a subject without a
// trust list verifies.
//
// A detached seal is over the lockfile alone. The lockfile names a trust version and
// the newest decision about each item by their digests, so whoever changes what is
// beside it can take away from what is in force and add nothing to it.
//
// What does not hold is an [*Error]; what cannot be read is another error, and never
// a pass either.
func Verify(s *Subject, opts Options) (*Sealed, error) {
	require, err := opts.Require.For(s.origin)
	if err != nil {
		return nil, err
	}
	out, err := s.read(&opts)
	if err != nil {
		return nil, err
	}
	out.Require = require
	if out.Chain == nil && (require == RequireTag || require == RequireSignature) {
		return nil, s.noTrust()
	}
	switch require {
	case RequireTag:
		signer, err := s.tagSigner(out.Chain)
		if err != nil {
			return nil, err
		}
		out.Signer, out.Fingerprint = signer.Principal, signer.Fingerprint
		out.Ref, out.Tag = s.ref, s.tagID
		if err := out.matches(s.name, s.tag.Message); err != nil {
			return nil, err
		}
		return out, nil
	case RequireNone:
		return out, nil
	}
	data := opts.Seal
	if data == nil {
		if data, err = s.beside(require); err != nil {
			return nil, err
		}
	}
	if require == RequireSigstore {
		if err := out.sigstore(s, data, &opts); err != nil {
			return nil, err
		}
		return out, nil
	}
	signer, err := verify("the signature", out.Lockfile, data, sshsig.NamespaceLock, ByTrust(out.Chain))
	if err != nil {
		return nil, err
	}
	out.Signer, out.Fingerprint = signer.Principal, signer.Fingerprint
	return out, nil
}

func (s *Subject) noTrust() error {
	return s.fail(RuleTrust, hintNoTrust, nil, "it has no trust list, so nobody may seal")
}

// tagSigner verifies the signature of a tag.
func (s *Subject) tagSigner(chain *trust.Chain) (*Signature, error) {
	if s.tag == nil {
		return nil, s.fail(RuleMissing, "make it with agentgateway seal --tag", nil, "no tag was named")
	}
	if s.tag.Signature == nil {
		return nil, s.fail(RuleTagUnsigned, hintSealAgain, nil, "it has no signature")
	}
	return verify(s.name, s.tag.Payload, s.tag.Signature, sshsig.NamespaceGit, ByTrust(chain))
}

// sigstore verifies a Sigstore bundle over the lockfile.
func (out *Sealed) sigstore(s *Subject, data []byte, opts *Options) error {
	if opts.Sigstore == nil {
		return s.fail(RuleRequire, "use one that links pkg/seal/sigstore, or another seal", nil, "this program cannot verify Sigstore bundles")
	}
	if err := opts.Policy.Check(); err != nil {
		return err
	}
	out.Signer = opts.Policy.Identity
	return opts.Sigstore.Verify(out.Lockfile, data, opts.Policy)
}

// SignOptions say who seals, and what the seal is held to.
type SignOptions struct {
	Signer   sshsig.Signer     // of a listed deployer
	Root     *canonical.Digest // the trust root, where one is pinned
	Verifier trust.Verifier    // see [trust.ReadOptions]
}

// Sign returns the detached seal of a lockfile: the armored signature over its bytes
// in the namespace agentgateway-lock@v1, as ssh-keygen -Y sign makes it. Everything
// that [Verify] would refuse is refused before anything is signed.
func Sign(ctx context.Context, s *Subject, opts SignOptions) ([]byte, error) {
	out, err := s.sealable(opts)
	if err != nil {
		return nil, err
	}
	return signBytes(ctx, out.Lockfile, opts.Signer)
}

// sealable reads what is to be sealed, and refuses what Verify would.
func (s *Subject) sealable(opts SignOptions) (*Sealed, error) {
	out, err := s.read(&Options{Root: opts.Root, Verifier: opts.Verifier})
	if err != nil {
		return nil, err
	}
	if out.Chain == nil {
		return nil, s.noTrust()
	}
	_, err = listed(s.name, opts.Signer.PublicKey(), ByTrust(out.Chain))
	return out, err
}
