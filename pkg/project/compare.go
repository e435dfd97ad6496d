package project

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/surface"
)

// CompareOptions say what a comparison is about.
type CompareOptions struct {
	Listing
	Items []string // SERVER or SERVER/NAME; none means all
	BaseOptions
	AllowSource []string // servers whose source is settled for this run
	Remember    bool     // settle them for this user and clone until their words change
	NoExec      bool     // start nothing
	FailOn      finding.Grade

	offline bool // nothing is started or contacted anyway
}

// Compare compares the lockfile with the live servers.
func (p *Project) Compare(ctx context.Context, opts CompareOptions) (*report.Report, error) {
	file, err := p.Load()
	if err != nil {
		return nil, err
	}
	rep := p.newReport("diff", p.Path+" against the live servers", opts.FailOn)
	base, undecided := p.findBase(ctx, opts.BaseOptions)
	if undecided != nil {
		rep.Findings = append(rep.Findings, *undecided)
	}
	rep.Findings = append(rep.Findings, base.notes...)
	if err := p.compareLive(ctx, file, base, opts, rep); err != nil {
		return nil, err
	}
	rep.Conclude()
	return rep, nil
}

// compareLive adds to rep how the live servers differ from the lockfile.
func (p *Project) compareLive(ctx context.Context, file *lockfile.File, base *Base, opts CompareOptions, rep *report.Report) error {
	set, err := p.configured(ctx, file, nil)
	if err != nil {
		return err
	}
	sel, err := selectionOf(opts.Items, set, file)
	if err != nil {
		return err
	}
	subjects, err := p.subjects(set, file, slices.Sorted(maps.Keys(sel)))
	if err != nil {
		return err
	}
	rep.Findings = append(rep.Findings, about(set, subjects)...)
	for _, f := range p.checkFile(file) {
		// Form is the gate's matter; a hash that does not fit is what was compared.
		if f.Grade == finding.Critical && sel.has(f.Place.Server) {
			rep.Findings = append(rep.Findings, f)
		}
	}
	judged, _, err := p.judge(ctx, base, file) // without a judgement nothing is approved
	if err != nil {
		return err
	}
	if err := p.settle(ctx, subjects, file, base, judged, opts); err != nil {
		return err
	}
	p.list(ctx, subjects, opts.Listing)
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, s := range subjects {
		if s.surface != nil {
			if err := sel.missing(s.name, s.sides()...); err != nil {
				return err
			}
		}
		p.report(s, sel.pick, rep)
	}
	return nil
}

// settle blocks every subject whose source is not settled, or that this run must
// not start.
func (p *Project) settle(ctx context.Context, subjects []*subject, file *lockfile.File, base *Base, judged *judgement, opts CompareOptions) error {
	if opts.Remember {
		if err := p.rememberAllowed(ctx, file, opts.AllowSource); err != nil {
			return err
		}
	}
	rule := p.newSettling(ctx, file, base, judged, opts)
	for _, s := range subjects {
		if s.blocked {
			if s.switchedToAnother() {
				s.add(*sourceChanged(s.configured, s.locked))
			}
			continue
		}
		if s.configured == nil && s.locked != nil && !s.locked.Absent {
			s.block(finding.New(finding.ServerRemoved, finding.Place{Server: s.name, File: p.Path, Line: s.locked.Line}, "in the lockfile, and no longer configured"))
			continue
		}
		if s.locked != nil && s.locked.Skipped != "" && !s.locked.Absent {
			if !s.configured.Source.Equal(s.locked.Source) {
				s.block(*sourceChanged(s.configured, s.locked))
				continue
			}
			s.skip = s.locked.Skipped
			s.block(finding.New(finding.ServerSkipped, finding.Place{Server: s.name, File: p.Path, Line: s.locked.Line}, "not covered: "+s.skip))
			continue
		}
		if s.locked != nil && s.locked.Source == nil {
			s.add(finding.New(finding.SourceUnrecorded, finding.Place{Server: s.name, File: p.Path, Line: s.locked.Line}, "the lockfile does not record how it is reached"))
		}
		if v := rule.judge(s.configured, s.locked); !v.settled {
			s.block(*v.finding)
			continue
		}
		if opts.NoExec && s.source.Transport == source.Stdio {
			s.block(finding.New(finding.ServerNotStarted, finding.Place{Server: s.name}, "not started: the run may start nothing"))
		}
	}
	return nil
}

// report adds the outcome of one subject.
func (p *Project) report(s *subject, pick func(server string, kind surface.Kind, name string) bool, rep *report.Report) {
	entry := report.Server{Name: s.name, Era: s.era, Source: s.source, State: report.Unchanged}
	for _, c := range s.changes {
		if pick(s.name, c.Kind, c.Name) && !s.isMoving(c.Kind, c.Name) {
			entry.Changes = append(entry.Changes, c)
		}
	}
	switch {
	case s.skip != "":
		entry.State = report.Skipped
	case s.configured != nil && s.configured.Disabled:
		entry.State = report.Disabled
	case s.surface != nil:
		entry.Counts = countsOf(*s.surface)
		if len(entry.Changes) > 0 || len(s.moving) > 0 {
			entry.State = report.Differs
		}
	case len(s.undecidedBy) > 0:
		entry.State = report.Unchecked
	case s.locked == nil:
		entry.State = report.New
	case s.configured == nil:
		entry.State = report.Gone
	case s.undecided():
		entry.State = report.Unchecked
	default:
		entry.State = report.Differs
	}
	rep.Servers = append(rep.Servers, entry)
	findings := append(slices.Clone(s.findings), report.FindingsOf(s.name, entry.Changes)...)
	for i := range findings {
		p.place(&findings[i].Place, s.locked)
	}
	rep.Findings = append(rep.Findings, findings...)
}

