package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/source"
)

// merge makes one server of all entries of a name that say the same. Entries that
// differ are variants, each a server of its own: the one that the lockfile has keeps
// the plain name, or else the first in the order of the table; the others are named
// NAME@CLIENT.
func merge(entries []*entry, locked func(server string) *source.Source) *Set {
	set := &Set{Undecided: map[string][]finding.Finding{}}
	byName := map[string][]*entry{}
	for _, e := range entries {
		byName[e.name] = append(byName[e.name], e)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		same := byName[name]
		for _, e := range same {
			if e.disabled {
				set.Findings = append(set.Findings, finding.New(finding.ServerDisabled, e.place(e.line), name+" is switched off"))
			}
		}
		on := slices.DeleteFunc(slices.Clone(same), func(e *entry) bool { return e.disabled })
		if len(on) == 0 {
			set.Servers = append(set.Servers, server(name, same, locked(name), true))
			continue
		}
		if problems := problemsOf(on); len(problems) > 0 {
			set.undecide(name, problems)
			continue
		}
		groups := variants(on, locked(name))
		if conflict := conflictOf(name, groups, byName); conflict != nil {
			set.undecide(name, []finding.Finding{*conflict})
			continue
		}
		for i, group := range groups {
			called := name
			if i > 0 {
				called = variantName(name, group)
			}
			set.Servers = append(set.Servers, server(called, group, locked(called), false))
			set.Findings = append(set.Findings, notesOf(group, called)...)
		}
	}
	slices.SortFunc(set.Servers, func(a, b *Server) int { return strings.Compare(a.Name, b.Name) })
	return set
}

func (s *Set) undecide(name string, problems []finding.Finding) {
	s.Undecided[name] = problems
	s.Findings = append(s.Findings, problems...)
}

func problemsOf(entries []*entry) []finding.Finding {
	var problems []finding.Finding
	for _, e := range entries {
		problems = append(problems, e.problems...)
	}
	return problems
}

// notesOf are the notes of entries that make one server. What is said of their
// common source is said once.
func notesOf(group []*entry, server string) []finding.Finding {
	var notes []finding.Finding
	said := map[string]bool{}
	for _, e := range group {
		for _, f := range e.notes {
			if key := string(f.Code) + f.Summary; !said[key] {
				said[key] = true
				f.Place.Server = server
				notes = append(notes, f)
			}
		}
	}
	return notes
}

// variants groups entries that say the same. The group that the lockfile has comes
// first, the others in the order of their first entries.
func variants(entries []*entry, locked *source.Source) [][]*entry {
	var groups [][]*entry
	for _, e := range entries {
		i := slices.IndexFunc(groups, func(group []*entry) bool { return sameEntry(group[0], e) })
		if i < 0 {
			groups = append(groups, []*entry{e})
			continue
		}
		// An address whose transport is left open takes that of the others.
		if groups[i] = append(groups[i], e); groups[i][0].auto && !e.auto {
			groups[i][0], groups[i][len(groups[i])-1] = e, groups[i][0]
		}
	}
	if i := slices.IndexFunc(groups, func(group []*entry) bool { return locked != nil && fitsLocked(group[0], locked) }); i > 0 {
		group := groups[i]
		groups = slices.Insert(slices.Delete(groups, i, i+1), 0, group)
	}
	return groups
}

// sameEntry reports whether two entries say the same. A client that tries both
// transports of an address says the same as one that names either.
func sameEntry(a, b *entry) bool {
	if a.auto != b.auto && a.source.URL != "" && b.source.URL != "" {
		x, y := *a.source, *b.source
		x.Transport, y.Transport = source.HTTP, source.HTTP
		return Same(&x, &y)
	}
	return Same(a.source, b.source)
}

func fitsLocked(e *entry, locked *source.Source) bool {
	if e.auto && locked.URL != "" {
		x := *e.source
		x.Transport = locked.Transport
		return Same(&x, locked)
	}
	return Same(e.source, locked)
}

func variantName(name string, group []*entry) string {
	return name + "@" + group[0].clientID()
}

// conflictOf says why the variants of a name cannot all be servers: two of them are
// of one client, or one would bear the name of another server.
func conflictOf(name string, groups [][]*entry, byName map[string][]*entry) *finding.Finding {
	taken := map[string]bool{}
	why := ""
	for i, group := range groups {
		id := group[0].clientID()
		switch {
		case len(groups) > 1 && slices.ContainsFunc(group, func(e *entry) bool { return e.file == nil }):
			why = fmt.Sprintf("%s is given with --server and configured with another source", name)
		case taken[id]:
			why = fmt.Sprintf("%s is configured for one client with different sources", name)
		case i > 0 && len(byName[variantName(name, group)]) > 0:
			why = fmt.Sprintf("%s is configured with different sources, and the name %s of the second is another server's", name, variantName(name, group))
		}
		taken[id] = true
	}
	if why == "" {
		return nil
	}
	last := groups[len(groups)-1][0]
	f := finding.New(finding.ConfigConflict, last.place(last.line), why)
	var lines []string
	for _, group := range groups {
		var at []string
		for _, e := range group {
			at = append(at, e.where())
		}
		lines = append(lines, strings.Join(at, ", ")+": "+source.Describe(group[0].source))
	}
	f.Detail = strings.Join(lines, "\n")
	return &f
}

// where is the place of an entry without the server's name.
func (e *entry) where() string {
	if e.file == nil {
		return "--server"
	}
	return finding.Place{File: e.file.name, Line: e.line}.String()
}

// clientID names the client whose configuration an entry is of.
func (e *entry) clientID() string {
	if e.file == nil {
		return "server"
	}
	return e.file.client.id
}

// server makes one of entries that say the same. Where the lockfile has that source
// in another spelling, its spelling is kept: which client's file is read first
// changes nothing.
func server(name string, entries []*entry, locked *source.Source, disabled bool) *Server {
	first := entries[0]
	s := &Server{Name: name, Source: first.source, Disabled: disabled, launch: first.launch}
	if first.source != nil && locked != nil && fitsLocked(first, locked) {
		kept := *locked
		kept.AllowPrivate, kept.AllowLiteral = false, first.source.AllowLiteral
		s.Source = &kept
		s.launch.transport = kept.Transport
	}
	for _, e := range entries {
		if e.file != nil {
			p := e.place(e.line)
			p.Server = name
			s.Places = append(s.Places, p)
		}
	}
	return s
}
