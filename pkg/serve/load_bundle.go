package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
)

// maxTrustedRoot bounds a Sigstore trusted root in bytes.
const maxTrustedRoot = 16 << 20

// fill puts what a Sigstore seal is held to into the options.
func (s *SigstoreSeal) fill(options *seal.VerifyOptions, now time.Time) error {
	root, err := readBounded(s.TrustedRoot, maxTrustedRoot)
	if err != nil {
		return fmt.Errorf("reading the Sigstore trusted root: %w", err)
	}
	options.Policy = seal.SigstorePolicy{Identity: s.Identity, Issuer: s.Issuer, TrustedRoot: root, Now: now}
	options.Sigstore = s.Verifier
	return options.Policy.Check()
}

// bundleReader reads policies from a bundle file.
type bundleReader struct {
	origin  *Origin
	require seal.Require
	now     func() time.Time
}

func newBundleReader(origin *Origin, now func() time.Time) (originReader, error) {
	require, err := origin.Require.For(seal.OriginBundle)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(origin.Bundle); err != nil {
		return nil, fmt.Errorf("the bundle: %w", err)
	}
	return &bundleReader{origin, require, now}, nil
}

func (b *bundleReader) close() {}

// read implements originReader.
func (b *bundleReader) read(_ context.Context, unchanged string) (*material, error) {
	data, err := readBounded(b.origin.Bundle, seal.MaxBundleSize)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	apart, err := b.apart()
	if err != nil {
		return nil, err
	}
	id := "bundle " + canonical.Sum(data).String() + " " + canonical.Sum(apart).String()
	if id == unchanged {
		return nil, nil
	}
	bundle, err := seal.ParseBundle(data)
	if err != nil {
		return nil, sealError(err)
	}
	if apart != nil {
		bundle.Seal = seal.BundleSeal{Kind: b.require, Data: apart}
	}
	options := seal.VerifyOptions{Require: b.require, Root: b.origin.TrustRoot}
	if b.require == seal.RequireSigstore {
		if err := b.origin.Sigstore.fill(&options, b.now()); err != nil {
			return nil, sealError(err)
		}
	}
	sealed, err := seal.VerifyBundle(bundle, options)
	if err != nil {
		return nil, sealError(err)
	}
	return &material{
		id: id, origin: "the bundle " + filepath.Base(b.origin.Bundle), sealed: sealed, path: bundle.Path, decisions: bundle.Decisions,
		instruction: func(_ *lockfile.Copy, digest canonical.Digest) (string, bool) { return bundle.Instruction(digest) },
	}, nil
}

// apart reads the seal that stands in a file of its own, where one is named.
func (b *bundleReader) apart() ([]byte, error) {
	name := ""
	switch b.require {
	case seal.RequireSignature:
		name = b.origin.Signature
	case seal.RequireSigstore:
		name = b.origin.Sigstore.File
	}
	if name == "" {
		return nil, nil
	}
	data, err := readBounded(name, seal.MaxSigstoreSize)
	if err != nil {
		return nil, fmt.Errorf("reading the seal: %w", err)
	}
	return data, nil
}
