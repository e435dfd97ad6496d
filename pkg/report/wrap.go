package report

import (
	"slices"
	"strings"

	"golang.org/x/text/width"

	"agentgateway-lock/pkg/textcheck"
)

// wrapLine breaks an escaped line between words, or within a word that is too
// long. A part that a CI runner would take for a command is defused, as the start
// of the line is.
func wrapLine(line string, room int) []string {
	room = max(room, 20)
	var out []string
	for {
		end, next := lineBreak(line, room)
		out = append(out, line[:end])
		if next == len(line) {
			return out
		}
		if line = line[next:]; strings.HasPrefix(line, "::") {
			line = textcheck.Terminal(line)
		}
	}
}

// lineBreak returns where the first part of a line ends and where the next starts.
func lineBreak(line string, room int) (end, next int) {
	column, space, early := 0, 0, 0
	for i, r := range line {
		switch {
		case r != ' ' || column == 0:
		case column > room/6:
			space = i
		default:
			early = i
		}
		if column += columns(r); column <= room {
			continue
		}
		if space == 0 && early > 0 && fits(line[early:], room) {
			space = early // such as a digest, which people copy
		}
		if space == 0 {
			if i > 0 && splitsMark(line[i-1:]) {
				i--
			}
			return i, i
		}
		rest := strings.TrimLeft(line[space:], " ")
		return len(strings.TrimRight(line[:space], " ")), len(line) - len(rest)
	}
	return len(line), len(line)
}

// fits reports whether the first word of a text fits on a line.
func fits(text string, room int) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(text, " "), " ")
	taken := 0
	for _, r := range word {
		taken += columns(r)
	}
	return taken <= room
}

// splitsMark reports whether a break after the first byte of s is within a mark of
// a word diff.
func splitsMark(s string) bool {
	return len(s) > 1 && slices.Contains(marks[:], s[:2])
}

// columns is how many columns of a terminal a character takes.
func columns(r rune) int {
	const firstWide = 0x1100
	if r >= firstWide {
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			return 2
		}
	}
	return 1
}
