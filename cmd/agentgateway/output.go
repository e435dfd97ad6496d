package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"agentgateway-lock/pkg/project"
	"agentgateway-lock/pkg/report"
)

// outputFlags say how a report is shown.
type outputFlags struct {
	Format string            `enum:"text,json,markdown,sarif,github" default:"text" help:"The format on standard output: ${enum}."`
	Report map[string]string `placeholder:"FORMAT=FILE" help:"Write the report to a file too; may be repeated."`

	full  bool        // text shows all of what differs
	pager *pagerFlags // nil for output that is never paged
}

// resultFlags say how the result of a command that makes no report is shown.
type resultFlags struct {
	Format string `enum:"text,json" default:"text" help:"The format on standard output: ${enum}."`
}

// result shows v as JSON where that is asked for, else what text writes.
func (a *app) result(f resultFlags, v any, text func() error) error {
	if f.Format == "json" {
		return a.printJSON(v)
	}
	return text()
}

// renderers are the formats a report can be written in.
var renderers = map[string]func(io.Writer, *report.Report) error{
	"text":     func(w io.Writer, r *report.Report) error { return report.Text(w, r, report.TextOptions{}) },
	"json":     report.JSON,
	"markdown": report.Markdown,
	"sarif":    report.SARIF,
	"github":   report.GitHub,
}

func (f outputFlags) Validate() error {
	for format := range f.Report {
		if renderers[format] == nil {
			return fmt.Errorf("--report %s=…: the formats are text, json, markdown, sarif and github", format)
		}
	}
	return nil
}

// output shows a report and ends the run with its exit code.
func (a *app) output(r *report.Report, f outputFlags) error {
	for format, file := range f.Report {
		var b bytes.Buffer
		if err := renderers[format](&b, r); err != nil {
			return fmt.Errorf("--report %s: %w", format, err)
		}
		if err := project.WriteFile(file, b.Bytes()); err != nil {
			return fmt.Errorf("--report %s: %w", format, err)
		}
	}
	var err error
	if f.Format == "text" {
		opts := a.textOptions()
		opts.Full = f.full
		flags := pagerFlags{NoPager: true}
		if f.pager != nil {
			flags = *f.pager
		}
		err = a.paged(flags, func(w io.Writer) error { return report.Text(w, r, opts) })
	} else {
		err = renderers[f.Format](a.rawOut, r)
	}
	if err != nil {
		return err
	}
	return exit(r.ExitCode)
}

// textOptions fits text to the terminal, where standard output is one.
func (a *app) textOptions() report.TextOptions {
	opts := report.TextOptions{Color: a.env("NO_COLOR") == "" && (forced(a.env("FORCE_COLOR")) || forced(a.env("CLICOLOR_FORCE")))}
	f, ok := a.rawOut.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return opts
	}
	opts.Color = opts.Color || a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		opts.Width = min(width, 120)
	}
	return opts
}

// forced reports whether a variable asks for colour where there is no terminal.
func forced(value string) bool { return value != "" && value != "0" && value != "false" }

func (a *app) env(name string) string {
	value, _ := a.getenv(name)
	return value
}

// stateDir is the folder for what this machine remembers; empty for none.
func (a *app) stateDir(home string) string {
	state := a.env("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		if home == "" {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "agentgateway-lock")
}

// projectEnv is the outside world as a project sees it.
func (a *app) projectEnv() project.Env {
	if a.progress == nil {
		a.progress = a.newProgress()
	}
	home, _ := os.UserHomeDir() // without one there are no user-level files
	configHome, _ := os.UserConfigDir()
	var state project.State
	if dir := a.stateDir(home); dir != "" {
		state = project.NewState(dir)
	}
	return project.Env{
		Lookup: a.getenv, Environ: a.environ, Home: home, ConfigHome: configHome, State: state, ReadFile: project.SystemFile, EmptyFolder: project.SystemEmptyFolder,
		GOOS: runtime.GOOS, Machine: a.machine(), Now: time.Now, Program: a.program, Version: version,
		Progress: a.progress.tell, Confirm: a.confirm(),
	}
}

// machine is what texts of servers may repeat of this machine.
func (a *app) machine() project.Machine {
	host, _ := os.Hostname() // without one it is not looked for
	m := project.Machine{Hostname: host, User: cmp.Or(a.env("USER"), a.env("USERNAME")), Zone: a.env("TZ")}
	if target, err := os.Readlink("/etc/localtime"); m.Zone == "" && err == nil {
		if _, zone, ok := strings.Cut(target, "/zoneinfo/"); ok {
			m.Zone = zone
		}
	}
	return m
}

// githubOutputs writes the annotations of a GitHub job, unless they are what
// stands on standard output, and its step summary.
func (a *app) githubOutputs(r *report.Report, format string) error {
	if a.env("GITHUB_ACTIONS") != "true" {
		return nil
	}
	if format != "github" {
		if err := report.GitHub(a.rawErr, r); err != nil {
			return err
		}
	}
	path := a.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if err := report.Markdown(&b, r); err != nil {
		return err
	}
	if err := project.AppendFile(path, b.Bytes()); err != nil {
		return fmt.Errorf("the step summary: %w", err)
	}
	return nil
}

// columns aligns cells of text that is already escaped.
func columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i < len(row)-1 {
				cell = fmt.Sprintf("%-"+strconv.Itoa(widths[i])+"s  ", cell)
			}
			line.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// sorted returns names in order.
func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
