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
	opts.Full = true
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
	t.account(c)
	t.wholeDiff(c)
	for _, line := range it.Lines {
		t.hang(indent, dim, "· ", dim, line)
	}
	for _, alarm := range it.Alarms {
		t.hang(indent, red, "! ", red, alarm)
	}
	t.line(0, "")
}
