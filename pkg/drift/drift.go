package drift

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"agentgateway-lock/pkg/source"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/lockfile"
	"agentgateway-lock/pkg/surface"
)

// A Side is one of the two surfaces that are compared.
type Side struct {
	Source *source.Source // nil where it is not known
	Target string
	Covers []string // nil means tools

	Instructions *Text // nil where there are none
	// Lists holds the items of each kind that was offered, by name.
	Lists   map[surface.Kind]map[string]Item
	Refused []surface.Refused

	copies Copies // nil for a listing
}

// text returns the canonical definition of an item; nil where it is not at hand.
// A copy is read only where something differs: most need not be.
func (s *Side) text(kind surface.Kind, name string, it *Item) []byte {
	if it.definition == nil && s.copies != nil {
		return s.copies(kind, name)
	}
	return it.definition
}

// Text is a text with its hash; Known is false where only the hash is at hand.
type Text struct {
	Hash  canonical.Digest
	Text  string
	Known bool
}

// Item is one definition.
type Item struct {
	Tool       *surface.ToolHashes
	Digest     canonical.Digest // zero where only the three hashes are known
	definition []byte           // canonical; nil where it stands in a copy, if anywhere
}

// A Copies function returns the canonical definition of an item, or the text of
// the instructions (kind instructions, empty name); nil where it is not at hand.
type Copies func(kind surface.Kind, name string) []byte

// FromLockfile returns the side that a lockfile entry records. Absent items are
// left out.
func FromLockfile(s *lockfile.Server, copies Copies) Side {
	side := Side{Source: s.Source, Target: s.Target, Covers: s.Covers, Refused: s.Refused, Lists: map[surface.Kind]map[string]Item{}, copies: copies}
	if s.Instructions != nil && !s.Instructions.Absent {
		side.Instructions = &Text{Hash: s.Instructions.Hash}
		if text := copies(surface.KindInstructions, ""); text != nil && canonical.Sum(text) == s.Instructions.Hash {
			side.Instructions.Text, side.Instructions.Known = string(text), true
		}
	}
	for kind, items := range s.Lists {
		list := make(map[string]Item, len(items))
		for _, it := range items {
			if !it.Absent {
				list[it.Name] = Item{Tool: it.Tool, Digest: it.Digest}
			}
		}
		side.Lists[kind] = list
	}
	return side
}

// FromSurface returns the side of a live listing.
func FromSurface(s surface.Surface, src *source.Source, covers []string) Side {
	side := Side{Source: src, Covers: covers, Refused: s.Refused, Lists: map[surface.Kind]map[string]Item{}}
	if s.Instructions != nil {
		side.Instructions = &Text{Hash: s.Instructions.Hash, Text: s.Instructions.Text, Known: true}
	}
	for kind, l := range s.Lists {
		list := make(map[string]Item, len(l.Definitions))
		for _, d := range l.Definitions {
			list[d.Name] = Item{Tool: d.Tool, Digest: d.Digest, definition: d.Canonical}
		}
		side.Lists[kind] = list
	}
	return side
}

// Status says what happened to an item.
type Status string

// The statuses.
const (
	Added   Status = "added"
	Removed Status = "removed"
	Changed Status = "changed"
)

// A Change is one item that differs. Kind source and instructions have no name;
// so has kind server, which stands for the entry itself.
type Change struct {
	Kind    surface.Kind
	Name    string
	Status  Status
	Old     []byte // the old definition or text; nil where there is none at hand
	New     []byte
	Aspects []Aspect // never empty; worst first
}

// Grade is the worst grade of the change's aspects.
func (c Change) Grade() finding.Grade {
	worst := finding.Info
	for _, a := range c.Aspects {
		worst = max(worst, a.Grade)
	}
	return worst
}

// Copies returns the readable copies of the old and the new text; empty where there
// is none at hand.
func (c Change) Copies() (old, fresh string) { return c.readable(c.Old), c.readable(c.New) }

func (c Change) readable(text []byte) string {
	switch {
	case text == nil:
		return ""
	case c.Kind == surface.KindInstructions:
		return string(lockfile.FormatInstructions(string(text)))
	case c.Kind == surface.KindSource:
		return string(text)
	}
	return string(lockfile.FormatCopy(text))
}

