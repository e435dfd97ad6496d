package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/term"
)

// pagerFlags are those of commands whose output may be long.
type pagerFlags struct {
	NoPager bool `help:"Do not show long output through a pager (GIT_PAGER, PAGER, less)."`
}

// isTerminal reports whether standard output is one.
func (a *app) isTerminal() bool {
	f, ok := a.rawOut.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// paged writes through the user's pager where standard output is a terminal. The
// pager comes from the environment alone: git's core.pager may be the repository's.
func (a *app) paged(f pagerFlags, write func(io.Writer) error) error {
	pager := a.pager()
	if f.NoPager || pager == "" || !a.isTerminal() {
		return write(a.rawOut)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	words := []string{"sh", "-c", pager}
	if runtime.GOOS == "windows" {
		words = strings.Fields(pager)
	}
	// An interrupt is for the pager, whose user may still be reading.
	cmd := exec.CommandContext(context.WithoutCancel(a.ctx), words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text.Bytes()), a.rawOut, a.rawErr
	cmd.Env = slices.Clone(a.environ)
	for _, preset := range []string{"LESS=FRX", "LV=-c"} { // as git does
		if name, _, _ := strings.Cut(preset, "="); a.env(name) == "" {
			cmd.Env = append(cmd.Env, preset)
		}
	}
	if err := cmd.Start(); err != nil {
		_, err := a.rawOut.Write(text.Bytes())
		return err
	}
	_ = cmd.Wait() // how a reader ends the pager says nothing of the run
	return nil
}

// pager is the command that shows long output; empty for none.
func (a *app) pager() string {
	for _, name := range []string{"GIT_PAGER", "PAGER"} {
		if value, ok := a.getenv(name); ok {
			if value = strings.TrimSpace(value); value == "cat" {
				return ""
			}
			return value
		}
	}
	if term := a.env("TERM"); term == "" || term == "dumb" {
		return ""
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less"
}
