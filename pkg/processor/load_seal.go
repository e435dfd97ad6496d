package processor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"agentgateway-lock/pkg/seal"
)

const (
	// maxSeal bounds a detached seal in bytes.
	maxSeal = 4 << 20
	// maxTrustedRoot bounds a Sigstore trusted root in bytes.
	maxTrustedRoot = 16 << 20
)

// verify proves a Sigstore seal over the bytes of a lockfile and says who made
// it. beside is the seal that stands beside the lockfile; the file that the
// source names goes first.
func (s *SigstoreSource) verify(lockfile, beside []byte, now time.Time) (string, error) {
	if s.File != "" {
		var err error
		if beside, err = readBounded(s.File, maxSeal); err != nil {
			return "", fmt.Errorf("reading the Sigstore bundle: %w", err)
		}
	}
	root, err := readBounded(s.TrustedRoot, maxTrustedRoot)
	if err != nil {
		return "", fmt.Errorf("reading the Sigstore trusted root: %w", err)
	}
	policy := seal.SigstorePolicy{Identity: s.Identity, Issuer: s.Issuer, TrustedRoot: root, Now: now}
	if err := policy.Check(); err != nil {
		return "", sealError(err)
	}
	if err := s.Verifier.Verify(lockfile, beside, policy); err != nil {
		return "", sealError(err)
	}
	return "Sigstore bundle by " + s.Identity, nil
}

// readBounded reads a file of at most limit bytes.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

// bundleReader reads policies from a bundle file.
type bundleReader struct {
	src *Source
	now func() time.Time
}

func newBundleReader(src *Source, now func() time.Time) (sourceReader, error) {
	return nil, errors.New("bundles cannot be read yet")
}

func (b *bundleReader) close() {}

func (b *bundleReader) read(context.Context, string) (*material, error) { return nil, nil }
