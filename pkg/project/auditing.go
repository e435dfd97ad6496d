package project

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// auditOptions are those of every walk through history.
func (p *Project) auditOptions() (audit.Options, error) {
	if p.repo == nil {
		return audit.Options{}, fmt.Errorf("%s is not in a git repository, so it has no history", p.Root)
	}
	return audit.Options{Root: p.root, Folder: p.folder(), Lockfile: p.Path, Now: p.Env.Now()}, nil
}

// AuditVerify verifies the history of HEAD. expect is a head recorded earlier;
// empty for none. What was verified by this user before is not judged again, but
// in CI.
func (p *Project) AuditVerify(ctx context.Context, expect string) (*audit.Report, error) {
	opts, err := p.auditOptions()
	if err != nil {
		return nil, err
	}
	if expect != "" {
		if opts.ExpectHead, err = p.repo.Resolve(ctx, expect); err != nil {
			return nil, fmt.Errorf("--expect-head %s: %w", expect, err)
		}
	}
	opts.Cache = p.recallAudit()
	report, err := audit.Verify(ctx, p.repo, opts)
	if err == nil && report.Violation == nil {
		p.rememberAudit(report.Cache)
	}
	return report, err
}

// auditFile is where the verified head of this repository is remembered.
func (p *Project) auditFile() string {
	if p.Env.State == nil || p.Env.inCI() {
		return ""
	}
	return "audit/" + canonical.SumString(p.Root+"\x00"+p.Path).String()
}

// recallAudit reads what is remembered; what cannot be read counts as nothing.
func (p *Project) recallAudit() *audit.Cache {
	path := p.auditFile()
	if path == "" {
		return nil
	}
	data, err := p.Env.State.Read(path)
	var cache audit.Cache
	if err != nil || json.Unmarshal(data, &cache) != nil {
		return nil
	}
	return &cache
}

// rememberAudit keeps a verified head. Nothing depends on it, so that a folder
// which cannot be written only costs time.
func (p *Project) rememberAudit(cache *audit.Cache) {
	path := p.auditFile()
	if path == "" || cache == nil {
		return
	}
	data, err := json.Marshal(cache)
	if err != nil {
		return
	}
	_ = p.Env.State.Update(path, func([]byte) ([]byte, error) { return data, nil })
}

// AuditLog tells the story of items; args restrict it to SERVER or SERVER/NAME,
// also of items that are no longer locked.
func (p *Project) AuditLog(ctx context.Context, args []string) ([]audit.Event, error) {
	opts, err := p.auditOptions()
	if err != nil {
		return nil, err
	}
	return audit.Log(ctx, p.repo, opts, func(k surface.Key) bool {
		if len(args) == 0 {
			return true
		}
		for _, arg := range args {
			if arg == k.Server || arg == ItemWords(k) || strings.HasPrefix(arg, k.Server+"/") && strings.TrimPrefix(arg, k.Server+"/") == k.Name {
				return true
			}
		}
		return false
	})
}

// FindDecision returns the decision of an id or of its first digits.
func (p *Project) FindDecision(id string) (*trust.Decision, error) {
	a, err := p.authority()
	if err != nil {
		return nil, err
	}
	found, err := canonical.MatchDigest(id, slices.Values(a.ledger.IDs()))
	if err != nil {
		return nil, &hintError{fmt.Errorf("the decision %w", err), fmt.Sprintf("`%s audit log --format json` has the ids in whole", p.Env.Program)}
	}
	return a.ledger.Decision(found), nil
}

// Reverted is the outcome of a revert.
type Reverted struct {
	Parent  gitrepo.Hash // whose lockfile and copies were restored
	Result  lockfile.Result
	Missing []string // copies that were not there
}

// Revert restores the lockfile and the copies of before a commit and keeps all
// decisions: an item goes on from its newest one.
func (p *Project) Revert(ctx context.Context, rev string) (*Reverted, error) {
	opts, err := p.auditOptions()
	if err != nil {
		return nil, err
	}
	commit, err := p.repo.Resolve(ctx, rev)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rev, err)
	}
	before, err := audit.ReadBefore(ctx, p.repo, commit, opts)
	if err != nil {
		return nil, err
	}
	current, err := p.Load()
	if err != nil {
		return nil, err
	}
	next, err := before.Over(current)
	if err != nil {
		return nil, err
	}
	change, err := p.change(current, false, &pending{file: next, surfaces: before.Surfaces})
	if err != nil {
		return nil, err
	}
	result, err := p.store.Write(ctx, change)
	return &Reverted{Parent: before.Parent, Result: result, Missing: before.Missing}, err
}
