package project

import (
	"context"
	"errors"

	"agentgateway-lock/pkg/canonical"
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
	proposers  *trust.Proposers
	// now judges like state, by the default branch's newest list where that continues
	// the one of state: a signer who was removed there settles nothing any more.
	now *trust.State
	// forked holds where the lists of the base and of the default branch's newest commit
	// are two of one beginning, or of none.
	forked bool
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
	if j.proposers, err = p.changeProposers(ctx, base, j); err != nil {
		return nil, nil, err
	}
	chain := j.base.chain
	newest, err := p.newestChain(ctx, base, j)
	if err != nil {
		return unverified("on the default branch: ", err)
	}
	if base.Known() && newest != nil {
		chain = newest
	}
	j.state = p.evaluate(file, j.head, chain, j.proposers)
	j.now = j.state
	if !base.Known() && newest != nil {
		j.now = p.evaluate(file, j.head, newest, j.proposers)
	}
	return j, nil, nil
}

// newestChain returns the trust list of the default branch's newest commit where it
// continues the base's (without a base, that of the tree); nil where that judges
// itself. Where neither continues the other the lists are forked.
func (p *Project) newestChain(ctx context.Context, base *Base, j *judgement) (*trust.Chain, error) {
	d := &base.Default
	if d.Commit.IsZero() || d.Commit == base.Commit || d.Commit == base.Head {
		return nil, nil
	}
	was := j.base.chain
	if !base.Known() {
		was = j.head.chain
	}
	if was == nil && (p.Env.inCI() || !base.Known()) {
		return nil, nil // in CI the default branch may be of the stranger's clone
	}
	tree, err := p.commitTree(ctx, d.Commit)
	if err != nil {
		return nil, err
	}
	now, err := p.baseAuthority(tree)
	switch {
	case err != nil || now.chain == nil:
		return nil, err
	case was == nil || now.chain.Contains(was.Digest()):
		return now.chain, nil
	}
	j.forked = !was.Contains(now.chain.Digest())
	return nil, nil
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
	if j.forked {
		f := finding.New(finding.TrustForked, finding.Place{File: p.Path}, "the trust lists of the base and of "+base.Default.Name+" do not continue one another")
		rep.Findings = append(rep.Findings, always([]finding.Finding{f})...)
	}
	if base.Known() {
		rep.Findings = append(rep.Findings, always(trust.CompareBase(
			trust.Side{Chain: j.base.chain, Ledger: j.base.ledger, State: j.baseState},
			trust.Side{Chain: j.head.chain, Ledger: j.head.ledger, State: j.state},
			trust.Recount{Proposers: j.proposers, Grade: p.regrade(ctx, base, file, j.state), Merged: j.proposers != nil && j.proposers.Merged},
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

// regrade grades a text again as its decision should have recorded it.
func (p *Project) regrade(ctx context.Context, base *Base, file *lockfile.File, state *trust.State) func(surface.Key, canonical.Digest, []canonical.Digest) (finding.Grade, bool) {
	texts := p.textsOf(ctx, file, base)
	return func(key surface.Key, digest canonical.Digest, against []canonical.Digest) (finding.Grade, bool) {
		return texts.grade(state, key, digest, against)
	}
}

// approves reports whether a server's source is approved under the trust list in
// force. anchored holds where the user has a reason to believe that list.
func (j *judgement) approves(server *lockfile.Server, anchored bool) bool {
	if j == nil || j.now == nil || j.now.Unsigned || j.forked || !anchored {
		return false
	}
	it := j.now.Item(surface.Key{Server: server.Name, Kind: surface.KindSource})
	return it != nil && it.Status == trust.Approved
}
