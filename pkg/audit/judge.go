package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/trust"
)

// A judge judges commits, each by what it and its parents hold and by nothing
// else, so that any number are judged at a time.
type judge struct {
	lib *library
	now time.Time
}

// An outcome is what was found about one step.
type outcome struct {
	violation *Violation
	conflicts []Conflict
	facts     *CommitFacts // nil for a commit that is not judged
}

// A trial is the judgement of one step.
type trial struct {
	*judge
	*step
	chain  *trust.Chain
	chains []*trust.Chain // of each parent; nil also where it is no chain
	lock   *lock
	locks  []*lock // of each parent
	// fresh are the decisions that must hold under the newest version of chain.
	fresh []canonical.Digest
	// changed are, for each parent, the decisions that it lacks or has with other
	// signatures.
	changed []map[canonical.Digest]bool
	out     outcome
}

// step judges a commit. What breaks a rule is in the outcome; an error means that
// it could not be judged.
func (j *judge) step(ctx context.Context, s *step) (outcome, error) {
	if !s.at.judged() && !slices.ContainsFunc(s.parents, (*point).judged) {
		return outcome{}, nil
	}
	t := &trial{judge: j, step: s}
	for _, rule := range [...]func(context.Context) error{
		t.files, t.trustVersions, t.commit, t.decisionFiles, t.lockfile, t.lockedTrust, t.items, t.lateSignatures,
	} {
		err := rule(ctx)
		if v, ok := errors.AsType[*Violation](err); ok {
			t.out.violation = v
			return t.out, nil
		}
		if err != nil {
			return t.out, fmt.Errorf("commit %s: %w", s.node.ID, err)
		}
	}
	return t.out, nil
}

// breaks is a rule that the commit breaks.
func (t *trial) breaks(rule finding.Code, path, format string, args ...any) *Violation {
	return &Violation{Commit: t.node.ID, Rule: rule, Path: t.lib.layout.in(path), Detail: fmt.Sprintf(format, args...)}
}

// files holds that what is judged stands in regular files.
func (t *trial) files(context.Context) error {
	if b := t.at.broken; b.code != "" {
		return &Violation{Commit: t.node.ID, Rule: b.code, Path: b.path, Detail: b.detail}
	}
	return nil
}

