package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/gitrepo"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/settled"
	"agentgateway-lock/pkg/source"
)

// settling is what decides whether sources are settled in one run.
type settling struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one run
	p        *Project
	judged   *judgement
	disk     settled.Files
	base     *Base
	allowed  []string // --allow-source, for one run
	offline  bool     // surroundings are not looked at
	approved func(*lockfile.Server) bool
	memory   *settled.Memory
	remote   string // the remote's URL
	file     *lockfile.File

	askedRemote bool
	facts       settled.Facts
	// asHead tells whether the configurations name for a server what HEAD's do.
	asHead func(server string) bool
}

// newSettling reads what the rule looks at that is the same for all servers.
func (p *Project) newSettling(ctx context.Context, file *lockfile.File, base *Base, judged *judgement, opts CompareOptions) *settling {
	s := &settling{ctx: ctx, p: p, judged: judged, disk: p.diskFiles(ctx), file: file, base: base, allowed: opts.AllowSource, offline: opts.offline, memory: p.memory()}
	s.facts = settled.Facts{CI: p.Env.inCI(), Event: base.Event, HeadIsEvents: base.HeadIsEvents}
	remote, err := p.remoteURL(ctx)
	s.remote = remote
	s.facts.RemoteKnown = err == nil && s.memory.Knows(remote)
	if d := &base.Default; !d.Commit.IsZero() && !base.Head.IsZero() {
		on, err := p.repo.OnFirstParents(ctx, d.Commit, base.Head)
		s.facts.HeadOnDefault = err == nil && on
	}
	s.asHead = func(string) bool { return false }
	if !s.facts.CI && s.facts.HeadOnDefault && s.facts.RemoteKnown {
		s.asHead = p.asHead(ctx, file, base.Head)
	}
	s.approved = func(server *lockfile.Server) bool { return judged.approves(server, s.anchored()) }
	return s
}

// anchored reports whether the trust list that judges is one that this user has a
// reason to believe: its root is pinned, or the default branch of a remote that the
// user knows has it; in CI, the base.
func (s *settling) anchored() bool {
	return s.p.root != nil || s.base.Vouched && (s.facts.CI || s.facts.RemoteKnown)
}

// asHead makes the comparison of disk and HEAD: nothing is as in HEAD where the
// lockfile is another one.
func (p *Project) asHead(ctx context.Context, file *lockfile.File, head gitrepo.Hash) func(server string) bool {
	none := func(string) bool { return false }
	at, err := p.gitPath(p.Path)
	if err != nil || p.repo.CheckWorktreeFile(ctx, head, at) != nil {
		return none
	}
	folder := p.folder()
	files, err := p.repo.FS(ctx, head, folder)
	if err != nil {
		return none
	}
	then, err := p.configuredIn(ctx, files, file, nil)
	if err != nil {
		return none
	}
	now, err := p.configured(ctx, file, nil)
	if err != nil {
		return none
	}
	return func(server string) bool {
		a, b := then.Server(server), now.Server(server)
		if a == nil || b == nil {
			return a == b && len(then.Undecided[server]) == 0
		}
		return a.Disabled == b.Disabled && a.Source.Equal(b.Source)
	}
}

// verdict says what a run may do with a source.
type verdict struct {
	settled bool
	finding *finding.Finding // why not
}