// An Aspect is one difference within an item.
type Aspect struct {
	Code    finding.Code
	Grade   finding.Grade
	Path    string // the member, such as description or inputSchema.properties.path
	Summary string // one line, without text of the server but names
	Old     string // the text or the JSON value before; empty where there was none
	New     string
	Words   bool // Old and New are texts for people, best shown as a text diff
	// Whole means that Old and New are all that the aspect is about: who reads them and
	// the summary has read all of it.
	Whole bool
}

func aspect(code finding.Code, path, summary string) Aspect {
	return Aspect{Code: code, Grade: finding.Lookup(code).Grade, Path: path, Summary: summary}
}

// Compare tells how the surface now differs from the one before, worst first.
// Only kinds that both sides cover are compared.
func Compare(before, now Side) []Change {
	var changes []Change
	if c, ok := compareSource(before, now); ok {
		changes = append(changes, c)
	}
	if covers(before, surface.CoverInstructions) && covers(now, surface.CoverInstructions) {
		if c, ok := compareInstructions(before.Instructions, now.Instructions); ok {
			changes = append(changes, c)
		}
	}
	for _, k := range surface.ListKinds() {
		if covers(before, k.Cover) && covers(now, k.Cover) {
			changes = append(changes, compareList(k.Kind, &before, &now)...)
		}
	}
	if c, ok := compareRefused(before, now); ok {
		changes = append(changes, c)
	}
	Sort(changes)
	return changes
}

// Sort orders changes: worst grade first, then by kind and name.
func Sort(changes []Change) {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Grade(), a.Grade()), strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
	})
}

func covers(s Side, cover string) bool {
	if s.Covers == nil {
		return cover == "tools"
	}
	return slices.Contains(s.Covers, cover)
}

func compareSource(before, now Side) (Change, bool) {
	c := Change{Kind: surface.KindSource, Status: Changed}
	if before.Source != nil && now.Source != nil && !before.Source.Equal(now.Source) {
		c.Aspects = append(c.Aspects, anotherSource(before.Source, now.Source))
		c.Old, c.New = []byte(source.Terms{Source: before.Source}.Text()), []byte(source.Terms{Source: now.Source}.Text())
	}
	if before.Target != now.Target && now.Target != "" {
		a := aspect(finding.SourceChanged, "target", "another gateway target")
		a.Old, a.New, a.Whole = before.Target, now.Target, true
		c.Aspects = append(c.Aspects, a)
	}
	for _, cover := range before.Covers {
		if !covers(now, cover) {
			a := aspect(finding.CoverageReduced, "covers", "no longer covers "+cover)
			a.Whole = true
			c.Aspects = append(c.Aspects, a)
		}
	}
	return c, len(c.Aspects) > 0
}

// maxCommand is how long a command may be that is told on one line.
const maxCommand = 120

// anotherSource tells short commands as they would be typed; the words of a long one
// are in the texts of the change, one a line.
func anotherSource(before, now *source.Source) Aspect {
	a := aspect(finding.SourceChanged, "source", "another source")
	old, fresh := source.Describe(before), source.Describe(now)
	if old != fresh && max(len(old), len(fresh)) <= maxCommand {
		a.Old, a.New, a.Whole = old, fresh, true
	}
	return a
}

func compareInstructions(before, now *Text) (Change, bool) {
	c := Change{Kind: surface.KindInstructions, Status: Changed}
	a := aspect(finding.InstructionsChanged, "instructions", "the instructions differ")
	a.Words, a.Whole = true, (before == nil || before.Known) && (now == nil || now.Known)
	switch {
	case before == nil && now == nil, before != nil && now != nil && before.Hash == now.Hash:
		return c, false
	case before == nil:
		c.Status, a.Summary = Added, "the server now gives instructions"
	case now == nil:
		c.Status, a.Summary = Removed, "the server gives no instructions any more"
	}
	if before != nil {
		a.Old, c.Old = before.Text, textBytes(before)
	}
	if now != nil {
		a.New, c.New = now.Text, textBytes(now)
	}
	c.Aspects = []Aspect{a}
	return c, true
}

