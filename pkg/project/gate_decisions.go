package project

import (
	"context"
	"errors"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// judgement is what the gate knows of decisions, on both sides of a change.
type judgement struct {
	head, base authority
	state      *trust.State // of the tree, judged by the base's list
	baseState  *trust.State // nil where the base has no lockfile
	// proposers finds who brought a locked digest in; nil for a tree that is no
	// change, of which nobody is asked.
	proposers func(surface.Key) []string
}

// judge judges every item of a tree by the base's list. A trust list that does not
// verify is a finding, and then there is no judgement.
func (p *Project) judge(ctx context.Context, base *Base, file *lockfile.File) (*judgement, *finding.Finding, error) {
	j := &judgement{}
	var err error
	if base.Known() {
		tree, err := p.commitTree(ctx, base.Commit)
		if err != nil {
			return nil, nil, err
		}
		if j.base, err = p.baseAuthority(tree); err != nil {
			return unverified("on the base: ", err)
		}
	}
	if j.head, err = p.headAuthority(ctx, base, j.base.ledger); err != nil {
		return unverified("", err)
	}
	if base.Lockfile != nil {
		j.baseState = p.evaluate(base.Lockfile, j.base, nil, nil)
	}
	if base.Known() && j.head.chain != nil {
		if j.proposers, err = p.proposersSince(ctx, base.Commit, file, j); err != nil {
			return nil, nil, err
		}
	}
	j.state = p.evaluate(file, j.head, j.base.chain, j.proposers)
	return j, nil, nil
}

// unverified turns a trust list that does not verify into a finding; another error
// stays one.
func unverified(where string, err error) (*judgement, *finding.Finding, error) {
	var chain *trust.ChainError
	if !errors.As(err, &chain) {
		return nil, nil, err
	}
	f := chain.Finding("")
	f.Summary = where + f.Summary
	return nil, &f, nil
}

// gateDecisions adds to rep what is wrong with decisions and the trust list: of
// every item, and against the base the rules against going back. There is no
// judgement where the trust list does not verify.
func (p *Project) gateDecisions(ctx context.Context, base *Base, file *lockfile.File, rep *report.Report) (*judgement, error) {
	j, problem, err := p.judge(ctx, base, file)
	if err != nil {
		return nil, err
	}
	if problem != nil {
		rep.Findings = append(rep.Findings, always([]finding.Finding{*problem})...)
		return nil, nil
	}
	rep.Findings = append(rep.Findings, always(j.state.Findings)...)
	if base.Known() {
		rep.Findings = append(rep.Findings, always(trust.CompareBase(
			trust.Side{Chain: j.base.chain, Ledger: j.base.ledger, State: j.baseState},
			trust.Side{Chain: j.head.chain, Ledger: j.head.ledger, State: j.state},
			trust.Recount{Proposers: j.proposers, Grade: p.regrade(ctx, base, file, j)},
		))...)
	}
	return j, nil
}

// noteOlder leaves a note of a lockfile that is an earlier one, where there is a
// trust list: decisions, whose serials cannot go back, say what is in force, and a
// server may well serve again what was approved before.
func (j *judgement) noteOlder(findings []finding.Finding) {
	if j == nil || j.base.chain == nil {
		return
	}
	for i := range findings {
		if findings[i].Code == finding.LockfileOlder {
			findings[i].Grade = finding.Note
		}
	}
}

// always marks findings that fail a run whatever --fail-on says: it is about
// drift, not about decisions.
func always(findings []finding.Finding) []finding.Finding {
	for i := range findings {
		findings[i].Always = true
	}
	return findings
}

// headAuthority reads the trust list and the decisions that are judged: with a
// base those of HEAD's tree, which is what is reviewed.
func (p *Project) headAuthority(ctx context.Context, base *Base, known *trust.Ledger) (authority, error) {
	if !base.Known() {
		return p.authorityIn(p.workTree(), known)
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return authority{}, err
	}
	tree, err := p.commitTree(ctx, head)
	if err != nil {
		return authority{}, err
	}
	return p.authorityIn(tree, known)
}

// regrade grades the locked text of an item against what is in force on the base.
// Where that text is not at hand the change cannot be graded, and counts as
// critical, as it does for who approves it.
func (p *Project) regrade(ctx context.Context, base *Base, file *lockfile.File, j *judgement) func(surface.Key) (finding.Grade, bool) {
	now := p.copies(file)
	inForce := p.textsInForce(ctx, base, file)
	return func(key surface.Key) (finding.Grade, bool) {
		server := file.Server(key.Server)
		switch {
		case key.Kind == surface.KindServer, server == nil:
			return finding.Note, false
		case key.Kind == surface.KindSource:
			return finding.Critical, true
		case j.baseState == nil:
			return finding.Warning, true // new: nothing is in force
		}
		it := j.baseState.Item(key)
		if it == nil || it.InForce == nil {
			return finding.Warning, true
		}
		text := now(server)(key.Kind, key.Name)
		if text == nil {
			return finding.Note, false // that is a finding of its own
		}
		if canonical.Sum(text) == it.InForce.Digest {
			return finding.Info, true
		}
		before := inForce(key, it.InForce.Digest)
		if before == nil {
			return finding.Critical, true
		}
		return drift.Between(key.Kind, key.Name, before, text).Grade(), true
	}
}

// textsInForce finds the text of a digest that is in force on the base: it is what
// the base has locked, or stands beside that, there or here.
func (p *Project) textsInForce(ctx context.Context, base *Base, file *lockfile.File) func(surface.Key, canonical.Digest) []byte {
	here := lockfile.NewLayout(file)
	there := lockfile.NewLayout(&lockfile.File{})
	if base.Lockfile != nil {
		there = lockfile.NewLayout(base.Lockfile)
	}
	onBase := func(path string) ([]byte, error) { return p.fileAt(ctx, base.Commit, path) }
	return func(key surface.Key, digest canonical.Digest) []byte {
		was, _ := there.Copy(key)
		is, _ := here.Copy(key)
		for _, c := range []struct {
			path string
			read func(string) ([]byte, error)
		}{{was.Path, onBase}, {was.Approved, onBase}, {is.Approved, p.store.ReadCopy}} {
			if c.path == "" {
				continue
			}
			if text, err := c.read(c.path); err == nil {
				if r := restore(key, text, digest); r != nil {
					return r.text()
				}
			}
		}
		return nil
	}
}

// approves reports whether a server's source is approved under the trust list in
// force. anchored holds where the user has a reason to believe that list.
func (j *judgement) approves(server *lockfile.Server, anchored bool) bool {
	if j == nil || j.state == nil || j.state.Unsigned || !anchored {
		return false
	}
	it := j.state.Item(surface.Key{Server: server.Name, Kind: surface.KindSource})
	return it != nil && it.Status == trust.Approved
}