// judge decides whether the source of a server is settled. At least one of
// configured and locked is not nil.
func (s *settling) judge(configured *config.Server, locked *lockfile.Server) verdict {
	switch {
	case locked == nil:
		return s.notLocked(configured, "configured, and not in the lockfile")
	case locked.Absent:
		return s.notLocked(configured, "configured, and in the lockfile it is absent")
	case configured != nil && locked.Source != nil && !configured.Source.Equal(locked.Source):
		return verdict{finding: sourceChanged(configured, locked)}
	}
	src := locked.Source
	if src == nil {
		src = configured.Source
	}
	key, digest := s.key(locked.Name), src.Digest()
	f := s.facts
	f.Base, f.Default = s.base.Vouched && sameSource(s.base.Lockfile, locked.Name, src), sameSource(s.base.Default.Lockfile, locked.Name, src)
	f.DiskIsHead = s.asHead(locked.Name)
	f.Approved = s.approved(locked)
	f.Remembered = s.memory.Find(key, digest) != nil
	f.Allowed = slices.Contains(s.allowed, locked.Name) || s.memory.Allowed(key, digest)
	f.Surroundings = func(way settled.Way) settled.Difference { return s.surroundings(way, locked, src) }
	judged := settled.Judge(&f)
	if judged.Way == "" && judged.Words == "" && s.acceptRemote(&f) {
		f.DiskIsHead = s.asHead(locked.Name)
		judged = settled.Judge(&f)
	}
	switch {
	case judged.Way != "", judged.Words != "" && s.looked(key, src, judged):
		return verdict{settled: true}
	case judged.Words != "":
		return verdict{finding: s.surroundingsChanged(locked, judged)}
	}
	return verdict{finding: s.sourceNew(locked, src, &f)}
}

func (s *settling) key(server string) settled.Key { return s.p.memoryKey(s.remote, server) }

// asks reports whether the user can be asked something that this run is about.
func (s *settling) asks() bool {
	return !s.facts.CI && !s.offline && s.p.Env.Confirm != nil && s.p.memoryName() != ""
}

// acceptRemote asks once whether the remote of this clone is one the user knows, where
// that is what a source waits for.
func (s *settling) acceptRemote(f *settled.Facts) bool {
	if s.askedRemote || f.RemoteKnown || !f.Default || !f.Base && !f.HeadOnDefault || !s.asks() {
		return false
	}
	s.askedRemote = true
	what := "its remote is " + s.remote
	if s.remote == "" {
		what = "it has no remote"
	}
	yes, err := s.p.Env.Confirm([]string{s.p.clone(), what}, "Start and contact what the default branch of this clone has?")
	if err != nil || !yes || s.p.updateMemory(func(m *settled.Memory) { m.Accept(s.remote) }) != nil {
		return false
	}
	s.facts.RemoteKnown, f.RemoteKnown = true, true
	if s.facts.HeadOnDefault {
		s.asHead = s.p.asHead(s.ctx, s.file, s.base.Head)
	}
	return true
}

// looked reports whether the user has seen these surroundings and accepted them, and
// asks where they have not.
func (s *settling) looked(key settled.Key, src *source.Source, v settled.Verdict) bool {
	if v.Difference.Err != nil {
		return false
	}
	now, err := s.p.surroundingsOf(src, s.disk)
	if err != nil {
		return false
	}
	look := settled.Look{Key: key, Source: src.Digest(), Surroundings: now.Sum}
	if s.memory.Looked(look) {
		return true
	}
	if !s.asks() {
		return false
	}
	lines := append([]string{fmt.Sprintf("%s: %s", key.Server, source.Describe(src)), "differs from " + sides[v.Words] + ":"}, listed(v.Difference, len(v.Difference.Files))...)
	yes, err := s.p.Env.Confirm(lines, "Have you looked at these files, and is it started all the same?")
	return err == nil && yes && s.p.updateMemory(func(m *settled.Memory) { m.Look(look) }) == nil
}

// sides say what surroundings were compared with, for people.
var sides = map[settled.Way]string{
	settled.OnDefault: "HEAD", settled.OnBase: "the base", settled.Remembered: "your last lock", settled.Approved: "what was approved",
}

// surroundingsChanged reports that what a settled command runs is not what it ran.
func (s *settling) surroundingsChanged(locked *lockfile.Server, v settled.Verdict) *finding.Finding {
	f := finding.New(finding.SurroundingsChanged, finding.Place{Server: locked.Name, Kind: "source", Line: locked.Line},
		fmt.Sprintf("the command is settled, and what it runs differs from %s: it was not started", sides[v.Words]))
	if v.Difference.Err != nil {
		f.Summary = "the command is settled, and what it runs cannot be compared: it was not started"
		f.Detail = v.Difference.Err.Error()
	} else {
		f.Detail = strings.Join(listed(v.Difference, 20), "\n")
	}
	f.Hint = fmt.Sprintf("Look at the files, then pass `--allow-source %s` for one run, with `--remember` until the command changes; or have them merged.", locked.Name)
	if s.facts.CI {
		f.Hint = fmt.Sprintf("Look at the files; a maintainer can push the commits to a branch of this repository, or pass `--allow-source %s` for one run.", locked.Name)
	}
	return &f
}

