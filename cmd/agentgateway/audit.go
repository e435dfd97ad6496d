package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"agentgateway-lock/pkg/audit"
	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/report"
	"agentgateway-lock/pkg/sshsig"
	"agentgateway-lock/pkg/textcheck"
)

// auditCmd holds the commands about what was decided, and when.
type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Verify every decision in the history of HEAD."`
	Log    auditLogCmd    `cmd:"" help:"Tell who proposed and decided what, in which commit."`
	Show   auditShowCmd   `cmd:"" help:"Show one decision, its exact statement or a signature."`
}

type auditVerifyCmd struct {
	trustFlags
	resultFlags

	ExpectHead string `placeholder:"COMMIT" help:"A head recorded earlier, which the history must hold."`
}

func (c *auditVerifyCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	r, err := p.AuditVerify(a.ctx, c.ExpectHead)
	if err != nil {
		return &exitError{code: exitUndecided, err: err}
	}
	err = a.result(c.resultFlags, r, func() error {
		a.showAudit(r)
		return nil
	})
	if err != nil {
		return err
	}
	if finding.ExitCode(r.Findings(), finding.Info) != exitOK {
		return exit(exitFindings)
	}
	return nil
}

func (a *app) showAudit(r *audit.Report) {
	fmt.Fprintf(a.stdout, "%s, %s, %s, %s\n", textcheck.Count(r.Commits, "commit"), textcheck.Count(r.Lockfiles, "lockfile"),
		textcheck.Count(r.Decisions, "decision"), textcheck.Count(r.TrustVersions, "trust version"))
	if r.Skipped > 0 {
		fmt.Fprintf(a.stdout, "%d of the commits were verified in an earlier run\n", r.Skipped)
	}
	if c := r.Checkpoint; c != nil {
		fmt.Fprintf(a.stdout, "judged from the checkpoint %s on: %s\n", c.Commit.Short(), textcheck.Terminal(c.Reason))
		for _, v := range c.Violations {
			fmt.Fprintf(a.stdout, "  before it: %s\n", textcheck.Terminal(v.Error()))
		}
	}
	open := 0
	for _, c := range r.Conflicts {
		if c.Open {
			open++
			fmt.Fprintf(a.stdout, "in conflict: %s/%s since %s: %s\n", textcheck.Terminal(c.Item.Server), textcheck.Terminal(c.Item.Name), c.Commit.Short(), textcheck.Terminal(c.Detail))
		}
	}
	if v := r.Violation; v != nil {
		fmt.Fprintf(a.stdout, "\nfail: commit %s breaks the rule %s\n", v.Commit, v.Rule)
		if v.Path != "" {
			fmt.Fprintf(a.stdout, "  %s\n", textcheck.Terminal(v.Path))
		}
		fmt.Fprintf(a.stdout, "  %s\n", textcheck.Terminal(v.Detail))
		fmt.Fprintf(a.stdout, "Where this cannot be undone, an admin runs: %s trust checkpoint --commit %s --reason TEXT\n", a.program, v.Commit)
		return
	}
	if !r.Pinned {
		fmt.Fprintln(a.stdout, "no trust root is pinned, so the repository vouches for itself")
	}
	if open > 0 {
		fmt.Fprintf(a.stdout, "\nfail: nothing is in force for %d item(s) in conflict; decide about them again\n", open)
		return
	}
	fmt.Fprintf(a.stdout, "\npass\nhead %s\n", r.Head)
}

type auditLogCmd struct {
	trustFlags
	resultFlags

	Items []string `arg:"" optional:"" name:"item" help:"SERVER or SERVER/NAME; all by default."`
}

func (c *auditLogCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	events, err := p.AuditLog(a.ctx, c.Items)
	if err != nil {
		return &exitError{code: exitUndecided, err: err}
	}
	return a.result(c.resultFlags, events, func() error {
		for i := range events {
			a.showEvent(&events[i])
		}
		return nil
	})
}

