package main

import (
	"fmt"

	"agentgateway-lock/pkg/textcheck"
)

type allowCmd struct {
	Remove bool `help:"Take it back."`
}

// Help says what the command accepts.
func (*allowCmd) Help() string {
	return "What a clone says of its remote, its default branch included, was written by whoever made the remote: " +
		"so diff and ci start what the default branch has only once you have accepted the remote's URL for this clone. " +
		"It is remembered on this machine, outside the repository. A clone without a remote is accepted by itself."
}

func (c *allowCmd) Run(a *app, g *globals) error {
	p, err := a.open(g, sourcesFlags{})
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it was only read
	done, err := p.Allow(a.ctx, c.Remove)
	if err != nil {
		return err
	}
	what := "the remote " + textcheck.Terminal(done.URL)
	if done.URL == "" {
		what = "this clone, which has no remote,"
	}
	text := what + " is accepted for " + textcheck.Terminal(done.Clone)
	switch {
	case c.Remove && done.Changed:
		text = what + " is no longer accepted for " + textcheck.Terminal(done.Clone)
	case c.Remove:
		text = what + " was not accepted for " + textcheck.Terminal(done.Clone)
	case !done.Changed:
		text = what + " was accepted already for " + textcheck.Terminal(done.Clone)
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}
