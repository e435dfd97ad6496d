package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/surface"
)

// Grade is how much a finding matters. It is advice: what decides whether a
// definition is the one that was pinned is its digest.
type Grade int

// The grades, in rising order. A note never fails a run.
const (
	Note Grade = iota
	Info
	Warning
	Critical
)

var gradeNames = [...]string{"note", "info", "warning", "critical"}

// String returns the grade's name in lower case.
func (g Grade) String() string { return gradeNames[g] }

// ParseGrade reads the name of a grade.
func ParseGrade(name string) (Grade, error) {
	if i := slices.Index(gradeNames[:], name); i >= 0 {
		return Grade(i), nil
	}
	return Note, fmt.Errorf("%q is not a grade; the grades are %s", name, strings.Join(gradeNames[:], ", "))
}

// MarshalText implements [encoding.TextMarshaler].
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (g *Grade) UnmarshalText(text []byte) (err error) {
	*g, err = ParseGrade(string(text))
	return err
}

// A Place is where a finding stands. Members that do not apply are empty.
type Place struct {
	File   string       `json:"file,omitempty"` // relative to the repository, with slashes
	Line   int          `json:"line,omitempty"` // from 1
	Server string       `json:"server,omitempty"`
	Kind   surface.Kind `json:"kind,omitempty"` // of the item, as in a lockfile
	Name   string       `json:"name,omitempty"` // of the item
}

// PlaceOf is the place of an item, without a file.
func PlaceOf(item surface.Key) Place {
	return Place{Server: item.Server, Kind: item.Kind, Name: item.Name}
}

// Item is the item at the place; its server is empty where the finding is about
// none.
func (p Place) Item() surface.Key { return surface.Key{Server: p.Server, Kind: p.Kind, Name: p.Name} }

// String names the place for people: the item, or the file and line. Text of a
// server is not escaped here.
func (p Place) String() string {
	item := p.Item().String()
	if item == "" && p.File != "" {
		item = p.File
		if p.Line > 0 {
			item += fmt.Sprintf(":%d", p.Line)
		}
	}
	return item
}

// A Finding is one result of a check.
type Finding struct {
	Code    Code   `json:"code"`
	Grade   Grade  `json:"grade"`
	Summary string `json:"summary"`          // one line
	Detail  string `json:"detail,omitempty"` // sentences; may hold lines
	Place   Place  `json:"place"`
	Hint    string `json:"hint,omitempty"` // what to do next
	// Undecided marks a check that could not be made: it is never a pass.
	Undecided bool `json:"undecided,omitempty"`
	// Always marks a finding above a note that fails a run at every failing grade.
	Always bool `json:"-"`
}

// New returns a finding of a code with the grade and hint its entry in [Codes]
// gives.
func New(code Code, place Place, summary string) Finding {
	info := Lookup(code)
	return Finding{Code: code, Grade: info.Grade, Place: place, Summary: summary, Hint: info.Action, Undecided: info.Undecided}
}

// Sort orders findings by grade, worst first, then by place and code, so that
// the same findings always print the same.
func Sort(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(b.Grade, a.Grade),
			a.Place.Item().Compare(b.Place.Item()),
			strings.Compare(a.Place.File, b.Place.File),
			cmp.Compare(a.Place.Line, b.Place.Line),
			strings.Compare(string(a.Code), string(b.Code)),
		)
	})
}

// ExitCode is the exit code of a run that ended with findings, at a failing
// grade: 1 where a finding is at or above it, 3 where a check could not be made,
// else 0.
func ExitCode(findings []Finding, failOn Grade) int {
	code := 0
	for _, f := range findings {
		switch {
		case f.Undecided:
			code = max(code, 3)
		case f.Grade > Note && (f.Always || f.Grade >= failOn):
			return 1
		}
	}
	return code
}