// showEvent tells one event on one line, and its reason below.
func (a *app) showEvent(e *audit.Event) {
	what := string(e.Type)
	if e.Action != "" {
		what = string(e.Action)
	}
	line := []string{e.Commit.Commit.Short(), what}
	if e.Item != nil {
		name := e.Item.Server
		if e.Item.Name != "" {
			name += "/" + e.Item.Name
		} else {
			name += "/" + string(e.Item.Kind)
		}
		line = append(line, textcheck.Terminal(textcheck.Clip(name, 60)))
	}
	if !e.Digest.IsZero() {
		line = append(line, e.Digest.Short())
	}
	if e.Trust > 0 {
		line = append(line, fmt.Sprintf("trust %d", e.Trust))
	}
	if e.Status != "" {
		line = append(line, "→ "+string(e.Status))
	}
	fmt.Fprintln(a.stdout, strings.Join(line, "  "))
	who := e.By
	if len(who) == 0 {
		who = []string{e.Commit.Author}
	}
	when := ""
	if e.At > 0 {
		when = time.Unix(e.At, 0).UTC().Format(", 2006-01-02 15:04 UTC")
	}
	fmt.Fprintf(a.stdout, "%14sby %s%s\n", "", words(who), when)
	for _, text := range []string{e.Reason, e.Detail} {
		if text != "" {
			fmt.Fprintf(a.stdout, "%14s%s\n", "", textcheck.Terminal(textcheck.Clip(text, 300)))
		}
	}
}

type auditShowCmd struct {
	ID        string `arg:"" help:"The decision, or the first 16 digits of its id or more."`
	Statement bool   `xor:"what" help:"Print the exact bytes that are signed."`
	Signature int    `xor:"what" placeholder:"N" help:"Print the armored signature number N, from 1."`
	Output    string `placeholder:"FILE" help:"With --statement or --signature: write it to a file."`
}

func (c *auditShowCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, sourcesFlags{})
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	d, err := p.FindDecision(c.ID)
	if err != nil {
		return err
	}
	var out []byte
	switch {
	default:
		return a.printJSONText(d.Format())
	case c.Statement:
		out = d.Statement.Canonical()
	case c.Signature != 0:
		if c.Signature < 1 || c.Signature > len(d.Signatures) {
			return fmt.Errorf("--signature %d: the decision has %d signature(s)", c.Signature, len(d.Signatures))
		}
		signature, err := sshsig.ParseBlob(d.Signatures[c.Signature-1])
		if err != nil {
			return err
		}
		out = signature.Armor()
	}
	if c.Output != "" {
		return project.WriteFile(c.Output, out)
	}
	if !bytes.Equal(report.SafeJSON(out), out) {
		return &exitError{code: exitBadRun, err: errors.New("what is signed holds characters that a terminal or a CI runner would obey, so it is not printed"),
			hint: "write it to a file with --output FILE, or look at it without --statement"}
	}
	_, err = a.rawOut.Write(out)
	return err
}

type revertCmd struct {
	trustFlags

	Commit string `arg:"" help:"The commit before which lockfile and copies are restored."`
}

func (c *revertCmd) Run(a *app, g *globals) error {
	p, err := a.openTrust(g, c.trustFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	r, err := p.Revert(a.ctx, c.Commit)
	if errors.Is(err, audit.ErrNoParent) {
		return &exitError{code: exitBadRun, err: err, hint: "name a later commit"}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Restored the lockfile of %s and %d of the copies; every decision stays.\n", r.Parent.Short(), len(r.Result.Written))
	for _, name := range r.Missing {
		fmt.Fprintf(a.stdout, "missing there: %s\n", textcheck.Terminal(name))
	}
	_, err = fmt.Fprintf(a.stdout, "Look at it with `%s diff --from HEAD`, then commit it.\n", a.program)
	return err
}
