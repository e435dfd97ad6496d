package report

import (
	"strings"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
)

// A Report is the outcome of one run.
type Report struct {
	Command  string // the command's name: lock, diff, ci
	Program  string // the name the command is installed under
	Version  string // of this program
	Lockfile string // path relative to the project
	// Folder is that of the project in its git repository, empty for the root. Places
	// are relative to the project; what is shown beside the files of the whole
	// repository has the folder before them.
	Folder  string
	Subject string // one line for people: what was compared with what

	Servers  []Server          // by name
	Findings []finding.Finding // all of them, those of changes included; sorted

	// Aside counts what is in no server's state and was not compared or is not in force,
	// such as "1 server paused".
	Aside []string

	FailOn  finding.Grade // findings at or above it fail the run
	Verdict Verdict
	// Outcome is the word for a run that is no check and went well, such as locked.
	Outcome  string
	ExitCode int
	// Full is the command, without the program, that shows all of what differs where a
	// report is brief; empty means diff --full. ShowAll stands for none: then Text is
	// not brief.
	Full   string
	Advice []string // what to do next, one line each
}

// ShowAll says that no command can show later what a report leaves out.
const ShowAll = "-"

// program is the command's name for people.
func (r *Report) program() string {
	if r.Program == "" {
		return "agentgateway"
	}
	return r.Program
}

// Verdict is the outcome in one word.
type Verdict string

// The verdicts.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	Undecided Verdict = "undecided" // a check could not be made
)

// Server is what a run found about one server.
type Server struct {
	Name    string
	State   State
	Era     string // the protocol version spoken; empty where it was not contacted
	Source  *source.Source
	Counts  map[surface.Kind]int // of definitions served, or locked where it was not contacted
	Changes []drift.Change       // worst first
	// Waiting are the items that wait for a decision: the text in force, where it is at
	// hand, against the locked one.
	Waiting []drift.Change
}

// State is what a run says of a server in one word.
type State string

// The states of a server.
const (
	Unchanged  State = "unchanged"
	Differs    State = "changed"
	New        State = "new"
	Gone       State = "removed"
	Unchecked  State = "undecided" // could not be checked; its entry stays as it was
	Disabled   State = "disabled"
	Skipped    State = "skipped"     // known, and on purpose not covered
	NotChecked State = "not checked" // nothing was started or contacted
)

// Conclude sorts the findings, names the command in their hints as it is
// installed, and sets the verdict and the exit code.
func (r *Report) Conclude() {
	finding.Sort(r.Findings)
	for i := range r.Findings {
		f := &r.Findings[i]
		if r.Program != "" {
			f.Hint = strings.ReplaceAll(f.Hint, "`agentgateway ", "`"+r.Program+" ")
		}
		if plainWord(f.Place.Server) {
			f.Hint = strings.ReplaceAll(f.Hint, " NAME`", " "+f.Place.Server+"`")
		}
	}
	r.ExitCode = finding.ExitCode(r.Findings, r.FailOn)
	switch r.ExitCode {
	case 0:
		r.Verdict = Pass
	case 3:
		r.Verdict = Undecided
	default:
		r.Verdict = Fail
	}
}

// FindingsOf turns the aspects of a server's changes into findings.
func FindingsOf(server string, changes []drift.Change) []finding.Finding {
	var out []finding.Finding
	for _, c := range changes {
		for _, a := range c.Aspects {
			place := finding.Place{Server: server, Kind: c.Kind, Name: c.Name}
			f := finding.New(a.Code, place, a.Summary)
			f.Grade = a.Grade
			out = append(out, f)
		}
	}
	return out
}

// plainWord reports whether a name can stand in a command as it is.
func plainWord(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}
