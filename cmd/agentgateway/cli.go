package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the command line but for its commands.
type cli struct{ globals }

// command is one command. Its flags are made only where it is the one that runs:
// making those of all commands costs more than most commands do.
type command struct {
	name, group, help string
	make              func() any
}

// make returns a maker of commands of type T.
func maker[T any]() func() any { return func() any { return new(T) } }

// The commands, in the order of the help, and the groups they stand under.
var commands = []command{
	{"init", "pin", "Lock for the first time and set up the gate.", maker[initCmd]()},
	{"lock", "pin", "List every configured server and write the lockfile.", maker[lockCmd]()},
	{"diff", "pin", "Show every change between the lockfile and the live servers, or between two commits.", maker[diffCmd]()},
	{"ci", "pin", "Fail on drift and on anything not approved.", maker[ciCmd]()},
	{"allow", "pin", "Accept the remote of this clone, so that what its default branch has may be started.", maker[allowCmd]()},

	{"review", "approve", "Show all that waits for a decision.", maker[reviewCmd]()},
	{"approve", "approve", "Approve what was reviewed, with one signature.", maker[approveCmd]()},
	{"reject", "approve", "Bar the locked text of an item.", maker[rejectCmd]()},
	{"disable", "approve", "Switch an item off until it is enabled.", maker[disableCmd]()},
	{"enable", "approve", "Let an item be approved again.", maker[enableCmd]()},
	{"pause", "approve", "Switch a server off, its approvals untouched.", maker[pauseCmd]()},
	{"resume", "approve", "Switch a paused server on again.", maker[resumeCmd]()},
	{"rollback", "approve", "Go back to an earlier text that was approved.", maker[rollbackCmd]()},
	{"trust", "approve", "See and change who may approve.", maker[trustCmd]()},
	{"audit", "approve", "Verify and tell what was decided, from git history.", maker[auditCmd]()},
	{"revert", "approve", "Restore lockfile and copies of before a commit; decisions stay.", maker[revertCmd]()},

	{"seal", "serve", "Sign the lockfile as a whole, for those who serve it.", maker[sealCmd]()},
	{"verify", "serve", "Verify a seal.", maker[verifyCmd]()},
	{"bundle", "serve", "Put lockfile, trust list, decisions and seal into one file.", maker[bundleCmd]()},
	{"serve", "serve", "Enforce the committed lockfile at the agentgateway MCP gateway.", maker[serveCmd]()},

	{"list", "look", "List the locked servers and their items.", maker[listCmd]()},
	{"show", "look", "Show a server or one definition as it is locked.", maker[showCmd]()},
	{"explain", "look", "Say what a finding's code means and what to do.", maker[explainCmd]()},
	{"hash", "look", "Print the hashes of one definition.", maker[hashCmd]()},

	{"demo", "other", "See a rug pull caught, in a temporary repository.", maker[demoCmd]()},
	{"version", "other", "Print the version.", maker[versionCmd]()},
	{"completion", "other", "Print a completion script for a shell.", maker[completionCmd]()},

	// For scripts and packages; the help does not name them.
	{"complete", "", "Print names of the lockfile that a shell can offer.", maker[completeCmd]()},
	{"man", "", "Print the manual page.", maker[manCmd]()},
}

// groups are the headings of the help.
var groups = []kong.Group{
	{Key: "pin", Title: "Pin what servers show:"},
	{Key: "approve", Title: "Decide about it:"},
	{Key: "serve", Title: "Enforce it:"},
	{Key: "look", Title: "Look:"},
	{Key: "other", Title: "Other:"},
}

// unbuilt stands for a command that does not run: the help names it.
type unbuilt struct{}

// commandOptions tells kong the commands. Only the one that args name has its
// flags; the completion script and the manual need those of all.
func commandOptions(args []string) []kong.Option {
	word := commandWordOf(args)
	options := []kong.Option{kong.ExplicitGroups(groups)}
	for _, c := range commands {
		var made any = &unbuilt{}
		if c.name == word || word == "completion" || word == "man" {
			made = c.make()
		}
		var tags []string
		if c.group == "" {
			tags = []string{`hidden:""`}
		}
		options = append(options, kong.DynamicCommand(c.name, c.help, c.group, made, tags...))
	}
	return options
}

// commandWordOf returns the first word that is no flag and no flag's value; the
// flags before a command are the global ones, which all take a value.
func commandWordOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case !strings.HasPrefix(arg, "-"):
			return arg
		case slices.Contains([]string{"-C", "--dir", "--lockfile"}, arg):
			i++
		}
	}
	return ""
}
