package main

import (
	"errors"
	"fmt"
	"time"

	"agentgateway-lock/pkg/finding"
	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/report"
)

// sourcesFlags say which configurations are read.
type sourcesFlags struct {
	Config      []string          `placeholder:"FILE" help:"Read just this configuration; may be repeated."`
	UserConfigs bool              `help:"Read the user-level configurations too."`
	Server      map[string]string `placeholder:"NAME=URL" help:"Add a server by its URL; may be repeated."`
}

// listingFlags say how servers are listed.
type listingFlags struct {
	StartTimeout time.Duration `default:"120s" help:"How long a command may take until its first answer."`
	Timeout      time.Duration `default:"30s" help:"How long each further answer may take."`
	Jobs         int           `default:"8" help:"How many servers are listed at a time."`
}

func (f listingFlags) Validate() error {
	if f.StartTimeout <= 0 || f.Timeout <= 0 || f.Jobs < 1 {
		return fmt.Errorf("--start-timeout, --timeout and --jobs must be greater than zero")
	}
	return nil
}

func (f listingFlags) listing() project.Listing {
	return project.Listing{Timeout: f.Timeout, StartTimeout: f.StartTimeout, Jobs: f.Jobs}
}

// runFlags are those of every command that may list servers. They are one struct
// because kong asks a command alone whether it is valid, and of two promoted
// methods of one name Go takes neither.
type runFlags struct {
	sourcesFlags
	listingFlags
	outputFlags
}

func (f runFlags) Validate() error {
	return errors.Join(f.listingFlags.Validate(), f.outputFlags.Validate())
}

// open finds the project that the run is about.
func (a *app) open(g *globals, s sourcesFlags) (*project.Project, error) {
	return a.openWith(g, s, nil)
}

// openWith is open with a pinned trust root; nil is none.
func (a *app) openWith(g *globals, s sourcesFlags, trustRoot *string) (*project.Project, error) {
	dir, err := g.root()
	if err != nil {
		return nil, err
	}
	return project.Open(a.ctx, a.projectEnv(), project.Options{
		Dir: dir, Lockfile: g.Lockfile, Configs: s.Config, UserConfigs: s.UserConfigs, Direct: s.Server, TrustRoot: trustRoot,
	})
}

type lockCmd struct {
	runFlags

	Servers      []string `arg:"" optional:"" name:"server" help:"Lock just these servers."`
	DryRun       bool     `help:"Show what would change and write nothing."`
	Stamp        bool     `help:"Set generatedAt and generatedBy again."`
	Resolve      bool     `help:"Rebuild the lockfile that a merge left in conflict, without contacting any server."`
	Include      []string `placeholder:"KIND" help:"Cover this kind too, such as resources; may be repeated."`
	Exclude      []string `placeholder:"KIND" help:"Cover this kind no longer; may be repeated."`
	AllowPrivate []string `placeholder:"NAME" help:"This server may be at a private address; may be repeated."`
	AllowLiteral []string `placeholder:"NAME" help:"What looks like a secret in this server's source is none; may be repeated."`
	Skip         []string `placeholder:"NAME" help:"Record this server as known and not covered, without contacting it; may be repeated."`
	Reason       string   `placeholder:"TEXT" help:"With --skip: why."`

	Target map[string]string `placeholder:"NAME=TARGET" mapsep:"," help:"The gateway's name for a server whose own is none there; empty to take it back."`
}

func (c *lockCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, c.sourcesFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	if c.Resolve {
		rep, err := p.Resolve(a.ctx)
		if err != nil {
			return err
		}
		return a.output(rep, c.outputFlags)
	}
	rep, err := p.Lock(a.ctx, project.LockOptions{
		Listing: c.listing(), Servers: c.Servers, DryRun: c.DryRun, Stamp: c.Stamp,
		Include: c.Include, Exclude: c.Exclude, AllowPrivate: c.AllowPrivate, AllowLiteral: c.AllowLiteral,
		Skip: c.Skip, Reason: c.Reason, Target: c.Target,
	})
	if err != nil {
		return err
	}
	return a.output(rep, c.outputFlags)
}