// sides are what is known of a subject that was listed.
func (s *subject) sides() []drift.Side {
	return append(entrySides(s.locked), drift.FromSurface(*s.surface, s.source, s.covers))
}

func (s *subject) isMoving(kind surface.Kind, name string) bool {
	for _, u := range s.moving {
		if u.Kind == kind && u.Name == name {
			return true
		}
	}
	return false
}

// place points a finding without a file to the line of its item in the lockfile.
func (p *Project) place(place *finding.Place, locked *lockfile.Server) {
	if place.File != "" || locked == nil {
		return
	}
	place.File, place.Line = p.Path, locked.LineOf(place.Kind, place.Name)
}

// History compares two lockfiles of git history without any network. to is the
// work tree where it is empty.
func (p *Project) History(ctx context.Context, from, to string, failOn finding.Grade, args []string) (*report.Report, error) {
	if p.repo == nil {
		return nil, fmt.Errorf("%s is not in a git repository, so --from has no meaning", p.Root)
	}
	before, oldCopies, err := p.at(ctx, from)
	if err != nil {
		return nil, err
	}
	now, newCopies, err := p.at(ctx, to)
	if err != nil {
		return nil, err
	}
	end := to
	if end == "" {
		end = "the work tree"
	}
	rep := p.newReport("diff", fmt.Sprintf("%s at %s against %s", p.Path, from, end), failOn)
	rep.Full = "diff --from " + from
	if to != "" {
		rep.Full += " --to " + to
	}
	rep.Full += " --full"
	all := &lockfile.File{Servers: slices.Concat(before.Servers, now.Servers)}
	sel, err := selectionOf(args, &config.Set{}, all)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, s := range all.Servers {
		if sel.has(s.Name) {
			names[s.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := sel.missing(name, entrySides(before.Server(name), now.Server(name))...); err != nil {
			return nil, err
		}
		p.compareEntries(name, before.Server(name), now.Server(name), oldCopies, newCopies, sel.pick, rep)
	}
	rep.Conclude()
	return rep, nil
}

// at reads the lockfile of a ref, or of the work tree, and how to read its copies.
func (p *Project) at(ctx context.Context, ref string) (*lockfile.File, entryCopies, error) {
	if ref == "" {
		file, err := p.Load()
		if err != nil {
			return nil, nil, err
		}
		return file, p.copies(file), nil
	}
	commit, err := p.repo.Resolve(ctx, ref)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", ref, err)
	}
	file, err := p.lockfileAt(ctx, commit)
	if err != nil {
		return nil, nil, fmt.Errorf("%s at %s: %w", p.Path, ref, err)
	}
	if file == nil {
		return nil, nil, fmt.Errorf("there is no %s at %s", p.Path, ref)
	}
	return file, copiesOf(file, func(path string) ([]byte, error) { return p.fileAt(ctx, commit, path) }), nil
}

// entrySides are the sides of the entries that are there, without texts.
func entrySides(entries ...*lockfile.Server) []drift.Side {
	var sides []drift.Side
	for _, e := range entries {
		if e != nil {
			sides = append(sides, drift.FromLockfile(e, func(surface.Kind, string) []byte { return nil }))
		}
	}
	return sides
}

func (p *Project) compareEntries(name string, before, now *lockfile.Server, oldCopies, newCopies entryCopies, pick func(string, surface.Kind, string) bool, rep *report.Report) {
	entry := report.Server{Name: name, State: report.Unchanged}
	var findings []finding.Finding
	place := finding.Place{Server: name, File: p.Path}
	switch {
	case before == nil || before.Absent && !now.Absent:
		entry.State, entry.Source, entry.Counts = report.New, now.Source, countsOfEntry(now)
		place.Line = now.Line
		findings = append(findings, finding.New(finding.ServerAdded, place, "new in the lockfile: "+source.Describe(now.Source)))
		before = &lockfile.Server{Name: name, Covers: now.Covers}
	case now == nil || now.Absent && !before.Absent:
		entry.State, entry.Source, entry.Counts = report.Gone, before.Source, countsOfEntry(before)
		findings = append(findings, finding.New(finding.ServerRemoved, place, "no longer in the lockfile"))
		rep.Servers = append(rep.Servers, entry)
		rep.Findings = append(rep.Findings, findings...)
		return
	default:
		entry.Source, entry.Counts = now.Source, countsOfEntry(now)
	}
	for _, c := range drift.Compare(drift.FromLockfile(before, oldCopies(before)), drift.FromLockfile(now, newCopies(now))) {
		if pick(name, c.Kind, c.Name) {
			entry.Changes = append(entry.Changes, c)
		}
	}
	if entry.State == report.Unchanged && len(entry.Changes) > 0 {
		entry.State = report.Differs
	}
	findings = append(findings, report.FindingsOf(name, entry.Changes)...)
	for i := range findings {
		p.place(&findings[i].Place, now)
	}
	rep.Servers = append(rep.Servers, entry)
	rep.Findings = append(rep.Findings, findings...)
}
