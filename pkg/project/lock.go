package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/trust"
)

// LockOptions say what a lock does.
type LockOptions struct {
	Listing
	Servers      []string // none means all
	DryRun       bool     // write nothing
	Stamp        bool     // set generatedAt and generatedBy anew
	Include      []string // kinds to cover more, as words of covers
	Exclude      []string // kinds to cover no longer
	AllowPrivate []string // servers that may stand at private addresses
	AllowLiteral []string // servers whose sources may hold what looks like a secret
	Skip         []string // servers to record as known and not covered
	Reason       string   // why; empty for no reason given
	// Target are gateway target names by server, where the name is none; empty to
	// take one back.
	Target map[string]string
}

// Lock lists every configured server and writes what it shows. A server that
// could not be listed keeps its entry byte for byte; nothing is written where
// nothing changed. The report's exit code is 3 where a server could not be
// decided.
func (p *Project) Lock(ctx context.Context, opts LockOptions) (*report.Report, error) {
	rep, locked, err := p.lock(ctx, opts)
	if err == nil {
		err = p.remember(ctx, locked)
	}
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// lock is Lock without what is remembered of it: the sources that it listed.
func (p *Project) lock(ctx context.Context, opts LockOptions) (*report.Report, []lockedSource, error) {
	if p.original && !opts.DryRun {
		return nil, nil, &hintError{fmt.Errorf("%s is of the original format, which is read and not written", p.Path), fmt.Sprintf("run `%s init` to write %s beside it", p.Env.Program, lockfile.DefaultName)}
	}
	file, first, err := p.loadOrNew()
	if err != nil {
		return nil, nil, err
	}
	set, err := p.configured(ctx, file, opts.AllowLiteral)
	if err != nil {
		return nil, nil, err
	}
	if len(set.Servers) == 0 && len(set.Undecided) == 0 && first {
		return nil, nil, errNoServers(set.Read)
	}
	subjects, err := p.subjects(set, file, opts.Servers)
	if err != nil {
		return nil, nil, err
	}
	if err := opts.apply(subjects); err != nil {
		return nil, nil, err
	}
	for _, s := range subjects {
		switch {
		case s.configured == nil && !s.blocked:
			s.blocked = true // gone from the configuration
		case s.skip == "" && s.locked != nil && s.locked.Skipped != "" && !s.locked.Absent && !slices.Contains(opts.Servers, s.name):
			s.skip = s.locked.Skipped // until it is locked by name
		}
		s.blocked = s.blocked || s.skip != ""
	}
	p.list(ctx, subjects, opts.Listing)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}

	rep := p.newReport("lock", "", finding.Critical)
	rep.Outcome = "locked"
	if rep.Full = p.full(ctx, opts.DryRun); rep.Full == "" {
		rep.Full = report.ShowAll
	}
	rep.Findings = append(rep.Findings, about(set, subjects)...)
	next := p.apply(subjects, file, rep)
	if err := opts.setTargets(next, rep); err != nil {
		return nil, nil, err
	}
	if !first {
		rep.Findings = append(rep.Findings, p.mended(file, next)...)
	}
	if opts.Stamp || first {
		next.stamp(p)
	}
	var kept []lockedSource
	switch {
	case first && len(next.file.Servers) == 0:
		// An empty lockfile would say that there is nothing to pin.
		rep.Subject = "no server could be locked: nothing was written"
	case opts.DryRun:
		rep.Subject, rep.Outcome = "dry run: nothing was written", "dry run"
	default:
		if first {
			if err := p.ownCopies(next.file); err != nil {
				return nil, nil, err
			}
		}
		change, err := p.change(file, first, next)
		if err != nil {
			return nil, nil, err
		}
		result, err := p.store.Write(ctx, change)
		if err != nil {
			return nil, nil, unwritten(err)
		}
		rep.Subject = wrote(p.Path, result)
		if len(result.Written) > 0 && p.exists(trust.VersionFolder) {
			rep.Advice = append(rep.Advice, fmt.Sprintf("Run `%s review` to see what now waits for a decision.", p.Env.Program))
		}
		kept = next.locked
	}
	finding.Sort(rep.Findings)
	rep.Verdict = report.Pass
	if slices.ContainsFunc(rep.Findings, func(f finding.Finding) bool { return f.Undecided }) {
		rep.Verdict, rep.ExitCode = report.Undecided, 3
	}
	return rep, kept, nil
}

