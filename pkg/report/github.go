package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/textcheck"
)

// maxAnnotations is how many annotations of one level GitHub shows for a step.
const maxAnnotations = 10

// The levels of annotations, the worst first.
const (
	ghError   = "error"
	ghWarning = "warning"
	ghNotice  = "notice"
)

// GitHub renders the findings of a report as workflow commands, which GitHub
// Actions shows as annotations: at most ten of a level, the worst first. How many
// more there are is said in a notice at the end. Findings of checks that could
// not be made are errors where they decide the run.
func GitHub(w io.Writer, r *Report) error {
	shown, rest := annotations(r)
	var b strings.Builder
	what := newTellings(r)
	for _, a := range shown {
		a.write(&b, r, what)
	}
	if rest > 0 {
		noun := "findings"
		if rest == 1 {
			noun = "finding"
		}
		fmt.Fprintf(&b, "::notice title=%s::%d more %s in the summary\n",
			textcheck.WorkflowProperty(r.program()+" "+r.Command), rest, noun)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

type annotation struct {
	level string
	finding.Finding
}

// annotations chooses what is shown and counts what is not. The notice about the
// rest takes one place among the notices.
func annotations(r *Report) (shown []annotation, rest int) {
	findings := slices.Clone(r.Findings)
	finding.Sort(findings)
	byLevel := map[string][]annotation{}
	for _, f := range findings {
		level := githubLevel(r, f)
		byLevel[level] = append(byLevel[level], annotation{level, f})
	}
	for _, list := range byLevel {
		rest += max(0, len(list)-maxAnnotations)
	}
	for _, level := range []string{ghError, ghWarning, ghNotice} {
		list := byLevel[level]
		list = list[:min(len(list), maxAnnotations)]
		if level == ghNotice && rest > 0 && len(list) == maxAnnotations {
			list = list[:maxAnnotations-1]
			rest++
		}
		shown = append(shown, list...)
	}
	return shown, rest
}

func githubLevel(r *Report, f finding.Finding) string {
	switch {
	case f.Grade == finding.Critical, f.Undecided && r.Verdict == Undecided:
		return ghError
	case f.Grade == finding.Warning:
		return ghWarning
	}
	return ghNotice
}

// write writes the command on a line of its own.
func (a annotation) write(b *strings.Builder, r *Report, what *tellings) {
	b.WriteString("::" + a.level + " ")
	file, line := a.Place.File, a.Place.Line
	if file == "" {
		file, line = r.Lockfile, 0
	}
	if file = r.inRepository(file); file != "" {
		b.WriteString("file=" + textcheck.WorkflowProperty(file) + ",")
		if line > 0 {
			fmt.Fprintf(b, "line=%d,", line)
		}
	}
	title := string(a.Code)
	if item := itemOf(a.Place); item != "" {
		title += " " + textcheck.Clip(item, clipName)
	}
	b.WriteString("title=" + textcheck.WorkflowProperty(title) + "::")
	message := textcheck.Clip(a.Summary, clipSummary)
	if a.Detail != "" {
		message += "\n" + textcheck.Clip(a.Detail, clipDetail)
	}
	if a.Hint != "" {
		message += "\n" + textcheck.Clip(a.Hint, clipSummary)
	}
	if words := what.message(a.Finding, annotationBound); words != "" {
		message += "\n" + words
	}
	b.WriteString(textcheck.WorkflowData(message) + "\n")
}

// How much of a text is shown, in characters, where space is short.
const (
	clipName    = 200
	clipSummary = 500
	clipDetail  = 2000
)

// itemOf names the item a place is about, without its file.
func itemOf(p finding.Place) string {
	p.File = ""
	return p.String()
}
