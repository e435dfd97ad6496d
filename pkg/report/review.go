package report

import (
	"io"
	"slices"
	"strings"
	"unicode"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
)

// A ReviewItem is one item that waits for a decision.
type ReviewItem struct {
	Server string
	Status string // such as new or changed
	Grade  finding.Grade
	Change drift.Change
	Lines  []string // further facts, one line each
	Alarms []string // what a person must not overlook
}

// Review renders items that wait for a decision, in the order given, under a
// heading for each server.
func Review(w io.Writer, items []ReviewItem, opts TextOptions) error {
	t := newTextWriter(opts)
	server := ""
	for i, it := range items {
		if i == 0 || it.Server != server {
			server = it.Server
			t.segments(0, "", "", []segment{{bold, textcheck.Clip(server, clipName)}})
		}
		t.reviewItem(it)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

func (t *textWriter) reviewItem(it ReviewItem) {
	const indent = 13
	c := it.Change
	t.aspectLine(it.Grade, kindAndName(c)+" "+it.Status)
	switch {
	case c.Status == drift.Added && len(c.Aspects) == 0:
		if description := descriptionOf(c); description != "" {
			t.wrap(indent, description)
		} else if len(c.New) > 0 && c.Name == "" {
			t.wrap(indent, string(c.New))
		}
		t.otherTexts(indent, c)
	default:
		for _, a := range c.Aspects {
			t.aspect(a)
		}
	}
	for _, line := range it.Lines {
		t.hang(indent, dim, "· ", dim, line)
	}
	for _, alarm := range it.Alarms {
		t.hang(indent, red, "! ", red, alarm)
	}
	t.line(0, "")
}

// otherTexts shows what an agent reads of a new definition beside its name and its
// description: whoever approves the item approves these words too.
func (t *textWriter) otherTexts(indent int, c drift.Change) {
	if c.Kind == surface.KindInstructions || len(c.New) == 0 {
		return
	}
	texts := slices.DeleteFunc(drift.Texts(c.New), func(n drift.NamedText) bool {
		return n.Path == "name" || n.Path == "description" || keyword(n)
	})
	for i, n := range texts {
		name, ok := strings.CutSuffix(n.Path, " (name)")
		switch {
		case !ok:
			t.hang(indent, dim, "", "", n.Path+": "+n.Text)
		case i+1 == len(texts) || !strings.HasPrefix(texts[i+1].Path, name+"."):
			t.hang(indent, dim, "", "", name)
		}
	}
}

// keyword reports whether a text is one that a schema is made of and not one that
// says something. White space makes it say something wherever it stands.
func keyword(n drift.NamedText) bool {
	if strings.ContainsFunc(n.Text, unicode.IsSpace) {
		return false
	}
	member := n.Path[strings.LastIndexByte(n.Path, '.')+1:]
	return slices.Contains([]string{"type", "type[]", "$schema", "required[]"}, member)
}
