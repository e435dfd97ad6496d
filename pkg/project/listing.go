package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/config"
	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// A subject is one server of a run.
type subject struct {
	name       string
	configured *config.Server    // nil where only the lockfile names it
	locked     *lockfile.Server  // nil where only the configuration names it
	findings   []finding.Finding // of reading, deciding and listing it
	blocked    bool              // it is not started or contacted
	skip       string            // why it is on purpose not covered; empty where it is
	// undecidedBy is why its configuration cannot be decided; those findings are
	// the set's.
	undecidedBy []finding.Finding

	source *source.Source // how it is reached in this run
	copies entryCopies
	covers []string

	surface *surface.Surface // nil where it was not listed
	era     string
	changes []drift.Change
	moving  []crawl.Unstable // what differed between two listings of this run
}

func (s *subject) add(f finding.Finding) {
	if f.Place.Server == "" {
		f.Place.Server = s.name
	}
	s.findings = append(s.findings, f)
}

func (s *subject) block(f finding.Finding) {
	s.blocked = true
	s.add(f)
}

// undecided reports whether a check of the server could not be made.
func (s *subject) undecided() bool {
	return len(s.undecidedBy) > 0 || slices.ContainsFunc(s.findings, func(f finding.Finding) bool { return f.Undecided })
}

// subjects pairs what is configured with what is locked, by name. only restricts
// the run to some servers; a name that is neither is an error.
func (p *Project) subjects(set *config.Set, file *lockfile.File, only []string) ([]*subject, error) {
	byName := map[string]*subject{}
	at := func(name string) *subject {
		if byName[name] == nil {
			byName[name] = &subject{name: name}
		}
		return byName[name]
	}
	for _, c := range set.Servers {
		s := at(c.Name)
		s.configured = c
		if c.Disabled {
			s.blocked = true // the set says so
		}
	}
	for name, findings := range set.Undecided {
		s := at(name)
		s.blocked, s.undecidedBy = true, findings
	}
	for _, l := range file.Servers {
		if !l.Absent || byName[l.Name] != nil {
			at(l.Name).locked = l
		}
	}
	names := slices.Sorted(maps.Keys(byName))
	if len(only) > 0 {
		for _, name := range only {
			if byName[name] == nil {
				return nil, &hintError{fmt.Errorf("there is no server %q in the configurations or the lockfile", name), "the servers are: " + joinOrNone(names)}
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(only, name) })
	}
	copies := p.copies(file)
	subjects := make([]*subject, len(names))
	for i, name := range names {
		s := byName[name]
		s.copies = copies
		s.covers = coversOf(s.locked)
		if s.configured != nil {
			s.source = s.configured.Source
		}
		if s.locked != nil && s.locked.Source != nil {
			if s.source == nil {
				s.source = s.locked.Source
			} else if s.locked.Source.AllowPrivate && s.source.URL == s.locked.Source.URL {
				allowed := *s.source
				allowed.AllowPrivate = true
				s.source = &allowed
			}
		}
		subjects[i] = s
	}
	return subjects, nil
}

// about returns the findings of a set that are about servers of the run, or about
// none: what is wrong with another is no matter of this run.
func about(set *config.Set, subjects []*subject) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(set.Findings), func(f finding.Finding) bool {
		return f.Place.Server != "" && !slices.ContainsFunc(subjects, func(s *subject) bool { return s.name == f.Place.Server })
	})
}

func joinOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return quoted(names)
}

// quoted lists names as people write lists.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}

func coversOf(locked *lockfile.Server) []string {
	if locked == nil || locked.Covers == nil || locked.Skipped != "" {
		return surface.DefaultCovers()
	}
	return slices.Clone(locked.Covers)
}

// list lists every subject that is not blocked, several at a time, and compares
// each with its lockfile entry. What differs is listed once more before it is
// believed.
func (p *Project) list(ctx context.Context, subjects []*subject, how Listing) {
	var jobs []crawl.Job
	var of []*subject
	empty := &emptyFolders{env: p.Env}
	defer empty.remove()
	for _, s := range subjects {
		if s.blocked {
			continue
		}
		endpoint, ok := p.endpoint(s)
		if !ok {
			continue
		}
		if endpoint.Transport == source.Stdio && p.elsewhere(ctx, s.source) {
			var err error
			if endpoint.Cwd, err = empty.make(); err != nil {
				s.block(finding.New(finding.ServerNotStarted, finding.Place{Server: s.name}, "there is no empty folder to start it in: "+err.Error()))
				continue
			}
		}
		jobs = append(jobs, crawl.Job{
			Endpoint: endpoint, Covers: s.covers,
			Differs: func(found surface.Surface) crawl.Difference { return p.differs(s, found) },
		})
		of = append(of, s)
	}
	p.announce(of)
	i := 0
	p.lister(how, len(jobs)).ListAll(ctx, jobs, how.Jobs, func(result crawl.Result) {
		p.take(of[i], result)
		i++
	})
}

