package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// A bound is how much is shown of what differs in one item where a report is brief.
type bound struct {
	lines int // of the diff
	runes int // of one line
}

// The bounds of the media.
var (
	textBound       = bound{lines: 16, runes: 320}
	markdownBound   = bound{lines: 120, runes: 2000}
	messageBound    = bound{lines: 12, runes: 400} // of SARIF results
	annotationBound = bound{lines: 6, runes: 200}
)

// A rest is what a brief report does not show of what differs.
type rest struct{ lines, runes int }

func (r rest) none() bool { return r == rest{} }

// String says how much is not shown, as in "3 changed lines and 120 characters".
func (r rest) String() string {
	var parts []string
	if r.lines > 0 {
		parts = append(parts, textcheck.Count(r.lines, "changed line"))
	}
	if r.runes > 0 {
		parts = append(parts, textcheck.Count(r.runes, "character"))
	}
	return strings.Join(parts, " and ")
}

// cut shortens a diff to a bound and counts what it leaves out: changed lines, and
// characters of those that are shown in part.
func (b bound) cut(lines []diffLine) (shown []diffLine, left rest) {
	for i, l := range lines {
		if len(shown) >= b.lines {
			for _, more := range lines[i:] {
				if changed(more) {
					left.lines++
				}
			}
			break
		}
		if n := utf8.RuneCountInString(l.text) - b.runes; n > 0 {
			l.text = textcheck.Clip(l.text, b.runes)
			if changed(l) {
				left.runes += n + 1 // the ellipsis took the place of one
			}
		}
		shown = append(shown, l)
	}
	return shown, left
}

// showsAll is the command that shows what a brief report of an item does not.
func (r *Report) showsAll(server string, c drift.Change) string {
	words := r.program() + " " + r.full()
	if plainWord(server) {
		item := server
		switch {
		case plainWord(c.Name):
			item += "/" + c.Name
		case c.Kind == surface.KindInstructions:
			item += "/" + string(c.Kind)
		}
		words += " " + item
	}
	return words
}

func (r *Report) full() string {
	switch r.Full {
	case "":
		return "diff --full"
	case ShowAll:
		return "show --full" // the new words; the old ones are nowhere else
	}
	return r.Full
}

// notShown is the line about what a brief report leaves out.
func notShown(left rest, command string) string {
	verb := "are"
	if left.lines+left.runes == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s %s not shown; `%s` shows all", left, verb, command)
}

// plainDiff spells lines with their marks, not escaped.
func plainDiff(lines []diffLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(diffMarks[l.op] + l.text + "\n")
	}
	return b.String()
}

// hasCopies reports whether there is a readable copy on either side.
func hasCopies(c drift.Change) bool { return c.Old != nil || c.New != nil }

// toldWhole reports whether an aspect, with values of at most limit characters, tells
// all that it is about. Of texts a word diff shows more.
func toldWhole(a drift.Aspect, limit int) bool {
	if a.Words {
		limit = maxChanged
	}
	return a.Whole && utf8.RuneCountInString(a.Summary) <= clipSummary && utf8.RuneCountInString(a.Old) <= limit && utf8.RuneCountInString(a.New) <= limit
}
