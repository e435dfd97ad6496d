package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"agentgateway-lock/pkg/canonical"
	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/source"
	"agentgateway-lock/pkg/surface"
	"agentgateway-lock/pkg/textcheck"
	"agentgateway-lock/pkg/trust"
)

type reviewCmd struct {
	trustFlags
	pagerFlags

	Items  []string `arg:"" optional:"" name:"item" help:"SERVER or SERVER/NAME; all by default."`
	Format string   `enum:"text,json,markdown" default:"text" help:"The format on standard output: ${enum}."`
}

func (c *reviewCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	r, err := p.Review(a.ctx, c.Items)
	if err != nil {
		return err
	}
	page := a.reviewPage(r.Items)
	if !r.Digest.IsZero() {
		page.Digest = r.Digest.String()
	}
	code := exitFindings
	if len(r.Items) == 0 {
		code = exitOK
	}
	switch {
	case c.Format == "json":
		err = report.ReviewJSON(a.rawOut, page)
	case len(r.Items) == 0:
		_, err = fmt.Fprintln(a.stdout, nothingWaits)
	case c.Format == "markdown":
		err = report.ReviewMarkdown(a.rawOut, page)
	default:
		err = a.reviewText(page, c.pagerFlags, c.Items)
	}
	if err != nil {
		return err
	}
	return exit(code)
}

// reviewText shows a review and, after the pager, how to approve it.
func (a *app) reviewText(page report.Review, f pagerFlags, named []string) error {
	if err := a.showReview(page, f); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, waiting(len(page.Items)))
	if page.Digest == "" {
		return nil
	}
	var args strings.Builder
	for _, item := range named {
		args.WriteString(" " + textcheck.Terminal(item))
	}
	_, err := fmt.Fprintf(a.stdout, "\nTo approve all of it: %s approve --review %s%s\n\nreview %s\n", a.program, page.Digest, args.String(), page.Digest)
	return err
}

const nothingWaits = "Nothing waits for a decision."

func waiting(n int) string {
	if n == 1 {
		return "1 item waits for a decision."
	}
	return fmt.Sprintf("%d items wait for a decision.", n)
}

// showReview prints a review.
func (a *app) showReview(page report.Review, f pagerFlags) error {
	return a.paged(f, func(w io.Writer) error { return report.ReviewText(w, page, a.textOptions()) })
}

// reviewPage puts into words what a person has to know of items.
func (a *app) reviewPage(items []project.ReviewItem) report.Review {
	page := report.Review{Program: a.program, Items: make([]report.ReviewItem, len(items))}
	for i := range items {
		page.Items[i] = reviewItem(&items[i])
	}
	return page
}

// reviewItem puts into words what a person has to know of one item.
func reviewItem(it *project.ReviewItem) report.ReviewItem {
	out := report.ReviewItem{Server: it.Server, Status: string(it.Status), Grade: it.Grade, Digest: it.Digest.String(), Change: it.Change}
	if it.Kind == surface.KindSource {
		out.Lines = append(out.Lines, "what runs or is contacted: "+source.Describe(it.Source))
	}
	out.Lines = append(out.Lines, it.Digest.String())
	if len(it.Proposers) > 0 {
		by := "proposed by " + strings.Join(it.Proposers, ", ")
		if len(it.Commits) > 0 {
			by += ", in commit " + shortIDs(it.Commits)
		}
		out.Lines = append(out.Lines, by)
	}
	if len(it.NotMine) > 0 {
		out.Alarms = append(out.Alarms, "whoever signed says that these commits, which may have their name, are not theirs: "+shortIDs(it.NotMine))
	}
	if it.Pending != nil {
		t := it.Pending.Tally
		out.Lines = append(out.Lines, fmt.Sprintf("signed by %s; %d more must sign", strings.Join(t.Have, ", "), t.Missing()))
	}
	if !it.Last.IsZero() && it.Change.Old == nil && it.Kind != surface.KindSource {
		out.Alarms = append(out.Alarms, "the text that was in force last ("+it.Last.Short()+") is not at hand, so the change cannot be shown")
	}
	for _, s := range it.Suspicious {
		p := s.Problem
		out.Alarms = append(out.Alarms, fmt.Sprintf("%s: %s, line %d, column %d: %s", p.Rule, s.Where, p.Line, p.Column, p.Detail))
	}
	for _, s := range it.Advice {
		out.Lines = append(out.Lines, fmt.Sprintf("%s: %s, line %d: %s", s.Problem.Rule, s.Where, s.Problem.Line, s.Problem.Detail))
	}
	for _, id := range it.RejectedBefore {
		out.Alarms = append(out.Alarms, "this very text was rejected before: decision "+id.String())
	}
	if it.Status == trust.Conflict {
		out.Alarms = append(out.Alarms, it.Why)
	}
	var refused *trust.RefusalError
	if errors.As(it.Refusal, &refused) {
		out.Alarms = append(out.Alarms, "it cannot be approved: "+refused.Detail, refused.Advice)
	}
	return out
}

