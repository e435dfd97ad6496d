package report

import (
	"fmt"
	"slices"
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/textcheck"
)

// A diffLine is a line of a readable copy, or the head of a hunk.
type diffLine struct {
	op   op
	text string
}

// contextLines is how many unchanged lines stand around a change, as in git.
const contextLines = 3

// hunkHead is the op of a line that tells where the lines after it stand.
const hunkHead op = -1

// copyDiff returns the whole unified diff of the readable copies of an item. Every
// line that only one of them has is in it. Where comparing them would be too much
// work, all lines of the old one are followed by all of the new one.
func (d *wordDiffer) copyDiff(c drift.Change) []diffLine {
	old, fresh := c.Copies()
	before, now := splitLines(old), splitLines(fresh)
	var all []diffLine
	head := 0
	for head < min(len(before), len(now)) && before[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(before), len(now))-head && before[len(before)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	all = appendLines(all, equal, before[:head])
	all = d.changedLines(all, before[head:len(before)-tail], now[head:len(now)-tail])
	return hunks(appendLines(all, equal, before[len(before)-tail:]))
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func appendLines(to []diffLine, op op, lines []string) []diffLine {
	for _, line := range lines {
		to = append(to, diffLine{op, line})
	}
	return to
}

// changedLines compares lines of which the first and the last differ.
func (d *wordDiffer) changedLines(to []diffLine, before, now []string) []diffLine {
	if len(before) == 0 || len(now) == 0 || !d.take(before, now) {
		return appendLines(appendLines(to, deleted, before), inserted, now)
	}
	for _, p := range compareUnits(before, now) {
		to = appendLines(to, p.op, p.units)
	}
	return to
}

// hunks leaves out unchanged lines that are far from any change, and says where
// what is left stands. A text that is all new or all gone needs no saying.
func hunks(all []diffLine) []diffLine {
	var out []diffLine
	changedAt := slices.IndexFunc(all, changed)
	if changedAt < 0 || !slices.ContainsFunc(all, func(l diffLine) bool { return l.op != all[0].op }) {
		return all
	}
	oldLine, newLine, at := 1, 1, 0
	for changedAt >= 0 {
		start := max(at, changedAt-contextLines)
		oldLine, newLine = oldLine+start-at, newLine+start-at
		end := hunkEnd(all, changedAt)
		olds, news := 0, 0
		for _, l := range all[start:end] {
			if l.op != inserted {
				olds++
			}
			if l.op != deleted {
				news++
			}
		}
		out = append(out, diffLine{hunkHead, fmt.Sprintf("@@ -%d,%d +%d,%d @@", oldLine, olds, newLine, news)})
		out = append(out, all[start:end]...)
		oldLine, newLine, at = oldLine+olds, newLine+news, end
		next := slices.IndexFunc(all[end:], changed)
		if next < 0 {
			break
		}
		changedAt = end + next
	}
	return out
}

func changed(l diffLine) bool { return l.op == deleted || l.op == inserted }

// hunkEnd is where the hunk ends that has a change at i.
func hunkEnd(all []diffLine, i int) int {
	last := i
	for j := i; j < len(all) && j-last <= 2*contextLines; j++ {
		if changed(all[j]) {
			last = j
		}
	}
	return min(len(all), last+1+contextLines)
}

// A part of a line of a diff, as it is laid out: mark is in the first two columns.
type diffPart struct {
	op         op
	mark, text string
}

var diffMarks = map[op]string{hunkHead: "", equal: " ", deleted: "-", inserted: "+"}

// layOut escapes lines and breaks them to the width. Every part bears the mark of
// its line, and one that goes on a line has a second mark: no text can look like a
// line that it is not. The parts of a line put together are the line.
func layOut(lines []diffLine, width int) []diffPart {
	var out []diffPart
	for _, l := range lines {
		if l.op == hunkHead {
			out = append(out, diffPart{l.op, "", l.text})
			continue
		}
		mark := diffMarks[l.op] + " "
		for _, part := range breakExactly(textcheck.Terminal(l.text), max(width-len(mark), 20)) {
			out = append(out, diffPart{l.op, mark, part})
			mark = diffMarks[l.op] + "|"
		}
	}
	return out
}

// breakExactly breaks an escaped line after a space where that leaves lines of
// some length, and drops nothing.
func breakExactly(line string, room int) []string {
	var out []string
	for {
		column, end, space := 0, len(line), 0
		for i, r := range line {
			if column += columns(r); column > room {
				end = i
				break
			}
			if r == ' ' && column > room/2 {
				space = i + 1
			}
		}
		if end == len(line) {
			return append(out, line)
		}
		if space > 0 {
			end = space
		}
		out = append(out, line[:end])
		line = line[end:]
	}
}
