package serve

import (
	"fmt"
	"strings"

	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/processor"
	"agentgateway-lock/pkg/surface"
)

// maxDeny bounds a deny file in bytes.
const maxDeny = 1 << 20

// A DenyLine is one line of a deny file: the kill switch, which needs no
// signature and can only deny.
//
// A line is a server, or SERVER/NAME for an item: every kind that bears the name.
// A kind and a space may go before either, as in "tool files/read_file" or
// "instructions files". Empty lines, and what follows a # at the start of a line,
// say nothing.
type DenyLine struct {
	Number int // from 1
	Text   string
}

// ParseDeny reads the lines of a deny file.
func ParseDeny(data []byte) []DenyLine {
	var lines []DenyLine
	n := 0
	for text := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) { // which some editors begin files with
		n++
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			lines = append(lines, DenyLine{n, text})
		}
	}
	return lines
}

// resolveDeny finds what the lines name in a lockfile. What a line does not find
// is denied in any case, or its spelling is wrong: both are returned as unknown.
func resolveDeny(lines []DenyLine, file *lockfile.File) (refs []processor.Ref, unknown []DenyLine) {
	for _, line := range lines {
		ref, ok := resolveRef(line.Text, "", file)
		if word, rest, cut := strings.Cut(line.Text, " "); !ok && cut && denyKinds[surface.Kind(word)] {
			ref, ok = resolveRef(strings.TrimSpace(rest), surface.Kind(word), file)
		}
		if !ok {
			unknown = append(unknown, line)
			continue
		}
		refs = append(refs, ref)
	}
	return refs, unknown
}

// denyKinds are the words that may begin a line.
var denyKinds = map[surface.Kind]bool{
	surface.KindServer: true, surface.KindInstructions: true, surface.KindTool: true,
	surface.KindPrompt: true, surface.KindResource: true, surface.KindResourceTemplate: true,
}

// resolveRef finds the server of a text, by its name or the gateway's target: the
// longest that is followed by a slash wins.
func resolveRef(text string, kind surface.Kind, file *lockfile.File) (processor.Ref, bool) {
	whole := kind == "" || kind == surface.KindServer || kind == surface.KindInstructions
	var found processor.Ref
	longest := -1
	for _, s := range file.Servers {
		for _, name := range [...]string{s.Name, s.TargetName()} {
			switch {
			case text == name && whole:
				if kind == surface.KindServer {
					return processor.Ref{Server: s.Name}, true
				}
				return processor.Ref{Server: s.Name, Kind: kind}, true
			case kind == surface.KindServer || kind == surface.KindInstructions:
			case len(name) > longest && len(text) > len(name)+1 && text[len(name)] == '/' && text[:len(name)] == name:
				found, longest = processor.Ref{Server: s.Name, Kind: kind, Name: text[len(name)+1:]}, len(name)
			}
		}
	}
	return found, longest >= 0
}

// String shows the line for people.
func (l DenyLine) String() string {
	return fmt.Sprintf("line %d: %s", l.Number, processor.Shown(l.Text))
}