// compareFlags are those that diff and ci share.
type compareFlags struct {
	Base          string   `placeholder:"REF" help:"The commit the change is judged against (default: found from the event or the main branch)."`
	DefaultBranch string   `placeholder:"NAME" help:"The default branch (default: as the event or the clone says)."`
	AllowSource   []string `placeholder:"NAME" help:"Start or contact this server in this run though its source is not settled."`
	Remember      bool     `help:"With --allow-source: for you and this clone, until the server's words change."`
	NoExec        bool     `help:"Start no command; such servers stay undecided."`
	FailOn        string   `enum:"critical,warning,info" default:"info" help:"The least grade that fails the run: ${enum}."`
}

func (f compareFlags) options(l listingFlags) (project.CompareOptions, error) {
	grade, err := finding.ParseGrade(f.FailOn)
	if f.Remember && len(f.AllowSource) == 0 {
		err = errors.New("--remember goes with --allow-source")
	}
	return project.CompareOptions{Listing: l.listing(), BaseOptions: project.BaseOptions{Base: f.Base, DefaultBranch: f.DefaultBranch}, AllowSource: f.AllowSource, Remember: f.Remember, NoExec: f.NoExec, FailOn: grade}, err
}

type diffCmd struct {
	trustFlags
	runFlags
	compareFlags
	pagerFlags

	Items []string `arg:"" optional:"" name:"item" help:"SERVER or SERVER/NAME; all by default."`
	From  string   `placeholder:"REF" help:"Compare the lockfile of this commit, without any network."`
	To    string   `placeholder:"REF" help:"With --from: the other commit (default: the work tree)."`
	Full  bool     `help:"Show all of every change, and not only the start of a long one."`
}

func (c *diffCmd) Run(a *app, g *globals) error {
	if c.To != "" && c.From == "" {
		return fmt.Errorf("--to goes with --from")
	}
	p, err := a.openWith(g, c.sourcesFlags, c.root(a))
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	opts, err := c.options(c.listingFlags)
	if err != nil {
		return err
	}
	opts.Items = c.Items
	var rep *report.Report
	if c.From != "" {
		rep, err = p.History(a.ctx, c.From, c.To, opts.FailOn, c.Items)
	} else {
		rep, err = p.Compare(a.ctx, opts)
	}
	if err != nil {
		return err
	}
	c.full, c.pager = c.Full, &c.pagerFlags
	return a.output(rep, c.outputFlags)
}

type ciCmd struct {
	trustFlags
	runFlags
	compareFlags

	Offline bool `help:"Make only the checks that need neither network nor a process."`
}

func (c *ciCmd) Run(a *app, g *globals) error {
	p, err := a.openWith(g, c.sourcesFlags, c.root(a))
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	opts, err := c.options(c.listingFlags)
	if err != nil {
		return err
	}
	rep, err := p.Gate(a.ctx, project.GateOptions{CompareOptions: opts, Offline: c.Offline})
	if err != nil {
		return err
	}
	if err := a.githubOutputs(rep, c.Format); err != nil {
		return err
	}
	return a.output(rep, c.outputFlags)
}

type initCmd struct {
	runFlags

	NoWorkflow   bool     `help:"Do not write a workflow file for the gate."`
	AllowPrivate []string `placeholder:"NAME" help:"This server may be at a private address; may be repeated."`
	AllowLiteral []string `placeholder:"NAME" help:"What looks like a secret in this server's source is none; may be repeated."`
}

func (c *initCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, c.sourcesFlags)
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	rep, err := p.Init(a.ctx, project.InitOptions{Listing: c.listing(), NoWorkflow: c.NoWorkflow, AllowPrivate: c.AllowPrivate, AllowLiteral: c.AllowLiteral})
	if err != nil {
		return err
	}
	return a.output(rep, c.outputFlags)
}