// trustVersions holds that the versions are a chain, and that every version in
// force in a parent is in force here.
func (t *trial) trustVersions(ctx context.Context) error {
	var err error
	if t.chain, err = t.lib.chain(ctx, t.at); err != nil {
		if v := broken(t.node.ID, t.lib.layout.in(trust.VersionFolder), err); v != nil {
			return v
		}
		return err
	}
	for _, p := range t.parents {
		chain, err := t.lib.chainOrNone(ctx, p)
		if err != nil {
			return err
		}
		t.chains = append(t.chains, chain)
		if chain == nil {
			continue
		}
		if t.chain == nil {
			return t.breaks(finding.TrustMissing, trust.VersionFolder, "the trust list of %d versions is gone", chain.Len())
		}
		for n := 1; n <= chain.Len(); n++ {
			_, want := chain.Version(n)
			switch _, have := t.chain.Version(n); {
			case have == want:
			case have.IsZero():
				return t.breaks(finding.TrustLost, trust.VersionPath(n), "trust version %d is not in force any more", n)
			default:
				return t.breaks(finding.TrustForked, trust.VersionPath(n), "trust version %d is %s, and was %s", n, have.Short(), want.Short())
			}
		}
		if err := t.versionFiles(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// versionFiles holds that a version only gains signatures.
func (t *trial) versionFiles(ctx context.Context, p *point) error {
	return t.lib.repo.Diff(ctx, p.trust.ID, t.at.trust.ID, trust.VersionFolder+"/", func(c gitrepo.Change) error {
		if c.Before.ID.IsZero() || c.After.ID.IsZero() || c.Before.ID == c.After.ID {
			return nil
		}
		var versions [2]*trust.Version
		for i, e := range [...]gitrepo.Entry{c.Before, c.After} {
			data, err := t.lib.repo.Blob(ctx, e.ID)
			if err != nil {
				return err
			}
			if versions[i], _ = trust.ParseVersion(data); versions[i] == nil {
				return nil // of the parent, from before a checkpoint: this one's were read
			}
		}
		before, after := versions[0], versions[1]
		if before.Signed.Digest() == after.Signed.Digest() && !contains(after.Signatures, before.Signatures) {
			return t.breaks(finding.DecisionChanged, c.Path, "a signature of the trust version is gone")
		}
		return nil
	})
}

// contains reports whether all of part are among list.
func contains(list, part [][]byte) bool {
	for _, want := range part {
		if !slices.ContainsFunc(list, func(have []byte) bool { return bytes.Equal(have, want) }) {
			return false
		}
	}
	return true
}

// commit reads who made the commit, and holds the rule requireSignedCommits.
func (t *trial) commit(ctx context.Context) error {
	first := 1
	for _, c := range t.chains {
		if c != nil {
			first = c.Len()
		}
	}
	e, err := commitFacts(ctx, t.lib.repo, t.node.ID, listedIn(t.chain, first))
	if err != nil {
		if v := broken(t.node.ID, "", err); v != nil {
			return v
		}
		return err
	}
	t.out.facts = &e
	if e.Signature == SignedByListed || !t.mustBeSigned() {
		return nil
	}
	why := map[SignatureState]string{
		SignedByUnlisted: "its key is not listed", SignedOtherwise: "its signature is not one of SSH",
		BadlySigned: "its signature does not verify", NotSigned: "it is not signed",
	}
	return t.breaks(finding.CommitUnsigned, trust.VersionFolder, "it adds decisions or trust versions, and %s", why[e.Signature])
}

// mustBeSigned reports whether the rule, before or after the commit, asks for its
// signature.
func (t *trial) mustBeSigned() bool {
	rule := func(c *trust.Chain) bool { return c != nil && c.Current().Signed.Rules.RequireSignedCommits }
	if !rule(t.chain) && !slices.ContainsFunc(t.chains, rule) {
		return false
	}
	if !slices.ContainsFunc(t.parents, func(p *point) bool { return p.trust.ID == t.at.trust.ID }) {
		return true
	}
	return slices.ContainsFunc(t.decisions[0], func(c gitrepo.Change) bool { return t.changesAll(c) })
}

// changesAll reports whether a change against the first parent is one against
// every parent.
func (t *trial) changesAll(c gitrepo.Change) bool {
	for _, changes := range t.decisions[1:] {
		if !slices.ContainsFunc(changes, func(o gitrepo.Change) bool { return o.Path == c.Path }) {
			return false
		}
	}
	return true
}

// decisionFiles holds that decisions are only added, and only gain signatures.
func (t *trial) decisionFiles(ctx context.Context) error {
	lacking := map[canonical.Digest]int{} // how many parents lack it
	fresh := map[canonical.Digest]bool{}
	t.changed = make([]map[canonical.Digest]bool, len(t.parents))
	for k, p := range t.parents {
		t.changed[k] = map[canonical.Digest]bool{}
		current := t.chains[k] != nil && t.chains[k].Len() == t.chain.Len()
		for _, c := range t.decisions[k] {
			id, ok := trust.ParseDecisionPath(c.Path)
			switch {
			case c.After.ID.IsZero() || !c.Before.ID.IsZero():
				if err := t.kept(ctx, p, c); err != nil {
					return err
				}
			case !ok || !c.After.Mode.IsFile():
				return t.breaks(finding.DecisionInvalid, c.Path, "a %s of this name is no decision", c.After.Mode)
			default:
				// A decision must hold under the newest version where it is new to every
				// parent, or to one that has that version already: whatever a removed
				// signer decides on an old branch comes in by a merge. One that came in
				// while its signer was listed is not judged again.
				lacking[id]++
				if (current || lacking[id] == len(t.parents)) && !fresh[id] {
					fresh[id] = true
					t.fresh = append(t.fresh, id)
				}
			}
			if ok && !c.After.ID.IsZero() {
				t.changed[k][id] = true
			}
		}
	}
	return nil
}

// kept judges a decision that a parent has and that is gone or changed here. What
// was no decision there, from before a checkpoint, may go.
func (t *trial) kept(ctx context.Context, p *point, c gitrepo.Change) error {
	if !p.judged() || !c.Before.Mode.IsFile() {
		return nil
	}
	data, err := t.lib.repo.Blob(ctx, c.Before.ID)
	if err != nil {
		return err
	}
	before, _ := trust.ParseDecision(data)
	if before == nil {
		return nil
	}
	switch {
	case c.After.ID.IsZero():
		return t.breaks(finding.DecisionLost, c.Path, "the decision is gone")
	case !c.After.Mode.IsFile():
		return t.breaks(finding.DecisionLost, c.Path, "the decision has become a %s", c.After.Mode)
	case c.After.ID == c.Before.ID:
		return nil
	}
	if data, err = t.lib.repo.Blob(ctx, c.After.ID); err != nil {
		return err
	}
	after, err := trust.ParseDecision(data)
	switch {
	case err != nil:
		return t.breaks(finding.DecisionInvalid, c.Path, "%v", err)
	case after.Statement.ID() != before.Statement.ID():
		return t.breaks(finding.DecisionChanged, c.Path, "the statement of the decision is another one")
	case !contains(after.Signatures, before.Signatures):
		return t.breaks(finding.DecisionChanged, c.Path, "a signature of the decision is gone")
	}
	return nil
}

// lockfile holds that the lockfile stays, and parses.
func (t *trial) lockfile(ctx context.Context) error {
	var err error
	if t.lock, err = t.lib.lockfile(ctx, t.at); err != nil {
		if e, ok := errors.AsType[*lockfile.Error](err); ok {
			return t.breaks(finding.LockfileInvalid, t.lib.layout.lockfile, "%v", e)
		}
		return err
	}
	for _, p := range t.parents {
		lock, err := t.lib.lockfileOrNone(ctx, p)
		if err != nil {
			return err
		}
		t.locks = append(t.locks, lock)
		if p.judged() && !p.lockfile.ID.IsZero() && t.at.lockfile.ID.IsZero() {
			return t.breaks(finding.LockfileRemoved, t.lib.layout.lockfile, "the lockfile is gone")
		}
	}
	return nil
}
