package project

import (
	"bytes"
	"errors"
	"io/fs"

	"agentgateway-lock/pkg/internal/bounded"
	"agentgateway-lock/pkg/trust"
)

// signed joins what both sides of a merge signed: a decision, or a trust version,
// that different persons signed on two branches gets the signatures of both.
func (m *merging) signed() error {
	ours, err := m.p.commitTree(m.ctx, m.ours.commit)
	if err != nil {
		return err
	}
	theirs, err := m.p.commitTree(m.ctx, m.theirs.commit)
	if err != nil {
		return err
	}
	paths, err := trust.DecisionPaths(ours)
	if err != nil {
		return err
	}
	for _, name := range paths {
		if err := m.join(name, trust.MaxDecisionSize, ours, theirs, joinDecisions); err != nil {
			return err
		}
	}
	versions, err := trust.ReadVersions(ours, trust.VersionFolder)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if err := m.join(trust.VersionPath(v.Number), trust.MaxVersionSize, ours, theirs, joinVersions); err != nil {
			return err
		}
	}
	return nil
}

// join writes one file anew where the two sides have different ones.
func (m *merging) join(name string, limit int64, ours, theirs fs.FS, join func(a, b []byte) ([]byte, error)) error {
	there, err := bounded.File(theirs, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	here, err := bounded.File(ours, name, limit)
	if err != nil || bytes.Equal(here, there) {
		return err
	}
	both, err := join(here, there)
	if err != nil {
		return &hintError{err, "keep one side of " + name + " with git checkout --ours or --theirs"}
	}
	return m.p.putFile(name, both)
}

func joinDecisions(a, b []byte) ([]byte, error) {
	here, err := trust.ParseDecision(a)
	if err != nil {
		return nil, err
	}
	there, err := trust.ParseDecision(b)
	if err != nil {
		return nil, err
	}
	both, err := trust.MergeDecisions(here, there, nil)
	if err != nil {
		return nil, err
	}
	return both.Format(), nil
}

func joinVersions(a, b []byte) ([]byte, error) {
	here, err := trust.ParseVersion(a)
	if err != nil {
		return nil, err
	}
	there, err := trust.ParseVersion(b)
	if err != nil {
		return nil, err
	}
	both, err := trust.MergeVersions(here, there, nil)
	if err != nil {
		return nil, err
	}
	return both.Format(), nil
}