// ownCopies refuses to start a lockfile of another name than the default one where
// that would change or remove readable copies: they belong to another lockfile. Two
// that hold the same texts get on.
func (p *Project) ownCopies(fresh *lockfile.File) error {
	if p.Path == lockfile.DefaultName {
		return nil
	}
	there, err := p.dir.ReadDir(lockfile.DefinitionsFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ours := map[string]bool{}
	for _, c := range lockfile.NewLayout(fresh).Copies {
		folder, _, _ := strings.Cut(strings.TrimPrefix(c.Path, lockfile.DefinitionsFolder+"/"), "/")
		ours[folder] = true
	}
	differs := slices.ContainsFunc(there, func(e fs.DirEntry) bool { return !ours[e.Name()] })
	for _, f := range lockfile.CheckCopies(fresh, p.store.ReadCopy) {
		differs = differs || f.Code == finding.DefinitionMismatch
	}
	if !differs {
		return nil
	}
	return &hintError{
		fmt.Errorf("%s holds the copies of another lockfile, and %s would be a second one beside it", lockfile.DefinitionsFolder, p.Path),
		"keep it in a folder with a .agentgateway of its own, or remove " + lockfile.DefinitionsFolder + " where the other is gone",
	}
}

// change is what a lock writes. Where another text than the locked one is in force,
// that text stands beside its copy, so that a review can show both.
func (p *Project) change(old *lockfile.File, first bool, next *pending) (lockfile.Change, error) {
	change := lockfile.Change{New: next.file, Surfaces: next.surfaces}
	a, err := p.authority()
	if err != nil {
		return change, err
	}
	if a.chain != nil {
		next.file.Trust = a.chain.Digest()
		change.Approved = p.approvedTexts(old, p.evaluate(next.file, a, nil, nil))
	}
	if !first {
		change.Old = old
	}
	return change, nil
}

// mended tells what in the entries that are made anew did not fit before.
func (p *Project) mended(file *lockfile.File, next *pending) []finding.Finding {
	var findings []finding.Finding
	for _, f := range p.checkFile(file) {
		if _, ok := next.surfaces[f.Place.Server]; ok {
			f.Hint = "This run writes it again from what the server shows."
			findings = append(findings, f)
		}
	}
	return findings
}

// unwritten gives the error of a write its code; the message says what to do.
func unwritten(err error) error {
	var (
		failed *lockfile.WriteError
		held   *lockfile.LockedError
	)
	switch {
	case errors.As(err, &failed):
		return &codedError{err, finding.LockfileUnwritable}
	case errors.As(err, &held), errors.Is(err, lockfile.ErrChanged):
		return &codedError{err, finding.LockfileBusy}
	}
	return unreadable(err)
}

// wrote says what a write did.
func wrote(path string, r lockfile.Result) string {
	var did []string
	if r.Lockfile {
		did = append(did, "wrote "+path)
	}
	if n := len(r.Written); n > 0 {
		did = append(did, fmt.Sprintf("wrote %s", copiesWord(n)))
	}
	if n := len(r.Removed); n > 0 {
		did = append(did, fmt.Sprintf("removed %s", copiesWord(n)))
	}
	if len(did) == 0 {
		return path + " is as it was"
	}
	return strings.Join(did, ", ")
}

func copiesWord(n int) string {
	if n == 1 {
		return "1 readable copy"
	}
	return fmt.Sprintf("%d readable copies", n)
}

// loadOrNew reads the lockfile, or starts one where there is none.
func (p *Project) loadOrNew() (file *lockfile.File, first bool, err error) {
	file, err = p.Load()
	if !errors.Is(err, ErrNoLockfile) {
		return file, false, err
	}
	if p.previous == nil {
		return &lockfile.File{Path: p.Path}, true, nil
	}
	file, err = p.previous.Read()
	return file, true, err
}

func errNoServers(read []string) error {
	if len(read) > 0 {
		return &codedError{&hintError{fmt.Errorf("no MCP server is configured in %s", quoted(read)), "add one to the configuration, or pass --server NAME=URL"}, finding.ConfigMissing}
	}
	return &codedError{&hintError{errors.New("no MCP configuration was found here"), "write an .mcp.json, name a configuration with --config FILE, or pass --server NAME=URL"}, finding.ConfigMissing}
}

// apply puts the options into the subjects.
func (o LockOptions) apply(subjects []*subject) error {
	for _, word := range slices.Concat(o.Include, o.Exclude) {
		if !slices.Contains(surface.AllCovers(), word) {
			return fmt.Errorf("%q is not a kind that can be covered; the kinds are %q", word, surface.AllCovers())
		}
	}
	for _, name := range o.AllowLiteral {
		if !slices.ContainsFunc(subjects, func(s *subject) bool { return s.name == name && s.configured != nil }) {
			return fmt.Errorf("--allow-literal %s: there is no such server in this run", name)
		}
	}
	for _, name := range o.Skip {
		i := slices.IndexFunc(subjects, func(s *subject) bool { return s.name == name && s.configured != nil && s.source != nil })
		if i < 0 {
			return fmt.Errorf("--skip %s: there is no server of that name whose configuration can be read", name)
		}
		subjects[i].skip = cmp.Or(o.Reason, noReason)
	}
	if o.Reason != "" && len(o.Skip) == 0 {
		return errors.New("--reason goes with --skip")
	}
	for _, name := range o.AllowPrivate {
		i := slices.IndexFunc(subjects, func(s *subject) bool { return s.name == name && s.source != nil })
		if i < 0 {
			return fmt.Errorf("--allow-private %s: there is no such server in this run", name)
		}
		src := *subjects[i].source
		src.AllowPrivate = src.Transport != source.Stdio
		subjects[i].source = &src
	}
	for _, s := range subjects {
		covers := slices.DeleteFunc(slices.Concat(s.covers, o.Include), func(word string) bool { return slices.Contains(o.Exclude, word) })
		slices.Sort(covers)
		s.covers = slices.Compact(covers)
	}
	return nil
}

// noReason is recorded where nobody says why a server is skipped.
const noReason = "no reason given"

// targetName is what the gateway takes as the name of a target.
var targetName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

const maxTargetName = 253

// setTargets sets the gateway's names of servers, listed or not.
func (o LockOptions) setTargets(next *pending, rep *report.Report) error {
	for _, name := range slices.Sorted(maps.Keys(o.Target)) {
		was, target := next.file.Server(name), o.Target[name]
		switch {
		case was == nil || was.Source == nil:
			return fmt.Errorf("--target %s: the lockfile has no such server", name)
		case target != "" && (len(target) > maxTargetName || !targetName.MatchString(target)):
			return fmt.Errorf("--target %s=%s: a target is named by lower-case letters, digits and - within, and dots between such names", name, target)
		case target == name:
			target = ""
		}
		if was.Target == target {
			continue
		}
		entry := was.Clone()
		entry.Target = target
		next.file.Put(entry)
		a := drift.Aspect{Code: finding.SourceChanged, Grade: finding.Critical, Path: "target",
			Summary: fmt.Sprintf("the gateway's target is now %s, and was %s", entry.TargetName(), was.TargetName())}
		rep.Findings = append(rep.Findings, report.FindingsOf(name, []drift.Change{{Kind: surface.KindSource, Status: drift.Changed, Aspects: []drift.Aspect{a}}})...)
	}
	return nil
}

// pending is a lockfile that is about to be written.
type pending struct {
	file     *lockfile.File
	surfaces map[string]surface.Surface // of every entry that was made anew
	locked   []lockedSource             // that this lock listed
}

func (n *pending) stamp(p *Project) {
	n.file.GeneratedBy = p.generatedBy()
	n.file.GeneratedAt = p.Env.Now().UTC().Format("2006-01-02T15:04:05.000Z")
}

// apply makes the new lockfile of what was listed and reports what changed.
func (p *Project) apply(subjects []*subject, file *lockfile.File, rep *report.Report) *pending {
	fresh := *file
	fresh.Servers = slices.Clone(file.Servers)
	next := &pending{file: &fresh, surfaces: map[string]surface.Surface{}}
	for _, s := range subjects {
		entry := report.Server{Name: s.name, Era: s.era, Source: s.source, Changes: s.changes, State: report.Unchanged}
		switch {
		case s.skip != "":
			p.applySkipped(s, next, &entry)
		case s.surface != nil && len(s.moving) == 0:
			p.applyListed(s, next, &entry)
		case s.configured == nil && s.locked != nil && !s.undecided():
			p.applyGone(s, next, &entry)
		case s.configured != nil && s.configured.Disabled:
			entry.State = report.Disabled
		default:
			entry.State, entry.Changes = report.Unchecked, nil
			for i := range s.findings {
				// A surface that moves within a run cannot be locked.
				s.findings[i].Undecided = s.findings[i].Undecided || s.findings[i].Code == finding.Unstable
			}
		}
		rep.Servers = append(rep.Servers, entry)
		rep.Findings = append(rep.Findings, s.findings...)
		if entry.State != report.New {
			rep.Findings = append(rep.Findings, report.FindingsOf(s.name, entry.Changes)...)
		}
	}
	return next
}

func (p *Project) applyListed(s *subject, next *pending, entry *report.Server) {
	made := lockfile.FromSurface(s.name, s.source, s.covers, *s.surface)
	entry.Counts = countsOf(*s.surface)
	put := s.locked == nil || s.locked.Absent || s.locked.Source == nil || s.locked.Source.Digest() != s.source.Digest()
	next.locked = append(next.locked, lockedSource{made, put})
	if s.locked == nil {
		entry.State = report.New
	} else {
		lockfile.Carry(s.locked, made)
		s.changes = p.withSource(s, s.changes)
		entry.Changes = s.changes
		if len(s.changes) > 0 {
			entry.State = report.Differs
		}
	}
	next.surfaces[s.name] = *s.surface
	next.file.Put(made)
}

// applySkipped records a server as known and not covered. What was decided about it
// stays, absent.
func (p *Project) applySkipped(s *subject, next *pending, entry *report.Server) {
	entry.State = report.Skipped
	f := finding.New(finding.ServerSkipped, placeOf(s.configured), "not covered: "+s.skip)
	s.add(f)
	if s.locked != nil && s.locked.Skipped == s.skip && s.locked.Source.Equal(s.source) {
		return
	}
	made := lockfile.NewSkipped(s.name, s.source, s.skip)
	if s.locked != nil {
		lockfile.Carry(s.locked, made)
	}
	next.surfaces[s.name] = surface.Surface{}
	next.file.Put(made)
}

// withSource adds what the listing cannot tell: that the entry now records
// another source.
func (p *Project) withSource(s *subject, changes []drift.Change) []drift.Change {
	if s.locked.Source == nil || !s.locked.Source.Equal(s.source) {
		return changes
	}
	var aspects []drift.Aspect
	add := func(path, summary string) {
		aspects = append(aspects, drift.Aspect{Code: finding.SourceChanged, Grade: finding.Critical, Path: path, Summary: summary})
	}
	if s.locked.Source.AllowPrivate != s.source.AllowPrivate {
		add("source.allowPrivate", "private addresses are now allowed")
	}
	if s.source.AllowLiteral != nil && !slices.Equal(s.locked.Source.AllowLiteral, s.source.AllowLiteral) {
		add("source.allowLiteral", "other words that look like secrets are now accepted")
	}
	if len(aspects) == 0 {
		return changes
	}
	return append([]drift.Change{{Kind: surface.KindSource, Status: drift.Changed, Aspects: aspects}}, changes...)
}

// applyGone drops the entry of a server that is no longer configured, or keeps it
// as absent where something about it was decided.
func (p *Project) applyGone(s *subject, next *pending, entry *report.Server) {
	entry.State = report.Gone
	f := finding.New(finding.ServerRemoved, finding.Place{Server: s.name}, "no longer configured: its entry is dropped")
	if s.locked.Decided() {
		f.Summary = "no longer configured: its entry stays, absent, for the decisions about it"
	}
	next.file.Retire(s.name)
	s.add(f)
}

func countsOf(found surface.Surface) map[surface.Kind]int {
	counts := map[surface.Kind]int{}
	for kind, l := range found.Lists {
		counts[kind] = len(l.Definitions)
	}
	return counts
}

func countsOfEntry(s *lockfile.Server) map[surface.Kind]int {
	counts := map[surface.Kind]int{}
	for kind, items := range s.Lists {
		n := 0
		for _, it := range items {
			if !it.Absent {
				n++
			}
		}
		counts[kind] = n
	}
	return counts
}
