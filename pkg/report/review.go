package report

import (
	"io"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
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
	for _, a := range c.Aspects {
		t.aspect(a)
	}
	t.copyDiff(c)
	for _, line := range it.Lines {
		t.hang(indent, dim, "· ", dim, line)
	}
	for _, alarm := range it.Alarms {
		t.hang(indent, red, "! ", red, alarm)
	}
	t.line(0, "")
}

// copyDiff shows how the readable copies differ, whole.
func (t *textWriter) copyDiff(c drift.Change) {
	const indent = 4
	colors := map[op]string{hunkHead: dim, deleted: red, inserted: green}
	for _, p := range layOut(t.differ.copyDiff(c), t.opts.Width-indent) {
		t.line(indent, t.paint(colors[p.op], p.mark+p.text))
	}
}