// shortIDs names commits for people.
func shortIDs(ids []string) string {
	const most, digits = 8, 12
	var short []string
	for i, id := range ids {
		if i == most {
			short = append(short, fmt.Sprintf("and %d more", len(ids)-most))
			break
		}
		short = append(short, id[:min(len(id), digits)])
	}
	return strings.Join(short, ", ")
}

type approveCmd struct {
	signFlags

	Items            []string `arg:"" optional:"" name:"item" help:"SERVER or SERVER/NAME; all by default."`
	Hash             string   `placeholder:"DIGEST" help:"Approve one item of just this digest: all of it, or its first 16 digits or more."`
	Review           string   `placeholder:"DIGEST" help:"Approve all that the review of this digest showed."`
	AcceptSuspicious []string `sep:"none" placeholder:"SERVER/NAME" help:"Approve this item though the checks warn of its text; may be repeated. Others they warn of are left out."`
	NotMine          []string `placeholder:"COMMIT" help:"An unsigned commit that names you and is not yours, such as by Co-authored-by; the statement says so. May be repeated."`
	Reason           string   `placeholder:"TEXT" help:"Why; it stays in the statement."`
}

func (c *approveCmd) Run(a *app, g *globals) error {
	if c.Hash != "" && (c.Review != "" || len(c.Items) != 1) {
		return errors.New("--hash goes with one SERVER/NAME, and not with --review")
	}
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	r, err := p.Review(a.ctx, c.Items)
	if err != nil {
		return err
	}
	how := project.Approval{Signing: c.signing(a), Reason: c.Reason, AcceptSuspicious: c.AcceptSuspicious, NotMine: c.NotMine}
	switch {
	case c.Review != "":
		review, err := canonical.ParseDigest(c.Review)
		if err != nil {
			return &exitError{code: exitBadRun, err: fmt.Errorf("--review: %w", err), hint: fmt.Sprintf("the digest is on the last line of `%s review`", a.program)}
		}
		how.Review = &review
	case c.Hash != "":
		if how.Keys, err = p.MatchHash(r, c.Items[0], c.Hash); err != nil {
			return err
		}
	case a.canAsk():
		if how.Keys, err = a.askApproval(r); err != nil {
			return err
		}
	default:
		return &exitError{code: exitBadRun, err: errors.New("without a terminal, what to approve must be named"),
			hint: fmt.Sprintf("run `%s review`, then approve with --review DIGEST, or SERVER/NAME --hash DIGEST", a.program)}
	}
	if how.Review == nil && len(how.Keys) == 0 {
		said := "Nothing was approved."
		if len(r.Items) == 0 {
			said = nothingWaits
		}
		_, err := fmt.Fprintln(a.stdout, said)
		return err
	}
	done, err := p.Approve(a.ctx, r, how)
	if err != nil {
		return err
	}
	a.decided(done)
	return nil
}

// canAsk reports whether questions can be asked.
func (a *app) canAsk() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// askApproval shows the review and asks one question for each server.
func (a *app) askApproval(r *project.Review) ([]surface.Key, error) {
	keys := []surface.Key{}
	if len(r.Items) == 0 {
		return keys, nil
	}
	in := bufio.NewReader(a.stdin)
	for rest := r.Items; len(rest) > 0; {
		server := rest[0].Server
		n := slices.IndexFunc(rest, func(it project.ReviewItem) bool { return it.Server != server })
		if n < 0 {
			n = len(rest)
		}
		items := rest[:n]
		rest = rest[n:]
		page := a.reviewPage(items)
		if err := a.showReview(page, pagerFlags{NoPager: true}); err != nil {
			return nil, err
		}
		answer, err := a.askServer(in, server, page)
		if err != nil {
			return nil, err
		}
		switch answer {
		case "approve":
			for i := range items {
				keys = append(keys, items[i].Key)
			}
		case "quit":
			return []surface.Key{}, nil
		}
	}
	return keys, nil
}

