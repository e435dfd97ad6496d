package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// GitHub drops a job summary of more than 1 MiB, and one near that without a
// word.
const (
	markdownLimit = 900_000
	markdownTail  = 2_000             // kept for the lines about what is left out
	tableLimit    = markdownLimit / 4 // of the table of servers
)

// clipDefinition is how much is shown of a text diff: the changes of both texts.
const clipDefinition = 3 * maxChanged

// Markdown renders a report for a job summary or a comment of a pull request:
// a table of the servers, then what was found in each, folded. The text stays
// below 900 kB; where something is left out, it says how much.
func Markdown(w io.Writer, r *Report) error {
	m := &markdownWriter{r: r, differ: newWordDiffer()}
	m.head()
	m.table()
	left := m.servers() + m.findings()
	if left > 0 {
		fmt.Fprintf(&m.b, "\n**%d more are left out here; %s shows all.**\n", left, textcheck.MarkdownCode(r.program()+" diff"))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

type markdownWriter struct {
	r      *Report
	b      strings.Builder
	differ *wordDiffer
	full   bool // a section did not fit; none is written any more
}

// section adds a whole section where it fits.
func (m *markdownWriter) section(text string, limit int) bool {
	if m.full || m.b.Len()+len(text) > limit {
		return false
	}
	m.b.WriteString(text)
	return true
}

func (m *markdownWriter) head() {
	r := m.r
	fmt.Fprintf(&m.b, "## %s: %s\n\n", textcheck.Markdown(r.program()+" "+r.Command), r.Verdict)
	if r.Subject != "" {
		m.b.WriteString(textcheck.Markdown(textcheck.Clip(r.Subject, clipSummary)) + "\n\n")
	}
	fmt.Fprintf(&m.b, "**%s**\n", concluded(r))
	for i, advice := range r.Advice {
		if i == 0 {
			m.b.WriteString("\n")
		}
		m.section("- "+textcheck.Markdown(textcheck.Clip(advice, clipSummary))+"\n", tableLimit/2)
	}
}

// table has one row for each server.
func (m *markdownWriter) table() {
	if len(m.r.Servers) == 0 {
		return
	}
	m.b.WriteString("\n| Server | State | Shows | Critical | Warning | Info |\n|---|---|---|---:|---:|---:|\n")
	counts := gradesByServer(m.r.Findings)
	for i, s := range m.r.Servers {
		n := counts[s.Name]
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n",
			textcheck.Markdown(textcheck.Clip(s.Name, clipName)), textcheck.Markdown(string(s.State)), countsText(s.Counts),
			cell(n[finding.Critical]), cell(n[finding.Warning]), cell(n[finding.Info]))
		if !m.section(row, tableLimit) {
			fmt.Fprintf(&m.b, "\n%d more servers are left out of the table.\n", len(m.r.Servers)-i)
			return
		}
	}
}

// cell is a number in a table; none is seen faster as nothing.
func cell(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

type gradeCounts [finding.Critical + 1]int

func gradesByServer(findings []finding.Finding) map[string]gradeCounts {
	counts := map[string]gradeCounts{}
	for _, f := range findings {
		n := counts[f.Place.Server]
		n[f.Grade]++
		counts[f.Place.Server] = n
	}
	return counts
}

// servers writes the changes of each server and returns how many did not fit.
func (m *markdownWriter) servers() (left int) {
	for _, s := range m.r.Servers {
		heading := "\n### " + textcheck.Markdown(textcheck.Clip(s.Name, clipName)) + "\n\n"
		for i, c := range s.Changes {
			if m.full {
				left += len(s.Changes) - i
				break
			}
			text := m.changeSection(m.r.showsAll(s.Name, c), c)
			if i == 0 {
				text = heading + text
			}
			if !m.section(text, markdownLimit-markdownTail) {
				m.full = true
				left++
			}
		}
	}
	return left
}

// fold returns a part that is folded behind its title, which is HTML.
func fold(title, body string) string {
	return "<details><summary>" + title + "</summary>\n\n" + strings.TrimRight(body, "\n") + "\n\n</details>\n"
}

// code returns a text as HTML in which GitHub looks for no mentions or links.
func code(text string) string {
	return "<code>" + textcheck.HTML(textcheck.Terminal(text)) + "</code>"
}

func (m *markdownWriter) changeSection(showsAll string, c drift.Change) string {
	head := fmt.Sprintf("<b>%s</b>: %s", c.Grade(), textcheck.HTML(kindWord(c.Kind)))
	if c.Name != "" {
		head += " " + code(textcheck.Clip(c.Name, clipName))
	}
	if c.Status != drift.Changed {
		head += " " + textcheck.HTML(string(c.Status))
	}
	return fold(head, m.changeBody(showsAll, c))
}

// changeBody is an account of a change and, of the readable copies, what that does
// not tell.
func (m *markdownWriter) changeBody(showsAll string, c drift.Change) string {
	var b strings.Builder
	all := c.Status == drift.Changed || c.Kind == surface.KindInstructions
	for _, a := range c.Aspects {
		fmt.Fprintf(&b, "- **%s** `%s`: %s\n", a.Grade, a.Code, textcheck.Markdown(textcheck.Clip(a.Summary, clipSummary)))
		if text := m.aspectDiff(a); text != "" {
			b.WriteString("\n" + textcheck.MarkdownBlock("diff", text) + "\n")
		}
		all = all && toldWhole(a, clipDetail)
	}
	if !all && hasCopies(c) {
		if description := descriptionOf(c); description != "" && c.Status != drift.Changed {
			b.WriteString("\n" + textcheck.MarkdownBlock("text", textcheck.Clip(description, clipDetail)))
		}
		lines, left := markdownBound.cut(m.differ.copyDiff(c))
		b.WriteString("\n" + textcheck.MarkdownBlock("diff", plainDiff(lines)))
		if !left.none() {
			b.WriteString("\n" + textcheck.Markdown(notShown(left, showsAll)) + "\n")
		}
	}
	return b.String()
}

// aspectDiff returns the old and the new text of an aspect as a diff.
func (m *markdownWriter) aspectDiff(a drift.Aspect) string {
	switch {
	case a.Old == "" && a.New == "":
		return ""
	case a.Words && (len(a.Old) > shortText || len(a.New) > shortText):
		return textcheck.Clip(unified(elide(m.differ.diff(a.Old, a.New))), clipDefinition)
	}
	return diffLines("-", textcheck.Clip(a.Old, clipDetail)) + diffLines("+", textcheck.Clip(a.New, clipDetail))
}

// findings lists what the changes of servers do not tell already, with what waits
// for a decision, and returns how many did not fit.
func (m *markdownWriter) findings() (left int) {
	what := newTellings(m.r)
	hints := sharedHints(m.r.Findings, what)
	first := true
	for _, f := range m.r.Findings {
		if what.isAspect(f) {
			continue
		}
		if m.full {
			left++
			continue
		}
		if slices.Contains(hints, f.Hint) {
			f.Hint = ""
		}
		text := findingSection(f)
		if w, ok := what.waits(f); ok {
			text += "\n" + fold("what waits for a decision", m.changeBody(what.showsAll(w), w.change)) + "\n"
		}
		if first {
			text = "\n### Findings\n\n" + text
			first = false
		}
		if !m.section(text, markdownLimit-markdownTail) {
			m.full = true
			left++
		}
	}
	for i, hint := range hints {
		if i == 0 {
			m.section("\n", markdownLimit-markdownTail)
		}
		m.section("→ "+textcheck.Markdown(textcheck.Clip(hint, clipSummary))+"\n", markdownLimit-markdownTail)
	}
	return left
}

func findingSection(f finding.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s** `%s`", f.Grade, f.Code)
	if item := itemOf(f.Place); item != "" {
		b.WriteString(" " + textcheck.Markdown(textcheck.Clip(item, clipName)))
	}
	if f.Place.File != "" {
		fmt.Fprintf(&b, " (%s)", textcheck.Markdown(textcheck.Clip(fileLine(f.Place), clipName)))
	}
	b.WriteString(": " + textcheck.Markdown(textcheck.Clip(f.Summary, clipSummary)))
	if f.Hint != "" && f.Grade > finding.Note {
		b.WriteString(" → " + textcheck.Markdown(textcheck.Clip(f.Hint, clipSummary)))
	}
	b.WriteString("\n")
	if f.Detail != "" {
		b.WriteString("\n" + textcheck.MarkdownBlock("text", textcheck.Clip(f.Detail, clipDetail)) + "\n")
	}
	return b.String()
}