func textBytes(t *Text) []byte {
	if !t.Known {
		return nil
	}
	return []byte(t.Text)
}

func compareList(kind surface.Kind, before, now *Side) []Change {
	var changes []Change
	for name, old := range before.Lists[kind] {
		item, ok := now.Lists[kind][name]
		switch {
		case !ok:
			code := finding.ItemRemoved
			if kind == surface.KindTool {
				code = finding.ToolRemoved
			}
			changes = append(changes, Change{Kind: kind, Name: name, Status: Removed, Old: before.text(kind, name, &old),
				Aspects: []Aspect{aspect(code, "", "no longer served")}})
		case !same(old, item):
			c := Change{Kind: kind, Name: name, Status: Changed, Old: before.text(kind, name, &old), New: now.text(kind, name, &item)}
			c.Aspects = compareItems(old, item, c.Old, c.New)
			changes = append(changes, c)
		}
	}
	for name, item := range now.Lists[kind] {
		if _, ok := before.Lists[kind][name]; !ok {
			code := finding.ItemAdded
			if kind == surface.KindTool {
				code = finding.ToolAdded
			}
			changes = append(changes, Change{Kind: kind, Name: name, Status: Added, New: now.text(kind, name, &item),
				Aspects: []Aspect{aspect(code, "", "new")}})
		}
	}
	return changes
}

// same decides by the digests, or by the three hashes where a side has no digest.
func same(a, b Item) bool {
	if !a.Digest.IsZero() && !b.Digest.IsZero() {
		return a.Digest == b.Digest
	}
	return a.Tool != nil && b.Tool != nil && *a.Tool == *b.Tool
}

// compareItems tells how two items that differ do. It never returns nothing.
func compareItems(old, item Item, before, now []byte) []Aspect {
	var aspects []Aspect
	if before != nil && now != nil && !bytes.Equal(before, now) {
		aspects = compareDefinitions(before, now)
	} else if old.Tool != nil && item.Tool != nil {
		aspects = compareHashes(*old.Tool, *item.Tool)
	}
	if len(aspects) == 0 {
		aspects = []Aspect{aspect(finding.DefinitionChanged, "", "the digests differ; the old text is not at hand")}
	}
	slices.SortStableFunc(aspects, func(a, b Aspect) int { return cmp.Compare(b.Grade, a.Grade) })
	return aspects
}

func compareHashes(old, item surface.ToolHashes) []Aspect {
	var aspects []Aspect
	if old.Description != item.Description {
		aspects = append(aspects, aspect(finding.DescriptionChanged, "description", "the description differs; the old text is not at hand"))
	}
	if old.InputSchema != item.InputSchema {
		aspects = append(aspects, aspect(finding.SchemaChanged, "inputSchema", "the input schema differs; the old text is not at hand"))
	}
	return aspects
}

func compareRefused(before, now Side) (Change, bool) {
	old, fresh := coveredRefused(before, now), coveredRefused(now, before)
	if slices.Equal(old, fresh) {
		return Change{}, false
	}
	c := Change{Kind: surface.KindServer, Status: Changed}
	for _, r := range fresh {
		if !slices.Contains(old, r) {
			a := aspect(finding.RefusedChanged, "refused", "refused by the rule "+string(r.Rule)+": "+string(r.Kind)+" "+r.Name)
			a.New, a.Whole = r.Raw.String(), true
			c.Aspects = append(c.Aspects, a)
		}
	}
	for _, r := range old {
		if !slices.Contains(fresh, r) {
			a := aspect(finding.RefusedChanged, "refused", "no longer served as it was refused: "+string(r.Kind)+" "+r.Name)
			a.Old, a.Whole = r.Raw.String(), true
			c.Aspects = append(c.Aspects, a)
		}
	}
	return c, len(c.Aspects) > 0
}

// coveredRefused returns the refused definitions of s of the kinds that other
// covers too.
func coveredRefused(s, other Side) []surface.Refused {
	var out []surface.Refused
	for _, r := range s.Refused {
		cover := surface.CoverInstructions
		if k, ok := surface.ListKindOf(r.Kind); ok {
			cover = k.Cover
		}
		if covers(other, cover) {
			out = append(out, r)
		}
	}
	return out
}
