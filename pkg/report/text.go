package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// TextOptions say how text is laid out.
type TextOptions struct {
	Color bool
	Width int  // columns; 0 means 80
	Full  bool // show all of what differs, however much it is
}

// maxBriefLines is how many lines of diffs a brief report has in all.
const maxBriefLines = 300

// Text renders a report for a terminal.
func Text(w io.Writer, r *Report, opts TextOptions) error {
	opts.Full = opts.Full || r.Full == ShowAll
	t := newTextWriter(opts)
	if r.Subject != "" {
		t.wrap(0, r.Subject)
		if len(r.Servers) > 1 && r.Outcome == "" {
			t.wrap(0, summary(r))
		}
		t.line(0, "")
	}
	for _, s := range succeededFirst(r) {
		t.server(r, s)
	}
	t.findings(r)
	t.conclusion(r)
	_, err := io.WriteString(w, t.b.String())
	return err
}

func newTextWriter(opts TextOptions) *textWriter {
	if opts.Width == 0 {
		opts.Width = 80
	}
	return &textWriter{opts: opts, differ: newWordDiffer(), left: maxBriefLines}
}

// Hang writes a text, escaped, in lines of the width, with a mark before the first;
// the others stand below the first one's text.
func Hang(w io.Writer, indent int, mark, text string, opts TextOptions) error {
	t := newTextWriter(opts)
	t.hang(indent, "", mark, "", text)
	_, err := io.WriteString(w, t.b.String())
	return err
}

type textWriter struct {
	b      strings.Builder
	opts   TextOptions
	differ *wordDiffer
	left   int // lines of diffs that may still be shown where the report is brief
}

// The colours, as SGR parameters.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	dim    = "2"
)

var gradeColors = map[finding.Grade]string{finding.Critical: red + ";" + bold, finding.Warning: yellow, finding.Info: bold, finding.Note: dim}