// emptyFolders are folders that commands are started in which have no business in the
// repository: nothing of it steers them there.
type emptyFolders struct {
	env  Env
	made []func() error
}

func (e *emptyFolders) make() (string, error) {
	dir, remove, err := e.env.EmptyFolder()
	if err == nil {
		e.made = append(e.made, remove)
	}
	return dir, err
}

// remove removes the folders, with whatever the commands left in them.
func (e *emptyFolders) remove() {
	for _, remove := range e.made {
		_ = remove() // the system's own folder for such files is cleared in time
	}
}

// endpoint expands the variables of a subject's source.
func (p *Project) endpoint(s *subject) (crawl.Endpoint, bool) {
	var conn config.Connection
	var err error
	if s.configured != nil {
		conn, err = s.configured.Connect(p.Env.Lookup, p.Root)
	} else {
		conn, err = config.ConnectSource(s.name, s.source, p.Env.Lookup, p.Root)
	}
	if err != nil {
		f := finding.New(finding.VariableUnset, finding.Place{Server: s.name}, err.Error())
		if s.configured != nil {
			f.Place = placeOf(s.configured)
		}
		s.block(f)
		return crawl.Endpoint{}, false
	}
	return crawl.Endpoint{
		Name: s.name, Transport: conn.Transport, Command: conn.Command, Args: conn.Args, Cwd: conn.Cwd, Env: conn.Env,
		URL: conn.URL, Headers: conn.Headers, AllowPrivate: s.source.AllowPrivate,
		Values: conn.Values,
	}, true
}

func verbOf(src *source.Source) string {
	if src.Transport == source.Stdio {
		return "starting"
	}
	return "contacting"
}

// differs tells a listing apart from the locked surface.
func (p *Project) differs(s *subject, found surface.Surface) crawl.Difference {
	if s.locked == nil {
		return crawl.Unknown
	}
	for _, c := range p.compare(s, found) {
		if c.Kind != surface.KindSource {
			return crawl.Changed
		}
	}
	return crawl.Same
}

// compare tells how a listing differs from the locked surface of a subject.
func (p *Project) compare(s *subject, found surface.Surface) []drift.Change {
	before := drift.Side{Covers: s.covers, Lists: map[surface.Kind]map[string]drift.Item{}}
	src := s.source
	if s.locked != nil {
		before = drift.FromLockfile(s.locked, s.copies(s.locked))
		if s.locked.Source == nil {
			src = nil
		}
	}
	return drift.Compare(before, drift.FromSurface(found, src, s.covers))
}

// take judges the result of listing one subject.
func (p *Project) take(s *subject, result crawl.Result) {
	if result.Err != nil {
		s.add(p.failure(s, result.Err))
		return
	}
	for _, f := range result.Listing.Notes {
		s.add(f)
	}
	s.era = result.Listing.Version
	s.surface = &result.Listing.Surface
	s.moving = result.Unstable
	for _, u := range s.moving {
		s.add(s.unstable(u))
	}
	s.changes = p.compare(s, *s.surface)
	p.volatile(s)
	if s.locked == nil && s.surface.IsEmpty() {
		s.add(finding.New(finding.ServerEmpty, finding.Place{Server: s.name}, "it lists nothing, asked twice"))
	}
	for _, r := range s.surface.Refused {
		s.add(finding.New(finding.DefinitionRefused, finding.Place{Server: s.name, Kind: r.Kind, Name: r.Name},
			"refused by the rule "+string(r.Rule)))
	}
	for _, k := range surface.ListKinds() {
		for _, d := range s.surface.Lists[k.Kind].Definitions {
			for _, why := range d.Unstable {
				s.add(finding.New(finding.GatewayUnstable, finding.Place{Server: s.name, Kind: k.Kind, Name: d.Name}, why))
			}
		}
	}
}

func orAbsent(digest canonical.Digest) string {
	if digest.IsZero() {
		return "not listed"
	}
	return digest.String()
}

// failure is the finding for a server that could not be listed.
func (p *Project) failure(s *subject, err error) finding.Finding {
	f := crawl.FindingOf(s.name, err)
	var egress *crawl.EgressError
	errors.As(err, &egress)
	if egress != nil && egress.Private {
		f.Hint = fmt.Sprintf("Where that is meant, run `%s lock --allow-private %s`; the permission then is in the lockfile.", p.Env.Program, s.name)
	}
	return f
}
