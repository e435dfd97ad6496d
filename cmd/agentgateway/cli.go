package main

// cli is the command line.
type cli struct {
	globals

	Init       initCmd       `cmd:"" group:"pin" help:"Lock for the first time and set up the gate."`
	Lock       lockCmd       `cmd:"" group:"pin" help:"List every configured server and write the lockfile."`
	Diff       diffCmd       `cmd:"" group:"pin" help:"Show every change between the lockfile and the live servers, or between two commits."`
	CI         ciCmd         `cmd:"" name:"ci" group:"pin" help:"Fail on drift and on anything not approved."`
	List       listCmd       `cmd:"" group:"look" help:"List the locked servers and their items."`
	Show       showCmd       `cmd:"" group:"look" help:"Show a server or one definition as it is locked."`
	Hash       hashCmd       `cmd:"" group:"look" help:"Print the hashes of one definition."`
	Serve      serveCmd      `cmd:"" group:"serve" help:"Enforce the committed lockfile at the agentgateway MCP gateway."`
	Demo       demoCmd       `cmd:"" group:"other" help:"See a rug pull caught, in a temporary repository."`
	Version    versionCmd    `cmd:"" group:"other" help:"Print the version."`
	Completion completionCmd `cmd:"" group:"other" help:"Print a completion script for a shell."`
}
