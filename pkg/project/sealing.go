package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/surface"
)

// SignatureName is where a detached signature is, beside the lockfile.
func (p *Project) SignatureName() string { return p.Path + seal.SignatureSuffix }

// SealTag seals the lockfile of HEAD with a signed tag.
func (p *Project) SealTag(ctx context.Context, name, subject string, s Signing) (*seal.Sealed, error) {
	if p.repo == nil {
		return nil, &hintError{fmt.Errorf("%s is not in a git repository, so there is nothing to tag", p.Root), "seal it with a signature of its own: leave --tag out"}
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	at, err := p.gitPath(p.Path)
	if err != nil {
		return nil, err
	}
	if err := p.repo.CheckWorktreeFile(ctx, head, at); err != nil {
		return nil, &hintError{fmt.Errorf("the tag would seal another lockfile than the one here: %w", err), "commit the lockfile first"}
	}
	tree, err := p.commitTree(ctx, head)
	if err != nil {
		return nil, err
	}
	if err := p.mustFitIn(tree); err != nil {
		return nil, err
	}
	signer, err := p.signer(ctx, s)
	if err != nil {
		return nil, err
	}
	return seal.SignTag(ctx, p.repo, seal.TagOptions{
		Name: name, Commit: head, Folder: p.folder(), Path: p.Path, Subject: subject, SignOptions: p.signOptions(signer),
	})
}

func (p *Project) signOptions(signer sshsig.Signer) seal.SignOptions {
	return seal.SignOptions{Signer: signer, Root: p.root, Verifier: p.verifier}
}

// mustFitIn refuses a tree whose lockfile has hashes or copies that do not fit. One
// that has no lockfile is refused by whoever reads it next.
func (p *Project) mustFitIn(tree fs.FS) error {
	file, err := lockfile.Read(tree, p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return p.noLockfile()
	}
	if err != nil {
		return unreadable(err)
	}
	return p.mustFit(file, lockfile.CopyReader(tree))
}

// SealSignature writes a detached signature over the lockfile of the work tree
// and returns its path.
func (p *Project) SealSignature(ctx context.Context, s Signing) (string, error) {
	if err := p.mustFitIn(p.workTree()); err != nil {
		return "", err
	}
	signer, err := p.signer(ctx, s)
	if err != nil {
		return "", err
	}
	armored, err := seal.Sign(ctx, seal.Folder(p.workTree(), p.Path), p.signOptions(signer))
	if err != nil {
		return "", err
	}
	return p.SignatureName(), p.putFile(p.SignatureName(), armored)
}

// SealSigstore writes a Sigstore bundle over the lockfile of the work tree, which
// sign makes, and returns its path.
func (p *Project) SealSigstore(ctx context.Context, sign func(ctx context.Context, lockfile []byte) ([]byte, error)) (string, error) {
	if err := p.mustFitIn(p.workTree()); err != nil {
		return "", err
	}
	sealable, err := seal.Verify(seal.Folder(p.workTree(), p.Path), p.sealOptions(seal.RequireNone))
	if err != nil {
		return "", err
	}
	bundle, err := sign(ctx, sealable.Lockfile)
	if err != nil {
		return "", err
	}
	name := p.Path + seal.SigstoreSuffix
	return name, p.putFile(name, bundle)
}

func (p *Project) sealOptions(require seal.Require) seal.Options {
	return seal.Options{Require: require, Root: p.root, Verifier: p.verifier}
}

// VerifySeal says which seal is verified; exactly one is named.
type VerifySeal struct {
	Tag       string // after refs/tags/, or the full name
	Signature string // a file
	Bundle    string // a file
	Sigstore  string // a file
	Policy    seal.SigstorePolicy
	Verifier  seal.SigstoreVerifier
}

// Verify verifies a seal and everything it is for: the trust chain, and every
// decision under it.
func (p *Project) Verify(ctx context.Context, v VerifySeal) (*seal.Sealed, error) {
	subject := seal.Folder(p.workTree(), p.Path)
	opts := p.sealOptions("")
	opts.Policy, opts.Sigstore = v.Policy, v.Verifier
	var err error
	switch {
	case v.Tag != "":
		if subject, err = p.tagSubject(ctx, v.Tag); err != nil {
			return nil, err
		}
	case v.Bundle != "":
		data, err := bounded.OSFile(v.Bundle, seal.MaxBundleSize)
		if err != nil {
			return nil, err
		}
		bundle, err := seal.ParseBundle(data)
		if err != nil {
			return nil, err
		}
		subject, opts.Require = bundle.Subject(), bundle.Seal.Kind
	case v.Signature != "":
		opts.Require = seal.RequireSignature
		opts.Seal, err = bounded.OSFile(v.Signature, seal.MaxSignatureSize)
	default:
		opts.Require = seal.RequireSigstore
		opts.Seal, err = bounded.OSFile(v.Sigstore, seal.MaxSigstoreSize)
	}
	if err != nil {
		return nil, err
	}
	return seal.Verify(subject, opts)
}

func (p *Project) tagSubject(ctx context.Context, tag string) (*seal.Subject, error) {
	if p.repo == nil {
		return nil, fmt.Errorf("%s is not in a git repository, so it has no tags", p.Root)
	}
	if !strings.HasPrefix(tag, gitrepo.TagsPrefix) {
		tag = gitrepo.TagsPrefix + tag
	}
	return seal.Tag(ctx, p.repo, tag, p.folder(), p.Path)
}

// Bundle makes one file of the lockfile, the trust versions, the decisions and
// the seal that is beside the lockfile, for images that carry no repository.
func (p *Project) Bundle() ([]byte, error) {
	if err := p.mustFitIn(p.workTree()); err != nil {
		return nil, err
	}
	beside, err := p.sealBeside()
	if err != nil {
		return nil, err
	}
	require := beside.Kind
	if require == seal.RequireSigstore {
		require = seal.RequireNone // whose identity counts is for whoever verifies the bundle
	}
	sealed, err := seal.Verify(seal.Folder(p.workTree(), p.Path), p.sealOptions(require))
	if err != nil {
		return nil, err
	}
	return seal.WriteBundle(&seal.Bundle{
		Path: p.Path, Lockfile: sealed.Lockfile, Trust: sealed.Versions, Decisions: sealed.Ledger.Files(p.Path),
		Instructions: p.instructions(sealed.File), Seal: beside,
	})
}

// sealBeside reads the seal that is beside the lockfile.
func (p *Project) sealBeside() (seal.BundleSeal, error) {
	for _, s := range []struct {
		kind  seal.Require
		limit int64
	}{{seal.RequireSignature, seal.MaxSignatureSize}, {seal.RequireSigstore, seal.MaxSigstoreSize}} {
		data, err := bounded.File(p.workTree(), p.Path+s.kind.Suffix(), s.limit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return seal.BundleSeal{Kind: s.kind, Data: data}, err
	}
	return seal.BundleSeal{Kind: seal.RequireNone}, nil
}

// instructions returns the texts of all locked instructions, and of those in
// force beside them, each once and sorted by digest.
func (p *Project) instructions(file *lockfile.File) []string {
	texts := map[canonical.Digest]string{}
	for _, c := range lockfile.NewLayout(file).Copies {
		if c.Kind != surface.KindInstructions {
			continue
		}
		for _, name := range []string{c.Path, c.Approved} {
			text, err := p.store.ReadCopy(name)
			if err != nil {
				continue
			}
			if words, err := lockfile.ParseInstructions(text); err == nil {
				texts[canonical.SumString(words)] = words
			}
		}
	}
	out := make([]string, 0, len(texts))
	for _, d := range sortedDigests(texts) {
		out = append(out, texts[d])
	}
	return out
}

func sortedDigests(m map[canonical.Digest]string) []canonical.Digest {
	byText := map[string]canonical.Digest{}
	for d := range m {
		byText[d.String()] = d
	}
	out := make([]canonical.Digest, 0, len(m))
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		out = append(out, byText[text])
	}
	return out
}
