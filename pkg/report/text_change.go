package report

import (
	"fmt"
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// Where the parts of a change stand.
const (
	diffIndent = 4
	textIndent = 13
)

// change shows what happened to an item: an account, and of the readable copies
// what the account does not tell, whole where all is asked for.
func (t *textWriter) change(c drift.Change, showsAll string) {
	t.aspectLine(c.Grade(), title(c))
	t.body(c, showsAll)
}

func (t *textWriter) body(c drift.Change, showsAll string) {
	if t.opts.Full {
		t.account(c)
		t.wholeDiff(c)
		return
	}
	if t.account(c) || !hasCopies(c) {
		return
	}
	b := textBound
	b.lines = min(b.lines, max(t.left, 0))
	lines, left := b.cut(t.differ.copyDiff(c))
	t.left -= len(lines)
	t.diffLines(lines)
	if !left.none() {
		t.hang(textIndent, dim, "· ", dim, notShown(left, showsAll))
	}
}

// account tells what differs, one aspect after the other. It reports whether that is
// all that differs.
func (t *textWriter) account(c drift.Change) (all bool) {
	all = true
	if c.Status != drift.Changed && c.Kind != surface.KindInstructions {
		all = false
		if description := descriptionOf(c); description != "" {
			t.quote(textcheck.Clip(description, 3*shortText))
		}
		if hasCopies(c) {
			return all
		}
	}
	for _, a := range c.Aspects {
		all = t.aspect(a, t.opts.Full && hasCopies(c)) && all
	}
	return all
}

// quote shows a text with its lines. Each bears a mark, so that none can look like a
// line of the report.
func (t *textWriter) quote(text string) {
	for line := range strings.SplitSeq(textcheck.TerminalLines(strings.TrimRight(text, "\n")), "\n") {
		for _, part := range wrapLine(line, t.opts.Width-textIndent-2) {
			t.line(textIndent, t.paint(dim, "| ")+part)
		}
	}
}

// wholeDiff shows how the readable copies differ, every line.
func (t *textWriter) wholeDiff(c drift.Change) { t.diffLines(t.differ.copyDiff(c)) }

func (t *textWriter) diffLines(lines []diffLine) {
	colors := map[op]string{hunkHead: dim, deleted: red, inserted: green}
	for _, p := range layOut(lines, t.opts.Width-diffIndent) {
		t.line(diffIndent, t.paint(colors[p.op], p.mark+p.text))
	}
}

// descriptionOf is the description of an item that came or went.
func descriptionOf(c drift.Change) string {
	definition := c.New
	if definition == nil {
		definition = c.Old
	}
	if definition == nil || c.Kind == surface.KindInstructions {
		return ""
	}
	return drift.Description(definition)
}

func (t *textWriter) aspectLine(g finding.Grade, text string) {
	t.hang(2, gradeColors[g], gradeMark(g), "", text)
}

// gradeMark is a grade as it stands before a line.
func gradeMark(g finding.Grade) string { return fmt.Sprintf("%-8s   ", g) }

// shortText is the longest text that is shown whole, old above new.
const shortText = 200

// aspect shows one difference. beneath says that all of it follows as a diff of
// lines: then only a long text is shown here too, since in one line of a copy a
// change of it is hard to see. It reports whether all of the aspect is shown.
func (t *textWriter) aspect(a drift.Aspect, beneath bool) (all bool) {
	t.wrap(textIndent, textcheck.Clip(a.Summary, clipSummary))
	switch {
	case a.Old == "" && a.New == "":
	case a.Words && max(len(a.Old), len(a.New)) > shortText:
		t.words(textIndent+2, t.differ.diff(a.Old, a.New))
	case beneath:
	default:
		t.sides(textIndent+2, textcheck.Clip(a.Old, 2*shortText), textcheck.Clip(a.New, 2*shortText))
	}
	return toldWhole(a, 2*shortText)
}

// sides shows the old text above the new.
func (t *textWriter) sides(indent int, old, fresh string) {
	for _, side := range []struct{ mark, color, text string }{{"- ", red, old}, {"+ ", green, fresh}} {
		if side.text != "" {
			t.hang(indent, side.color, side.mark, side.color, side.text)
		}
	}
}

// words shows both texts as one, with what went and what came marked, as git
// does for --word-diff.
func (t *textWriter) words(indent int, pieces []piece) {
	var b strings.Builder
	for _, p := range elide(pieces) {
		b.WriteString(textcheck.TerminalLines(p.marked()))
	}
	color := ""
	for line := range strings.SplitSeq(strings.TrimRight(b.String(), "\n"), "\n") {
		for _, part := range wrapLine(line, t.opts.Width-indent) {
			part, color = t.paintMarks(part, color)
			t.line(indent, part)
		}
	}
}

// paintMarks colours what stands between marks; a mark may be open from the line
// before.
func (t *textWriter) paintMarks(line, open string) (painted, still string) {
	if !t.opts.Color {
		return line, ""
	}
	var b strings.Builder
	b.WriteString(sgr(open))
	for i := 0; i < len(line); {
		switch {
		case strings.HasPrefix(line[i:], "[-"):
			open = red
			b.WriteString(sgr(open) + "[-")
			i += 2
		case strings.HasPrefix(line[i:], "{+"):
			open = green
			b.WriteString(sgr(open) + "{+")
			i += 2
		case strings.HasPrefix(line[i:], "-]"), strings.HasPrefix(line[i:], "+}"):
			b.WriteString(line[i:i+2] + "\x1b[0m")
			open = ""
			i += 2
		default:
			b.WriteByte(line[i])
			i++
		}
	}
	if open != "" {
		b.WriteString("\x1b[0m")
	}
	return b.String(), open
}

func sgr(color string) string {
	if color == "" {
		return ""
	}
	return "\x1b[" + color + "m"
}
