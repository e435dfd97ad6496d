package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/seal"
	"agentgateway-lock/pkg/trust"
)

// maxTrustedRoot bounds a Sigstore trusted root in bytes.
const maxTrustedRoot = 16 << 20

// fill puts what a Sigstore seal is held to into the options.
func (s *SigstoreSeal) fill(options *seal.Options, now time.Time) error {
	root, err := bounded.OSFile(s.TrustedRoot, maxTrustedRoot)
	if err != nil {
		return fmt.Errorf("reading the Sigstore trusted root: %w", err)
	}
	options.Policy = seal.SigstorePolicy{Identity: s.Identity, Issuer: s.Issuer, TrustedRoot: root, Now: now}
	options.Sigstore = s.Verifier
	return options.Policy.Check()
}

// apart reads the Sigstore bundle of a file of its own, where one is named.
func (s *SigstoreSeal) apart() ([]byte, error) { return sealFile(s.File, seal.MaxSigstoreSize) }

// sealFile reads a detached seal; nil where no file is named.
func sealFile(name string, limit int64) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := bounded.OSFile(name, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the seal: %w", err)
	}
	return data, nil
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

// candidates implements originReader: there is the one bundle.
func (b *bundleReader) candidates(context.Context) ([]candidate, error) {
	data, err := bounded.OSFile(b.origin.Bundle, seal.MaxBundleSize)
	if err != nil {
		return nil, fmt.Errorf("reading the bundle: %w", err)
	}
	apart, err := b.apart()
	if err != nil {
		return nil, err
	}
	id := "bundle " + canonical.Sum(data).String() + " " + canonical.Sum(apart).String()
	read := func(_ context.Context, known *trust.Ledger) (*material, error) { return b.material(data, apart, known) }
	return []candidate{{id: id, title: "the bundle " + filepath.Base(b.origin.Bundle), read: read}}, nil
}

// material verifies the bundle with the seal that is apart from it, and reads it.
func (b *bundleReader) material(data, apart []byte, known *trust.Ledger) (*material, error) {
	bundle, err := seal.ParseBundle(data)
	if err != nil {
		return nil, sealError(err)
	}
	options := seal.Options{Require: b.require, Root: b.origin.TrustRoot, Seal: apart, Known: known}
	if b.require == seal.RequireSigstore {
		if err := b.origin.Sigstore.fill(&options, b.now()); err != nil {
			return nil, sealError(err)
		}
	}
	sealed, err := seal.Verify(bundle.Subject(), options)
	if err != nil {
		return nil, sealError(err)
	}
	return &material{
		sealed: sealed, path: bundle.Path,
		instruction: func(_ *lockfile.Copy, digest canonical.Digest) (string, bool) { return bundle.Instruction(digest) },
	}, nil
}

// apart reads the seal that is in a file of its own, where one is named.
func (b *bundleReader) apart() ([]byte, error) {
	switch b.require {
	case seal.RequireSignature:
		return sealFile(b.origin.Signature, seal.MaxSignatureSize)
	case seal.RequireSigstore:
		return b.origin.Sigstore.apart()
	}
	return nil, nil
}
