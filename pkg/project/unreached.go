package project

import (
	"context"
	"errors"
	"fmt"
	"path"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
)

// unreached reports the lockfiles of the base that HEAD does not reach any more,
// because a folder on the way to them has become a link or something else. A run that
// is started in such a folder is led to another lockfile, and cannot know it.
func (p *Project) unreached(ctx context.Context, base *Base) ([]finding.Finding, error) {
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	now, err := p.repo.TreeOf(ctx, head)
	if err != nil {
		return nil, err
	}
	was, err := p.repo.TreeOf(ctx, base.Commit)
	if err != nil {
		return nil, err
	}
	var findings []finding.Finding
	err = p.repo.Diff(ctx, was, now, "", func(c gitrepo.Change) error {
		if name := path.Base(c.Path); c.Before.ID.IsZero() || name != lockfile.DefaultName && name != OriginalName {
			return nil
		}
		_, _, err := p.repo.Lookup(ctx, now, c.Path)
		mode, ok := errors.AsType[*gitrepo.ModeError](err)
		if !ok {
			return err
		}
		f := finding.New(finding.LockfileRemoved, finding.Place{File: mode.Path}, fmt.Sprintf("the base has the lockfile %s, and %s is a %s now, so that another one is judged in its place", c.Path, mode.Path, mode.Mode))
		f.Hint = "Restore the folder, or remove the lockfile in a change of its own."
		findings = append(findings, f)
		return nil
	})
	return findings, err
}
