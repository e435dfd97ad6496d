package report

import (
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/textcheck"
)

// conclusion is the last line: how much was found and what it means.
func (t *textWriter) conclusion(r *Report) {
	if t.b.Len() > 0 && !strings.HasSuffix(t.b.String(), "\n\n") {
		t.line(0, "")
	}
	color := map[Verdict]string{Pass: green, Fail: red, Undecided: yellow}[r.Verdict]
	word := string(r.Verdict)
	if r.Outcome != "" && r.Verdict == Pass {
		word = r.Outcome
	}
	t.line(0, t.paint(color+";"+bold, word)+": "+concluded(r))
	for _, advice := range r.Advice {
		t.hang(0, dim, "→ ", dim, advice)
	}
}

// concluded says in a line what was found, what was compared and what was not.
func concluded(r *Report) string {
	found := tally(r.Findings)
	switch {
	case r.Outcome != "" && r.Verdict == Pass:
		return states(r)
	case r.Verdict == Undecided:
		return join("; ", succeeded(r), found)
	case r.Verdict == Fail:
		return join("; ", found, notCompared(r))
	case found == "" && allCompared(r):
		return "nothing has changed"
	}
	return join("; ", found, states(r))
}

// summary is what a report begins with: the servers by state, and the findings.
func summary(r *Report) string { return join(": ", states(r), tally(r.Findings)) }

func join(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), between)
}

// allCompared reports whether every server was compared with what it shows.
func allCompared(r *Report) bool {
	return len(r.Aside) == 0 && !slices.ContainsFunc(r.Servers, func(s Server) bool { return s.State != Unchanged })
}

// The states, in the order in which they are counted.
var (
	comparedStates = []State{New, Differs, Gone, Unchanged}
	otherStates    = []State{NotChecked, Disabled, Skipped, Unchecked}
)

// states counts servers by their state, as in "1 server new, 4 unchanged".
func states(r *Report) string {
	counted := count(r, slices.Concat(comparedStates, otherStates))
	if counted == "" && len(r.Aside) == 0 {
		return "no server"
	}
	return join(", ", append([]string{counted}, r.Aside...)...)
}

// succeeded counts the servers of which all could be done.
func succeeded(r *Report) string { return count(r, comparedStates) }

// notCompared counts what was left aside.
func notCompared(r *Report) string {
	return join(", ", append([]string{count(r, []State{NotChecked, Disabled, Skipped})}, r.Aside...)...)
}

func count(r *Report, states []State) string {
	var parts []string
	for _, state := range states {
		n := 0
		for _, s := range r.Servers {
			if s.State == state {
				n++
			}
		}
		switch {
		case n == 0:
		case len(parts) == 0:
			parts = append(parts, textcheck.Count(n, "server")+" "+string(state))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

// succeededFirst returns the servers, those that could not be checked at the end.
func succeededFirst(r *Report) []Server {
	servers := slices.Clone(r.Servers)
	slices.SortStableFunc(servers, func(a, b Server) int {
		switch {
		case (a.State == Unchecked) == (b.State == Unchecked):
			return 0
		case b.State == Unchecked:
			return -1
		}
		return 1
	})
	return servers
}

// gradeWord is a grade as it is counted.
func gradeWord(g finding.Grade, n int) string {
	if g == finding.Warning && n > 1 {
		return "warnings"
	}
	return g.String()
}

// tally says how much was found, as in "2 critical, 1 check could not be made"; empty
// where nothing was.
func tally(findings []finding.Finding) string {
	counts := map[finding.Grade]int{}
	undecided := 0
	for _, f := range findings {
		if f.Undecided {
			undecided++
		} else if f.Grade > finding.Note {
			counts[f.Grade]++
		}
	}
	var parts []string
	for _, g := range []finding.Grade{finding.Critical, finding.Warning, finding.Info} {
		if counts[g] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[g], gradeWord(g, counts[g])))
		}
	}
	if undecided > 0 {
		parts = append(parts, textcheck.Count(undecided, "check")+" could not be made")
	}
	return strings.Join(parts, ", ")
}
