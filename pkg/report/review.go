package report

import (
	"fmt"
	"io"
	"strings"

	"agentgateway-lock/pkg/drift"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/textcheck"
)

// A Review is what waits for a decision.
type Review struct {
	Program string       // the name the command is installed under
	Items   []ReviewItem // by server, the worst first
	Digest  string       // of the review; empty where there is nothing to sign
}

// A ReviewItem is one item that waits for a decision.
type ReviewItem struct {
	Server string
	Status string // such as new or changed
	Grade  finding.Grade
	Digest string
	Change drift.Change
	Lines  []string // further facts, one line each
	Alarms []string // what a person must not overlook
}

// ReviewText renders a review for a terminal: a summary, then under a heading for
// each server its items, with an account and the whole difference of the readable
// copies.
func ReviewText(w io.Writer, r Review, opts TextOptions) error {
	opts.Full = true
	t := newTextWriter(opts)
	t.line(0, t.paint(bold, reviewSummary(r.Items)))
	groups := byServer(r.Items)
	if len(groups) > 1 {
		for _, g := range groups {
			t.segments(2, "", "", []segment{{"", textcheck.Clip(g[0].Server, clipName)}, {dim, textcheck.Count(len(g), "item")}, {"", gradesOf(g)}})
		}
	}
	t.line(0, "")
	for _, g := range groups {
		t.segments(0, "", "", []segment{{bold, textcheck.Clip(g[0].Server, clipName)}})
		for _, it := range g {
			t.reviewItem(it)
		}
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// reviewSummary counts what waits, as in "3 items of 2 servers: 1 critical, 2
// warnings".
func reviewSummary(items []ReviewItem) string {
	return fmt.Sprintf("%s of %s: %s", textcheck.Count(len(items), "item"), textcheck.Count(len(byServer(items)), "server"), gradesOf(items))
}

func byServer(items []ReviewItem) [][]ReviewItem {
	var groups [][]ReviewItem
	for i, it := range items {
		if i == 0 || it.Server != items[i-1].Server {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], it)
	}
	return groups
}

func gradesOf(items []ReviewItem) string {
	counts := map[finding.Grade]int{}
	for _, it := range items {
		counts[it.Grade]++
	}
	var parts []string
	for _, g := range []finding.Grade{finding.Critical, finding.Warning, finding.Info, finding.Note} {
		if n := counts[g]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, gradeWord(g, n)))
		}
	}
	return strings.Join(parts, ", ")
}

func (t *textWriter) reviewItem(it ReviewItem) {
	c := it.Change
	t.aspectLine(it.Grade, kindAndName(c)+" "+it.Status)
	for _, alarm := range it.Alarms {
		t.hang(textIndent, red, "! ", red, alarm)
	}
	if c.Status == drift.Changed {
		t.account(c)
	} else if description := descriptionOf(c); strings.Contains(description, "\n") || len(description) > shortText {
		t.quote(description) // one line of the copy is hard to read
	}
	t.wholeDiff(c)
	for _, line := range it.Lines {
		t.hang(textIndent, dim, "· ", dim, line)
	}
	t.line(0, "")
}

// ReviewMarkdown renders a review for a pull request, as [ReviewText] does for a
// terminal. The text stays below 900 kB; where something is left out, it says how
// much.
func ReviewMarkdown(w io.Writer, r Review) error {
	m := &markdownWriter{r: &Report{Program: r.Program}, differ: newWordDiffer()}
	fmt.Fprintf(&m.b, "## %s review\n\n%s\n", textcheck.Markdown(m.r.program()), textcheck.Markdown(reviewSummary(r.Items)))
	left := 0
	for i, it := range r.Items {
		text := m.reviewItem(it)
		if i == 0 || it.Server != r.Items[i-1].Server {
			text = "\n### " + textcheck.Markdown(textcheck.Clip(it.Server, clipName)) + "\n\n" + text
		}
		if !m.section(text, markdownLimit-markdownTail) {
			m.full = true
			left++
		}
	}
	if left > 0 {
		fmt.Fprintf(&m.b, "\n**%s not shown; %s shows all.**\n", areLeft(left, "item"), textcheck.MarkdownCode(m.r.program()+" review"))
	}
	if r.Digest != "" {
		fmt.Fprintf(&m.b, "\nTo approve all of it: %s\n", textcheck.MarkdownCode(m.r.program()+" approve --review "+r.Digest))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

func areLeft(n int, word string) string {
	if n == 1 {
		return "1 " + word + " is"
	}
	return textcheck.Count(n, word) + " are"
}

func (m *markdownWriter) reviewItem(it ReviewItem) string {
	c := it.Change
	head := fmt.Sprintf("<b>%s</b>: %s", it.Grade, textcheck.HTML(kindWord(c.Kind)))
	if c.Name != "" {
		head += " " + code(textcheck.Clip(c.Name, clipName))
	}
	var b strings.Builder
	for _, alarm := range it.Alarms {
		b.WriteString("- **" + textcheck.Markdown(alarm) + "**\n")
	}
	for _, a := range c.Aspects {
		fmt.Fprintf(&b, "- **%s** `%s`: %s\n", a.Grade, a.Code, textcheck.Markdown(textcheck.Clip(a.Summary, clipSummary)))
	}
	b.WriteString("\n" + textcheck.MarkdownBlock("diff", plainDiff(m.differ.copyDiff(c))) + "\n")
	for _, line := range it.Lines {
		b.WriteString("- " + textcheck.Markdown(line) + "\n")
	}
	return fold(head+" "+textcheck.HTML(it.Status), b.String())
}

// ReviewType is the type that a review in JSON says it has.
const ReviewType = "agentgateway-review/v1"

type jsonReview struct {
	Type   string           `json:"type"`
	Digest *string          `json:"digest"`
	Items  []jsonReviewItem `json:"items"`
}

type jsonReviewItem struct {
	Server  string        `json:"server"`
	Status  string        `json:"status"`
	Grade   finding.Grade `json:"grade"`
	Digest  string        `json:"digest"`
	Notes   []string      `json:"notes"`
	Alarms  []string      `json:"alarms"`
	Change  jsonChange    `json:"change"`
	OldCopy *string       `json:"oldCopy"`
	NewCopy *string       `json:"newCopy"`
}

// ReviewJSON renders a review as one JSON text of the form
// schema/review.schema.json describes.
func ReviewJSON(w io.Writer, r Review) error {
	out := jsonReview{Type: ReviewType, Items: make([]jsonReviewItem, len(r.Items))}
	if r.Digest != "" {
		out.Digest = &r.Digest
	}
	for i, it := range r.Items {
		old, fresh := it.Change.Copies()
		out.Items[i] = jsonReviewItem{
			Server: it.Server, Status: it.Status, Grade: it.Grade, Digest: it.Digest,
			Notes: notNil(it.Lines), Alarms: notNil(it.Alarms), Change: toJSONChange(it.Change),
			OldCopy: orNull(old), NewCopy: orNull(fresh),
		}
	}
	return writeJSON(w, out, "  ")
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
