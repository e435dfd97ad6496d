package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/surface"
)

// SignatureName is where a detached signature stands, beside the lockfile.
func (p *Project) SignatureName() string { return p.Path + ".sig" }

// SigstoreName is where a Sigstore bundle stands, beside the lockfile.
func (p *Project) SigstoreName() string { return p.Path + ".sigstore.json" }

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
	signer, err := p.signer(ctx, s)
	if err != nil {
		return nil, err
	}
	return seal.SignTag(ctx, p.repo, seal.TagOptions{Name: name, Commit: head, Path: at, Root: p.root, Subject: subject, Signer: signer})
}

// lockfileBytes reads the lockfile of the work tree as it is.
func (p *Project) lockfileBytes() ([]byte, error) {
	data, err := p.dir.ReadFile(p.Path, lockfile.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.noLockfile()
	}
	return data, err
}

// SealSignature writes a detached signature over the lockfile of the work tree
// and returns its path.
func (p *Project) SealSignature(ctx context.Context, s Signing) (string, error) {
	data, err := p.lockfileBytes()
	if err != nil {
		return "", err
	}
	a, err := p.authority()
	if err != nil {
		return "", err
	}
	if a.chain == nil {
		return "", errNoTrustList(p.Env.Program)
	}
	signer, err := p.signer(ctx, s)
	if err != nil {
		return "", err
	}
	armored, err := seal.Sign(ctx, data, signer, seal.ByTrust(a.chain))
	if err != nil {
		return "", err
	}
	return p.SignatureName(), p.putFile(p.SignatureName(), armored)
}

// SealSigstore writes a Sigstore bundle over the lockfile of the work tree, which
// sign makes, and returns its path.
func (p *Project) SealSigstore(ctx context.Context, sign func(ctx context.Context, lockfile []byte) ([]byte, error)) (string, error) {
	data, err := p.lockfileBytes()
	if err != nil {
		return "", err
	}
	bundle, err := sign(ctx, data)
	if err != nil {
		return "", err
	}
	return p.SigstoreName(), p.putFile(p.SigstoreName(), bundle)
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

// Verify verifies a seal and everything it stands for: the trust chain, and what
// is in force under it.
func (p *Project) Verify(ctx context.Context, v VerifySeal) (*seal.Sealed, error) {
	switch {
	case v.Tag != "":
		return p.verifyTag(ctx, v.Tag)
	case v.Bundle != "":
		return p.verifyBundle(v)
	}
	data, err := p.lockfileBytes()
	if err != nil {
		return nil, err
	}
	file, err := lockfile.Parse(data)
	if err != nil {
		return nil, err
	}
	a, err := p.authority()
	if err != nil {
		return nil, err
	}
	sealed := &seal.Sealed{Path: p.Path, Lockfile: data, File: file, Chain: a.chain}
	if v.Signature != "" {
		if a.chain == nil {
			return nil, errNoTrustList(p.Env.Program)
		}
		armored, err := readBounded(v.Signature, 64<<10)
		if err != nil {
			return nil, err
		}
		signature, err := seal.VerifySignature(data, armored, seal.ByTrust(a.chain))
		if err != nil {
			return nil, err
		}
		sealed.Require, sealed.Signer, sealed.Fingerprint = seal.RequireSignature, signature.Principal, signature.Fingerprint
		return sealed, nil
	}
	bundle, err := readBounded(v.Sigstore, 16<<20)
	if err != nil {
		return nil, err
	}
	if err := v.Policy.Check(); err != nil {
		return nil, err
	}
	sealed.Require, sealed.Signer = seal.RequireSigstore, v.Policy.Identity
	return sealed, v.Verifier.Verify(data, bundle, v.Policy)
}

func (p *Project) verifyTag(ctx context.Context, tag string) (*seal.Sealed, error) {
	if p.repo == nil {
		return nil, fmt.Errorf("%s is not in a git repository, so it has no tags", p.Root)
	}
	at, err := p.gitPath(p.Path)
	if err != nil {
		return nil, err
	}
	const tags = "refs/tags/"
	if len(tag) < len(tags) || tag[:len(tags)] != tags {
		tag = tags + tag
	}
	return seal.VerifyTag(ctx, p.repo, tag, at, p.root)
}

func (p *Project) verifyBundle(v VerifySeal) (*seal.Sealed, error) {
	data, err := readBounded(v.Bundle, maxBundle)
	if err != nil {
		return nil, err
	}
	bundle, err := seal.ParseBundle(data)
	if err != nil {
		return nil, err
	}
	return seal.VerifyBundle(bundle, seal.VerifyOptions{Require: bundle.Seal.Kind, Root: p.root, Policy: v.Policy, Sigstore: v.Verifier})
}

// maxBundle bounds a bundle file.
const maxBundle = 64 << 20

// readBounded reads a file of at most limit bytes.
func readBounded(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", name, info.Size(), limit)
	}
	return os.ReadFile(name)
}

// Bundle makes one file of the lockfile, the trust versions, the decisions and
// the seal that stands beside the lockfile, for images that carry no repository.
func (p *Project) Bundle() ([]byte, error) {
	data, err := p.lockfileBytes()
	if err != nil {
		return nil, err
	}
	file, err := p.Load()
	if err != nil {
		return nil, err
	}
	if err := p.mustFit(file); err != nil {
		return nil, err
	}
	b := &seal.Bundle{Path: p.Path, Lockfile: data, Instructions: p.instructions(file)}
	if b.Trust, err = versionFiles(workTree{p}); err != nil {
		return nil, err
	}
	decisions, err := decisionFiles(workTree{p})
	if err != nil {
		return nil, err
	}
	if b.Decisions, err = seal.SelectDecisions(p.Path, decisions); err != nil {
		return nil, err
	}
	if b.Seal, err = p.sealBeside(); err != nil {
		return nil, err
	}
	return seal.WriteBundle(b)
}

// sealBeside reads the seal that stands beside the lockfile.
func (p *Project) sealBeside() (seal.BundleSeal, error) {
	for _, s := range []seal.BundleSeal{{Kind: seal.RequireSignature, Data: []byte(p.SignatureName())}, {Kind: seal.RequireSigstore, Data: []byte(p.SigstoreName())}} {
		data, err := p.dir.ReadFile(string(s.Data), 16<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return seal.BundleSeal{Kind: s.Kind, Data: data}, err
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