// sourceNew reports a source that nothing settles, and what would.
func (s *settling) sourceNew(locked *lockfile.Server, src *source.Source, facts *settled.Facts) *finding.Finding {
	f := finding.New(finding.SourceNew, finding.Place{Server: locked.Name, Kind: "source", Line: locked.Line},
		"nobody has settled this source: nothing was started or contacted")
	f.Detail = "new: " + source.Describe(src)
	if s.base.Lockfile != nil {
		if was := s.base.Lockfile.Server(locked.Name); was != nil && was.Source != nil {
			f.Detail = "was: " + source.Describe(was.Source) + "\nnow: " + source.Describe(src)
			if sameSource(s.base.Lockfile, locked.Name, src) {
				f.Detail = "the base has it too: " + source.Describe(src)
			}
		}
	}
	f.Hint = s.hint(locked.Name, facts)
	return &f
}

// hint says what would settle a source here, the nearest first. A lock is none of
// it: on a stranger's branch it would run what the stranger wrote.
func (s *settling) hint(server string, f *settled.Facts) string {
	program := s.p.Env.Program
	once := fmt.Sprintf("or look at the command and pass `--allow-source %s` for one run", server)
	switch {
	case !f.CI && f.Default && !f.RemoteKnown && (f.Base || f.HeadOnDefault):
		return fmt.Sprintf("The default branch has it: run `%s allow` once if you trust this clone's remote, %s.", program, once)
	case f.CI && f.Event.Kind == settled.PullRequest:
		return fmt.Sprintf("A maintainer can push the commits to a branch of this repository, or an approver can approve it after `%s review`; %s.", program, once)
	case f.CI && f.Event.Kind == settled.NoEvent:
		return fmt.Sprintf("Nothing says what this run is about: name the base with `--base REF` and the default branch with `--default-branch NAME`, %s.", once)
	case f.Default && !f.Base:
		return fmt.Sprintf("The default branch has it: merge or rebase on it, %s.", once)
	case s.base.Default.Err != nil:
		return fmt.Sprintf("The default branch is not known here: name it with `--default-branch NAME`, %s.", once)
	}
	return fmt.Sprintf("It is settled once the default branch has it, or an approver has approved it after `%s review`; %s.", program, once)
}

// notLocked is a server that the configuration names and the lockfile does not say
// to be there.
func (s *settling) notLocked(configured *config.Server, why string) verdict {
	f := finding.New(finding.ServerAdded, placeOf(configured), why)
	f.Detail = "not started or contacted: " + source.Describe(configured.Source)
	return verdict{finding: &f}
}

// switchedToAnother reports a server that is switched off and names another source
// than the lockfile: not every client knows that it is off.
func (s *subject) switchedToAnother() bool {
	return s.configured != nil && s.configured.Disabled && s.configured.Source != nil &&
		s.locked != nil && !s.locked.Absent && s.locked.Source != nil && !s.configured.Source.Equal(s.locked.Source)
}

func sourceChanged(configured *config.Server, locked *lockfile.Server) *finding.Finding {
	f := finding.New(finding.SourceChanged, finding.Place{Server: locked.Name, Kind: "source", Line: locked.Line},
		"the configuration names another source than the lockfile: neither was started or contacted")
	f.Detail = "locked:     " + source.Describe(locked.Source) + "\nconfigured: " + source.Describe(configured.Source)
	return &f
}

// placeOf is where the configuration names a server.
func placeOf(s *config.Server) finding.Place {
	place := finding.Place{Server: s.Name}
	if len(s.Places) > 0 {
		place.File, place.Line = s.Places[0].File, s.Places[0].Line
	}
	return place
}
