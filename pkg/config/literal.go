package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
)

// spot is one text of an entry and what it is given to.
type spot struct {
	// name is that of the variable or header, or of the option before an argument.
	name string
	// show is how the text is written, with %s for it, as in "NAME=%s".
	show string
	text template
}

// spots are the texts of an entry, in the order in which they are shown.
func (e *entry) spots() []spot {
	l := &e.launch
	var all []spot
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		all = append(all, spot{name, strings.ReplaceAll(name, "%", "%%") + "=%s", l.env[name]})
	}
	all = append(all, spot{"", "%s", l.command})
	before := ""
	for _, a := range l.args {
		all = append(all, spot{before, "%s", a})
		if before = ""; a.literal() && strings.HasPrefix(a.String(), "-") && !strings.ContainsAny(a.String(), "= ") {
			before = a.String()
		}
	}
	all = append(all, spot{"", "(in %s)", l.cwd}, spot{"", "%s", l.url})
	for _, name := range slices.Sorted(maps.Keys(l.headers)) {
		all = append(all, spot{name, strings.ReplaceAll(name, "%", "%%") + ": %s", l.headers[name]})
	}
	return slices.DeleteFunc(all, func(s spot) bool { return len(s.text) == 0 })
}

// judgeLiterals looks for secrets in the texts of an entry. It returns the hashes of
// those that are accepted; the others leave the server undecided. What is found is
// shown by its length alone.
func (e *entry) judgeLiterals() []canonical.Digest {
	var (
		accepted             []canonical.Digest
		shown, found, advice []string
		line                 int
	)
	for _, s := range e.spots() {
		text := s.text.String()
		var refused []run
		for _, r := range findRuns(s.name, text) {
			hash := canonical.SumString(text[r.start:r.end])
			switch {
			case r.note:
				e.notes = append(e.notes, finding.New(finding.SourceCapability, e.place(s.line(e)),
					fmt.Sprintf("an address of %s holds %d characters that look generated: whoever knows it may be able to use it", e.name, r.end-r.start)))
			case e.options.accepts(e, hash):
				accepted = append(accepted, hash)
			default:
				refused = append(refused, r)
				found = append(found, fmt.Sprintf("%s, %d characters", r.what, r.end-r.start))
			}
		}
		shown = append(shown, fmt.Sprintf(s.show, mask(text, refused)))
		if len(refused) > 0 {
			advice = append(advice, e.inPlace(s, text, refused))
			if line == 0 {
				line = s.line(e)
			}
		}
	}
	if len(found) > 0 {
		f := finding.New(finding.SecretInSource, e.place(line), "the source holds what looks like a secret: "+strings.Join(found, "; "))
		f.Detail = strings.Join(shown, " ")
		f.Hint = strings.Join(advice, " ") + fmt.Sprintf(" Where it is no secret, run `agentgateway lock --allow-literal %s`.", e.name)
		e.problems = append(e.problems, f)
	}
	slices.SortFunc(accepted, func(a, b canonical.Digest) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(accepted)
}

// line is where the text is, or where its entry is.
func (s spot) line(e *entry) int {
	if s.text[0].line > 0 {
		return s.text[0].line
	}
	return e.line
}

// inPlace says what to write in place of a text that holds secrets, as the client
// reads it.
func (e *entry) inPlace(s spot, text string, runs []run) string {
	where := "there"
	if e.file != nil {
		where = "in " + finding.Place{File: e.file.name, Line: s.line(e)}.String()
	}
	spelled := "${%s}"
	if e.file != nil {
		spelled = e.file.client.variable
	}
	if spelled == "" {
		return fmt.Sprintf("%s does not expand variables: take the secret out %s, and have the program read it from a variable that %[1]s passes on.", e.file.client.name, where)
	}
	var names []string
	word := replaceRuns(text, runs, func(r run) string {
		name := e.variableFor(r)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return fmt.Sprintf(spelled, name)
	})
	return fmt.Sprintf("Write %s %s, and set %s outside the repository.", `"`+word+`"`, where, strings.Join(names, " and "))
}

// variableFor is a name for the variable that takes the place of a run. One that
// says too little bears the server's name too.
func (e *entry) variableFor(r run) string {
	if strings.Contains(r.variable, "_") || variableOf(e.name) == "" {
		return r.variable
	}
	name := variableOf(e.name) + "_" + r.variable
	if variableName.FindString(name) != name {
		name = "MCP_" + name
	}
	return name
}
