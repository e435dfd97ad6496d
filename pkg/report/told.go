package report

import (
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
)

// A told is what a finding is about, where that is words: an aspect of a change, or a
// change that waits for a decision.
type told struct {
	server  string
	change  drift.Change
	aspect  *drift.Aspect // nil for a change that waits
	waiting bool
}

// findingKey identifies a finding that a change tells.
type findingKey struct {
	code                        finding.Code
	server, kind, name, summary string
}

func keyOf(f finding.Finding) findingKey {
	return findingKey{f.Code, f.Place.Server, string(f.Place.Kind), f.Place.Name, f.Summary}
}

// itemPlace is the item that a place is about, whatever the file.
func itemPlace(p finding.Place) finding.Place {
	return finding.Place{Server: p.Server, Kind: p.Kind, Name: p.Name}
}

// A tellings finds what findings are about.
type tellings struct {
	r       *Report
	aspects map[findingKey]told
	waiting map[finding.Place]told // taken out once it is told
	differ  *wordDiffer
	diffs   map[finding.Place]string // what was spelled of an item
}

func newTellings(r *Report) *tellings {
	t := &tellings{r, map[findingKey]told{}, map[finding.Place]told{}, newWordDiffer(), map[finding.Place]string{}}
	for _, s := range r.Servers {
		for _, c := range s.Changes {
			for i, f := range FindingsOf(s.Name, []drift.Change{c}) {
				t.aspects[keyOf(f)] = told{server: s.Name, change: c, aspect: &c.Aspects[i]}
			}
		}
		for _, c := range s.Waiting {
			t.waiting[finding.Place{Server: s.Name, Kind: c.Kind, Name: c.Name}] = told{server: s.Name, change: c, waiting: true}
		}
	}
	return t
}

// isAspect reports whether a finding is an aspect of a change.
func (t *tellings) isAspect(f finding.Finding) bool {
	_, ok := t.aspects[keyOf(f)]
	return ok
}

// waits returns the change that waits for a decision and that a finding is the first
// to be about.
func (t *tellings) waits(f finding.Finding) (told, bool) {
	if t.isAspect(f) {
		return told{}, false
	}
	place := itemPlace(f.Place)
	what, ok := t.waiting[place]
	delete(t.waiting, place)
	return what, ok
}

// message is what a message about a finding says of the words, within a bound: the
// old and the proposed ones. It is not escaped, and empty where there are none.
func (t *tellings) message(f finding.Finding, b bound) string {
	what, ok := t.aspects[keyOf(f)]
	if !ok {
		if what, ok = t.waits(f); !ok {
			return ""
		}
	}
	if a := what.aspect; a != nil {
		lines, left := b.cut(appendLines(appendLines(nil, deleted, splitLines(a.Old)), inserted, splitLines(a.New)))
		if a.Whole && left.none() || !hasCopies(what.change) {
			return t.spell(lines, left, what)
		}
	}
	place := itemPlace(f.Place)
	if text, ok := t.diffs[place]; ok {
		return text
	}
	lines, left := b.cut(t.differ.copyDiff(what.change))
	text := t.spell(lines, left, what)
	t.diffs[place] = text
	return text
}

func (t *tellings) spell(lines []diffLine, left rest, what told) string {
	text := strings.TrimSuffix(plainDiff(lines), "\n")
	if !left.none() {
		text += "\n" + notShown(left, t.showsAll(what))
	}
	return text
}

// showsAll is the command that shows all of what a finding is about.
func (t *tellings) showsAll(what told) string {
	if what.waiting {
		review := *t.r
		review.Full = "review"
		return review.showsAll(what.server, what.change)
	}
	return t.r.showsAll(what.server, what.change)
}
