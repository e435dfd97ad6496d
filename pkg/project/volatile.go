package project

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"agentgateway-lock/pkg/crawl"
	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

// Texts that change by themselves: from process to process, from machine to
// machine, from day to day. They are named as what they are, so that nobody takes
// them for a rug pull, or gets used to one.

// unstable is the finding of an item that differed between two listings of one
// run.
func (s *subject) unstable(u crawl.Unstable) finding.Finding {
	f := finding.New(finding.Unstable, finding.Place{Server: s.name, Kind: u.Kind, Name: u.Name}, "differs between two listings of this run")
	f.Detail = fmt.Sprintf("first:  %s\nsecond: %s", orAbsent(u.First), orAbsent(u.Second))
	if u.FirstText == nil || u.SecondText == nil {
		return f
	}
	var lines []string
	for _, a := range drift.Between(u.Kind, u.Name, u.FirstText, u.SecondText).Aspects {
		lines = append(lines, a.Path, "  first:  "+a.Old, "  second: "+a.New)
	}
	f.Detail = strings.Join(lines, "\n")
	if runsPython(s.source.Command) {
		f.Hint = `A text made from a Python set has another order in each process: add "PYTHONHASHSEED": "0" to the server's env, and run again.`
	}
	return f
}

// runsPython reports whether a command is one that runs Python programs.
func runsPython(command string) bool {
	name := strings.TrimSuffix(filepath.Base(command), ".exe")
	return strings.HasPrefix(name, "python") || name == "uv" || name == "uvx" || name == "pipx"
}

// A trait is something of a machine that texts of servers repeat.
type trait struct {
	what, value, hint string
}

// Machine is what texts of servers repeat of the machine they run on. What is
// empty is not looked for.
type Machine struct {
	Hostname, User, Zone string // Zone as in Europe/Berlin
}

// traits are those of this machine, the longest values first, since one may be a
// part of another.
func (p *Project) traits() []trait {
	m := p.Env.Machine
	all := []trait{
		{"the working directory", p.Root, "Set `cwd` or an argument of the server to a path that is the same everywhere."},
		{"the home folder", p.Env.Home, "Set `HOME` or an argument of the server to a path that is the same everywhere."},
		{"the time zone", m.Zone, `Add "TZ": "UTC" to the server's env, or name the zone in an argument.`},
		{"the host name", m.Hostname, "Name the host in an argument of the server, or ask its authors to leave it out."},
		{"the user name", m.User, `Add "USER" with a fixed name to the server's env, or ask its authors to leave it out.`},
	}
	kept := all[:0]
	for _, t := range all {
		if len(t.value) >= minTrait {
			kept = append(kept, t)
		}
	}
	return kept
}

const (
	// minTrait is the shortest value that counts: a shorter one is in any text by
	// chance.
	minTrait = 3
	// maxVolatile bounds the texts that are searched for traits, in bytes.
	maxVolatile = 64 << 10
)

// date matches the dates and times that programs print.
var date = regexp.MustCompile(`\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?` +
	`|(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* (?:\d{1,2},? )?\d{4}` +
	`|\d{2}:\d{2}:\d{2}`)

// ofMachine says what of this machine, or of today, is all that a changed text
// differs in; the zero trait where it differs in more. was is the other machine's
// value.
func ofMachine(traits []trait, old, now string) (t trait, was string) {
	if len(old) > maxVolatile || len(now) > maxVolatile {
		return trait{}, ""
	}
	for _, t := range traits {
		parts := strings.Split(now, t.value)
		if len(parts) == 1 {
			continue
		}
		if was, ok := filled(parts, old); ok {
			return t, was
		}
	}
	if a, b := date.FindString(old), date.FindString(now); a != b && date.ReplaceAllString(old, "@") == date.ReplaceAllString(now, "@") {
		return trait{"a date or a time", b, "A text that holds the time cannot be pinned: ask the server's authors to leave it out, or lock without this server with `lock --skip`."}, a
	}
	return trait{}, ""
}

// filled reports whether text is parts with one value, a single word, between each
// two of them, and that value.
func filled(parts []string, text string) (value string, ok bool) {
	fixed := 0
	for _, part := range parts {
		fixed += len(part)
	}
	gaps := len(parts) - 1
	if size := len(text) - fixed; size < 0 || size%gaps != 0 || !strings.HasPrefix(text, parts[0]) {
		return "", false
	}
	start := len(parts[0])
	value = text[start : start+(len(text)-fixed)/gaps]
	return value, !strings.ContainsAny(value, " \t\r\n\"\\") && strings.Join(parts, value) == text
}

// volatile notes each change of a listing that is about this machine or about
// today, and nothing else.
func (p *Project) volatile(s *subject) {
	traits := p.traits()
	for _, c := range s.changes {
		if c.Status != drift.Changed || c.Old == nil || c.New == nil || c.Kind == surface.KindSource {
			continue
		}
		t, was := ofMachine(traits, string(c.Old), string(c.New))
		if t.what == "" {
			continue
		}
		f := finding.New(finding.MachineText, finding.Place{Server: s.name, Kind: c.Kind, Name: c.Name}, "the texts differ in "+t.what+" alone")
		f.Detail = "locked: " + was + "\nhere:   " + t.value
		f.Hint = t.hint
		s.add(f)
	}
}
