package project

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/surface"
)

// GateOptions say what the gate checks.
type GateOptions struct {
	CompareOptions
	Offline bool // neither network nor process
}

// Gate is the check of a pull request: the lockfile is valid and the base's rules
// hold, the configurations name the same servers with the same sources, and no
// live surface differs. What needs neither network nor process is judged first;
// where that fails nothing is contacted. What is wrong with the source of one server
// keeps no other from being listed.
func (p *Project) Gate(ctx context.Context, opts GateOptions) (*report.Report, error) {
	opts.offline = opts.Offline
	rep := p.newReport("ci", p.Path+" against the live servers", opts.FailOn)
	if opts.Offline {
		rep.Subject = p.Path + ", offline"
	}
	base, undecided := p.findBase(ctx, opts.BaseOptions)
	if undecided != nil {
		rep.Findings = append(rep.Findings, *undecided)
	}
	rep.Findings = append(rep.Findings, base.notes...)
	file, err := p.gateLockfile(ctx, base, rep)
	if err != nil {
		return nil, err
	}
	if file == nil {
		rep.Conclude()
		return rep, nil
	}
	judged, err := p.gateDecisions(ctx, base, file, rep)
	if err != nil {
		return nil, err
	}
	judged.noteOlder(rep.Findings)
	set, err := p.configured(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	rep.Findings = append(rep.Findings, set.Findings...)
	subjects, err := p.subjects(set, file, nil)
	if err != nil {
		return nil, err
	}
	if err := p.settle(ctx, subjects, file, base, judged, opts.CompareOptions); err != nil {
		return nil, err
	}
	switch {
	case opts.Offline:
	case finding.ExitCode(rep.Findings, opts.FailOn) == 1:
		rep.Subject = p.Path + "; no server was contacted, since this fails already"
	default:
		p.list(ctx, subjects, opts.Listing)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, s := range subjects {
		p.gateSubject(s, opts, rep)
	}
	p.addWaiting(ctx, base, file, judged, rep)
	rep.Aside = judged.aside()
	rep.Conclude()
	return rep, nil
}

// gateSubject reports a subject. Offline a new source is no finding: nothing is
// started, and it stands in the lockfile that is reviewed.
func (p *Project) gateSubject(s *subject, opts GateOptions, rep *report.Report) {
	if opts.Offline {
		s.findings = slices.DeleteFunc(s.findings, func(f finding.Finding) bool {
			return f.Code == finding.SourceNew || f.Code == finding.SurroundingsChanged || f.Code == finding.ServerNotStarted || f.Code == finding.VariableUnset
		})
	}
	p.report(s, func(string, surface.Kind, string) bool { return true }, rep)
	if last := &rep.Servers[len(rep.Servers)-1]; s.surface == nil && s.locked != nil && len(s.findings)+len(s.undecidedBy) == 0 && last.State != report.Disabled {
		last.State, last.Counts = report.NotChecked, countsOfEntry(s.locked)
	}
}

// gateLockfile reads and checks the lockfile by itself and against the base. It
// returns nil where there is none to go on with.
func (p *Project) gateLockfile(ctx context.Context, base *Base, rep *report.Report) (*lockfile.File, error) {
	file, err := p.Load()
	if errors.Is(err, ErrNoLockfile) {
		code := finding.LockfileMissing
		if base.Lockfile != nil {
			code = finding.LockfileRemoved
		}
		rep.Findings = append(rep.Findings, finding.New(code, finding.Place{File: p.Path}, err.Error()))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rep.Findings = append(rep.Findings, p.checkFile(file)...)
	rep.Findings = append(rep.Findings, p.secondLockfiles(ctx)...)
	hidden, err := p.hidden(ctx, file)
	if err != nil {
		return nil, err
	}
	rep.Findings = append(rep.Findings, hidden...)
	if base.Known() {
		rep.Findings = append(rep.Findings, p.checkCommitted(ctx)...)
		rep.Findings = append(rep.Findings, p.otherOnBase(ctx, base)...)
		gone, err := p.unreached(ctx, base)
		if err != nil {
			return nil, err
		}
		rep.Findings = append(rep.Findings, gone...)
		rep.Findings = append(rep.Findings, p.againstBase(ctx, base, file)...)
	}
	return file, nil
}

// otherOnBase reports a lockfile that the base has where this one would take its
// place in silence: one of the format that is preferred, in the same folder, or
// one in a folder above while this one is new. The folder that a run starts in
// decides which is read, and what is read decides which trust list judges.
func (p *Project) otherOnBase(ctx context.Context, base *Base) []finding.Finding {
	at, err := p.gitPath(p.Path)
	if err != nil {
		return nil
	}
	var names []string
	if p.original {
		names = append(names, path.Join(path.Dir(at), lockfile.DefaultName))
	}
	for dir := path.Dir(at); base.Lockfile == nil && dir != "."; {
		dir = path.Dir(dir)
		names = append(names, path.Join(dir, lockfile.DefaultName), path.Join(dir, OriginalName))
	}
	for _, name := range names {
		if _, found := p.blobAt(ctx, base.Commit, name); !found {
			continue
		}
		f := finding.New(finding.LockfileRemoved, finding.Place{File: p.Path}, fmt.Sprintf("the base is pinned by %s, and this tree is judged by %s, which is new", name, at))
		f.Hint = "Restore the one of the base, or add the new one in a change of its own, checked with `-C` where the base's is."
		return []finding.Finding{f}
	}
	return nil
}

// checkFile recomputes every hash of a lockfile of the work tree, from itself and
// from the readable copies.
func (p *Project) checkFile(file *lockfile.File) []finding.Finding {
	findings := lockfile.Check(file)
	if !p.original {
		findings = append(findings, lockfile.CheckCopies(file, p.store.ReadCopy)...)
		if paths, err := p.store.Files(); err == nil { // what cannot be listed holds no copy, which was found above
			findings = append(findings, lockfile.StrayCopies(file, paths)...)
		}
	}
	return findings
}

// checkCommitted holds that the lockfile of the work tree is the committed one,
// as a regular file: what is judged must be what is reviewed.
func (p *Project) checkCommitted(ctx context.Context) []finding.Finding {
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err == nil {
		var at string
		if at, err = p.gitPath(p.Path); err == nil {
			err = p.repo.CheckWorktreeFile(ctx, head, at)
		}
	}
	if err == nil {
		return nil
	}
	f := finding.New(finding.LockfileSymlink, finding.Place{File: p.Path}, err.Error())
	return []finding.Finding{f}
}

// againstBase holds the rules against going back.
func (p *Project) againstBase(ctx context.Context, base *Base, file *lockfile.File) []finding.Finding {
	if base.Lockfile == nil {
		return nil
	}
	var out []finding.Finding
	for _, was := range base.Lockfile.Servers {
		now := file.Server(was.Name)
		if now == nil || now.Absent {
			continue
		}
		if lost := coverageLost(was, now); len(lost) > 0 {
			f := finding.New(finding.CoverageReduced, finding.Place{File: p.Path, Line: now.Line, Server: was.Name}, strings.Join(lost, "; "))
			out = append(out, f)
		}
	}
	if older := p.olderCommit(ctx, base); !older.IsZero() {
		f := finding.New(finding.LockfileOlder, finding.Place{File: p.Path}, "it is the lockfile of the earlier commit "+older.Short())
		out = append(out, f)
	}
	return out
}

// coverageLost tells what an entry covers less, or less exactly, than it did.
func coverageLost(was, now *lockfile.Server) []string {
	if now.Skipped != "" && was.Skipped == "" {
		return []string{"is no longer covered: " + now.Skipped}
	}
	var lost []string
	covered := was.Covers
	if covered == nil {
		covered = []string{"tools"}
	}
	for _, word := range covered {
		if !now.CoversKind(word) {
			lost = append(lost, "no longer covers "+word)
		}
	}
	if was.Source != nil && now.Source == nil {
		lost = append(lost, "no longer records its source")
	}
	for it := range was.Items() {
		if same := now.Item(it.Kind, it.Name); same != nil && it.Item != nil && !it.Item.Digest.IsZero() && same.Digest.IsZero() {
			return append(lost, "no longer records digests")
		}
	}
	return lost
}

// maxHistory bounds how far back an older lockfile is looked for, in commits.
const maxHistory = 1000

// olderCommit finds the commit before the base whose lockfile is the one in the
// work tree, byte for byte, where the base has another. A clone without that
// history cannot tell; the base's other rules hold all the same.
func (p *Project) olderCommit(ctx context.Context, base *Base) gitrepo.Hash {
	at, err := p.gitPath(p.Path)
	if err != nil {
		return gitrepo.Hash{}
	}
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return gitrepo.Hash{}
	}
	now, ok := p.blobAt(ctx, head, at)
	if !ok {
		return gitrepo.Hash{}
	}
	if was, ok := p.blobAt(ctx, base.Commit, at); !ok || was == now {
		return gitrepo.Hash{}
	}
	n := 0
	for node, err := range p.repo.FirstParents(ctx, base.Commit) {
		if n++; err != nil || n > maxHistory {
			break
		}
		if was, ok := p.blobAt(ctx, node.ID, at); ok && was == now {
			return node.ID
		}
	}
	return gitrepo.Hash{}
}

func (p *Project) blobAt(ctx context.Context, commit gitrepo.Hash, path string) (gitrepo.Hash, bool) {
	tree, err := p.repo.TreeOf(ctx, commit)
	if err != nil {
		return gitrepo.Hash{}, false
	}
	entry, found, err := p.repo.Lookup(ctx, tree, path)
	return entry.ID, found && err == nil
}

// secondLockfiles reports a lockfile of the other name beside the one in use.
func (p *Project) secondLockfiles(context.Context) []finding.Finding {
	if p.original || !p.exists(OriginalName) || p.Path != lockfile.DefaultName {
		return nil
	}
	f := finding.New(finding.LockfileSecond, finding.Place{File: OriginalName}, OriginalName+" is beside "+p.Path+" and is not read")
	f.Grade = finding.Note
	return []finding.Finding{f}
}