// paint colours text that is already escaped.
func (t *textWriter) paint(color, text string) string {
	if !t.opts.Color || color == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// line writes one line of text that is already escaped.
func (t *textWriter) line(indent int, text string) {
	if text != "" {
		t.b.WriteString(strings.Repeat(" ", indent))
	}
	t.b.WriteString(text + "\n")
}

// wrap writes text of a server or a check, escaped, in lines of the width.
func (t *textWriter) wrap(indent int, text string) { t.hang(indent, "", "", "", text) }

// hang is like wrap, with a mark before the first line; the others stand below
// the first one's text.
func (t *textWriter) hang(indent int, markColor, mark, color, text string) {
	inner, head := indent+utf8.RuneCountInString(mark), t.paint(markColor, mark)
	for line := range strings.SplitSeq(textcheck.TerminalLines(strings.TrimRight(text, "\n")), "\n") {
		for _, part := range wrapLine(line, t.opts.Width-inner) {
			if head == "" {
				t.line(inner, t.paint(color, part))
				continue
			}
			t.line(indent, head+t.paint(color, part))
			head = ""
		}
	}
}

func (t *textWriter) server(r *Report, s Server) {
	color := map[State]string{Unchanged: green, Differs: red, New: yellow, Gone: yellow, Unchecked: red}[s.State]
	t.segments(0, "", "", []segment{{bold, textcheck.Clip(s.Name, clipName)}, {color, string(s.State)}, {dim, countsText(s.Counts)}})
	if s.State == New && (!t.opts.Full || r.Full == ShowAll) {
		t.newServer(r, s)
		return
	}
	for _, c := range s.Changes {
		t.change(c, r.showsAll(s.Name, c))
	}
	if len(s.Changes) > 0 {
		t.line(0, "")
	}
}

// newServer says how much there is to read of a server that is new: it stands in the
// lockfile and its copies.
func (t *textWriter) newServer(r *Report, s Server) {
	lines, items := 0, 0
	for _, c := range s.Changes {
		if _, fresh := c.Copies(); fresh != "" {
			lines += strings.Count(fresh, "\n")
			items++
		}
	}
	if items == 0 {
		return
	}
	command := r.showsAll(s.Name, drift.Change{})
	if r.Outcome != "" { // it is locked now
		locked := *r
		locked.Full = "show --full"
		command = locked.showsAll(s.Name, drift.Change{})
	}
	t.hang(2, dim, "· ", dim, fmt.Sprintf("%s, %s to read: `%s` shows them", textcheck.Count(items, "item"), textcheck.Count(lines, "line"), command))
}

// A segment is a part of a line with a colour of its own.
type segment struct{ color, text string }

// segments writes the parts that are not empty on one line, escaped; where that
// would be too long, in several and without colours.
func (t *textWriter) segments(indent int, markColor, mark string, parts []segment) {
	var plain, painted []string
	for _, p := range parts {
		if text := textcheck.Terminal(p.text); text != "" {
			plain, painted = append(plain, text), append(painted, t.paint(p.color, text))
		}
	}
	line, length := strings.Join(plain, "  "), indent+utf8.RuneCountInString(mark)
	for _, r := range line {
		length += columns(r)
	}
	if length > t.opts.Width {
		t.hang(indent, markColor, mark, "", line)
		return
	}
	t.line(indent, t.paint(markColor, mark)+strings.Join(painted, "  "))
}

// countsText says how much a server shows, as in "3 tools, 1 prompt".
func countsText(counts map[surface.Kind]int) string {
	var parts []string
	for _, k := range surface.ListKinds() {
		if n := counts[k.Kind]; n > 0 {
			parts = append(parts, textcheck.Count(n, kindWord(k.Kind)))
		}
	}
	return strings.Join(parts, ", ")
}

// kindWord is a kind in the words of people.
func kindWord(k surface.Kind) string {
	if k == surface.KindResourceTemplate {
		return "resource template"
	}
	return string(k)
}

// kindAndName names an item, as in "tool echo".
func kindAndName(c drift.Change) string {
	word := kindWord(c.Kind)
	if c.Name != "" {
		word += " " + textcheck.Terminal(textcheck.Clip(c.Name, clipName))
	}
	return word
}

// title names what changed, as in "tool echo added".
func title(c drift.Change) string {
	word := kindAndName(c)
	if c.Status != drift.Changed {
		word += " " + string(c.Status)
	}
	return word
}

// findings lists what the changes of servers do not tell already, and at the end the
// hints that several of them share.
func (t *textWriter) findings(r *Report) {
	what := newTellings(r)
	hints := sharedHints(r.Findings, what)
	shown := map[findingKey]bool{}
	spaced := false
	for i, f := range r.Findings {
		if shown[keyOf(f)] || what.isAspect(f) {
			continue
		}
		if !spaced && t.b.Len() > 0 && !strings.HasSuffix(t.b.String(), "\n\n") {
			t.line(0, "")
		}
		spaced = true
		if also := alike(r.Findings[i:]); also != nil {
			t.grouped(f, also)
			for _, g := range also {
				shown[keyOf(g)] = true
			}
			continue
		}
		if slices.Contains(hints, f.Hint) {
			f.Hint = ""
		}
		t.finding(f)
		if w, ok := what.waits(f); ok {
			t.body(w.change, what.showsAll(w))
		}
	}
	for _, hint := range hints {
		t.hang(2, dim, "→ ", dim, hint)
	}
}

// sharedHints returns the hints that more than one of the findings has which no
// change tells.
func sharedHints(findings []finding.Finding, what *tellings) []string {
	count := map[string]int{}
	var shared []string
	for _, f := range findings {
		if f.Hint == "" || f.Grade == finding.Note || what.isAspect(f) {
			continue
		}
		if count[f.Hint]++; count[f.Hint] == 2 {
			shared = append(shared, f.Hint)
		}
	}
	return shared
}

// alike returns the notes that say the same as the first of findings about other
// places; nil where there are none.
func alike(findings []finding.Finding) []finding.Finding {
	first := findings[0]
	if first.Grade != finding.Note || first.Detail != "" {
		return nil
	}
	var also []finding.Finding
	for _, f := range findings[1:] {
		if f.Code == first.Code && f.Grade == first.Grade && f.Summary == first.Summary && f.Detail == "" {
			also = append(also, f)
		}
	}
	return also
}

// grouped tells one note about several places.
func (t *textWriter) grouped(f finding.Finding, also []finding.Finding) {
	t.segments(2, gradeColors[f.Grade], gradeMark(f.Grade), []segment{{bold, string(f.Code)}})
	const indent = 13
	t.wrap(indent, textcheck.Clip(f.Summary, clipSummary))
	places := []string{textcheck.Clip(f.Place.String(), clipName)}
	for _, g := range also {
		if place := textcheck.Clip(g.Place.String(), clipName); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	const most = 10
	if n := len(places) - most; n > 0 {
		places = append(places[:most], fmt.Sprintf("%d more", n))
	}
	t.hang(indent, dim, "· ", dim, strings.Join(places, ", "))
}

func (t *textWriter) finding(f finding.Finding) {
	parts := []segment{{bold, string(f.Code)}, {"", textcheck.Clip(f.Place.String(), clipName)}}
	if f.Place.File != "" && f.Place.Server != "" {
		parts = append(parts, segment{dim, "(" + textcheck.Clip(fileLine(f.Place), clipName) + ")"})
	}
	t.segments(2, gradeColors[f.Grade], gradeMark(f.Grade), parts)
	const indent = 13
	t.wrap(indent, textcheck.Clip(f.Summary, clipSummary))
	if f.Detail != "" {
		t.wrap(indent, f.Detail)
	}
	if f.Hint != "" && f.Grade > finding.Note {
		t.hang(indent, dim, "→ ", dim, f.Hint)
	}
}

// fileLine names a place in a file, not escaped.
func fileLine(p finding.Place) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}
