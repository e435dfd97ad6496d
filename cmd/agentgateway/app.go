package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"agentgateway-lock/pkg/finding"
)

// The exit codes of every command.
const (
	exitOK        = 0
	exitFindings  = 1 // a finding at or above the failing grade
	exitBadRun    = 2 // the run could not begin
	exitUndecided = 3 // something could not be checked

	exitInterrupted = 130 // as shells have it: 128 and the number of SIGINT
)

// app is the outside world of one run.
type app struct {
	ctx     context.Context
	program string
	stdin   io.Reader
	stdout  io.Writer // a printer, in a run
	stderr  io.Writer // the same
	rawOut  io.Writer // standard output, for what is escaped already
	rawErr  io.Writer // standard error, for the same
	getenv  func(string) (string, bool)
	environ []string

	model    *kong.Application // of the command line, for completion
	progress *progress         // nil until a command may list servers
}

// globals are the flags of every command.
type globals struct {
	Dir      string `short:"C" name:"dir" default:"." placeholder:"DIR" help:"Run as if started in DIR."`
	Lockfile string `name:"lockfile" placeholder:"FILE" help:"The lockfile, relative to the repository's root (default agentgateway.lock)."`
}

// root returns the absolute folder the run works in.
func (g globals) root() (string, error) {
	dir, err := filepath.Abs(g.Dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return "", fmt.Errorf("-C %s: %w", g.Dir, err)
	}
	return dir, nil
}

// exitError ends a run with a code and, where it has one, a message.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Hint says what to do next.
func (e *exitError) Hint() string { return e.hint }

// exit returns the error that ends a run with code, without a message of its own;
// nil for 0.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// run parses args, runs the command and returns the exit code.
func (a *app) run(args []string) (code int) {
	a.wrap()
	switch { // what people try first
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		args = []string{"version"}
	}
	var c cli
	parser, err := kong.New(&c, append(commandOptions(args),
		kong.Name(a.program),
		kong.Description("Pin what MCP servers tell your AI agents, in git."),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(code int) { panic(helpExit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}),
		kong.ShortUsageOnError(),
		kong.Vars{"program": a.program},
	)...)
	if err != nil {
		return a.fail(err)
	}
	defer func() {
		if r := recover(); r != nil {
			h, ok := r.(helpExit)
			if !ok {
				panic(r)
			}
			code = int(h)
		}
	}()
	a.model = parser.Model
	kctx, err := parser.Parse(args)
	if err != nil {
		help := a.program
		var wrong *kong.ParseError
		if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
			help = wrong.Context.Selected().FullPath()
		}
		fmt.Fprintf(a.stderr, "error: %v\nhint: see `%s --help`\n", err, help)
		return exitBadRun
	}
	err = kctx.Run(a, &c.globals)
	if a.progress != nil {
		a.progress.close() // where the run ended early
	}
	return a.fail(err)
}

// helpExit carries the exit code of --help through kong.
type helpExit int

// fail prints an error as people read it and returns its exit code.
func (a *app) fail(err error) int {
	if err == nil {
		return exitOK
	}
	if a.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.stderr, "interrupted")
		return exitInterrupted
	}
	code := exitBadRun
	var e *exitError
	if errors.As(err, &e) {
		if code = e.code; e.err == nil {
			return code
		}
	}
	if code := finding.CodeOf(err); code != "" {
		fmt.Fprintf(a.stderr, "error: %s: %s\n", code, a.named(err.Error()))
	} else {
		fmt.Fprintf(a.stderr, "error: %s\n", a.named(err.Error()))
	}
	if hint := finding.HintOf(err); hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", a.named(hint))
	}
	return code
}

// named spells the commands that a text quotes with the name that this program
// was started by.
func (a *app) named(text string) string {
	return strings.ReplaceAll(text, "`agentgateway ", "`"+a.program+" ")
}

// now is the time of the run.
func (a *app) now() time.Time { return time.Now() }