// askServer asks until there is an answer.
func (a *app) askServer(in *bufio.Reader, server string, page report.Review) (string, error) {
	for {
		fmt.Fprintf(a.stdout, "%s: [a]pprove, s[h]ow again, [s]kip, [q]uit? ", textcheck.Terminal(server))
		line, err := in.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("there was no answer: %w", err)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "a", "approve":
			return "approve", nil
		case "s", "skip":
			return "skip", nil
		case "q", "quit":
			return "quit", nil
		case "h", "show":
			if err := a.showReview(page, pagerFlags{NoPager: true}); err != nil {
				return "", err
			}
		}
	}
}

// decided tells what was decided.
func (a *app) decided(d *project.Decided) {
	what := textcheck.Count(len(d.Items), "item")
	if len(d.Items) == 1 {
		what = textcheck.Terminal(project.ItemWords(d.Items[0]))
	}
	fmt.Fprintf(a.stdout, "%s: %s by %s%s.\n", d.Action, what, textcheck.Terminal(d.By), committed(d.Commit))
	for _, id := range d.IDs {
		fmt.Fprintf(a.stdout, "decision %s\n", id)
	}
	for _, key := range d.LeftOut {
		item := textcheck.Terminal(project.ItemWords(key))
		fmt.Fprintf(a.stdout, "left out, since the checks warn of its text: %s (--accept-suspicious %[1]s approves it)\n", item)
	}
	if len(d.Missing) > 0 {
		need, could := 0, []string{}
		for _, t := range d.Missing {
			need = max(need, t.Missing())
			for _, person := range t.Could {
				if !slices.Contains(could, person) {
					could = append(could, person)
				}
			}
		}
		fmt.Fprintf(a.stdout, "It counts once %d more of them have signed: %s. They run: %s review, then %[3]s approve --review DIGEST\n", need, words(could), a.program)
	}
}

// decideFlags are those of every decision but approve.
type decideFlags struct {
	signFlags

	Kind   string `enum:",tool,prompt,resourceTemplate,resource,instructions,source" default:"" help:"The item's kind, where two kinds have one name."`
	Reason string `placeholder:"TEXT" help:"Why; it stays in the statement."`
}

func (a *app) decide(g *globals, f decideFlags, action trust.Action, item, to string) error {
	p, err := a.openTrust(g, f.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	done, err := p.Decide(a.ctx, project.Decision{
		Signing: f.signing(a), Action: action, Item: item, Kind: surface.Kind(f.Kind), Reason: f.Reason, To: to,
	})
	if err != nil {
		return err
	}
	a.decided(done)
	if action == trust.Reject {
		_, err = fmt.Fprintf(a.stdout, "`%s audit log %s` shows earlier texts; `%[1]s rollback %[2]s --to DIGEST` locks one again.\n", a.program, textcheck.Terminal(item))
	}
	return err
}

// itemCmd is a decision about one item.
type itemCmd struct {
	decideFlags

	Item string `arg:"" help:"SERVER/NAME."`
}

// serverCmd is a decision about one server.
type serverCmd struct {
	decideFlags

	Server string `arg:"" help:"The server."`
}

type rejectCmd struct{ itemCmd }

func (c *rejectCmd) Run(a *app, g *globals) error {
	return a.decide(g, c.decideFlags, trust.Reject, c.Item, "")
}

type disableCmd struct{ itemCmd }

func (c *disableCmd) Run(a *app, g *globals) error {
	return a.decide(g, c.decideFlags, trust.Disable, c.Item, "")
}

type enableCmd struct{ itemCmd }

func (c *enableCmd) Run(a *app, g *globals) error {
	return a.decide(g, c.decideFlags, trust.Enable, c.Item, "")
}

type pauseCmd struct{ serverCmd }

func (c *pauseCmd) Run(a *app, g *globals) error {
	return a.decide(g, c.decideFlags, trust.Pause, c.Server, "")
}

type resumeCmd struct{ serverCmd }

func (c *resumeCmd) Run(a *app, g *globals) error {
	return a.decide(g, c.decideFlags, trust.Resume, c.Server, "")
}

type rollbackCmd struct {
	itemCmd

	To string `required:"" placeholder:"DIGEST" help:"An earlier digest that was approved: all of it, or its first 16 digits or more, as audit log shows them."`
}

func (c *rollbackCmd) Run(a *app, g *globals) error {
	return a.decide(g, c.decideFlags, trust.Rollback, c.Item, c.To)
}
