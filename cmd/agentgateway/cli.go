package main

// cli is the command line.
type cli struct {
	globals

	Init       initCmd       `cmd:"" group:"pin" help:"Lock for the first time and set up the gate."`
	Lock       lockCmd       `cmd:"" group:"pin" help:"List every configured server and write the lockfile."`
	Diff       diffCmd       `cmd:"" group:"pin" help:"Show every change between the lockfile and the live servers, or between two commits."`
	CI         ciCmd         `cmd:"" name:"ci" group:"pin" help:"Fail on drift and on anything not approved."`
	Review     reviewCmd     `cmd:"" group:"approve" help:"Show all that waits for a decision."`
	Approve    approveCmd    `cmd:"" group:"approve" help:"Approve what was reviewed, with one signature."`
	Reject     rejectCmd     `cmd:"" group:"approve" help:"Bar the locked text of an item."`
	Disable    disableCmd    `cmd:"" group:"approve" help:"Switch an item off until it is enabled."`
	Enable     enableCmd     `cmd:"" group:"approve" help:"Let an item be approved again."`
	Pause      pauseCmd      `cmd:"" group:"approve" help:"Switch a server off, its approvals untouched."`
	Resume     resumeCmd     `cmd:"" group:"approve" help:"Switch a paused server on again."`
	Rollback   rollbackCmd   `cmd:"" group:"approve" help:"Go back to an earlier text that was approved."`
	Trust      trustCmd      `cmd:"" group:"approve" help:"See and change who may approve."`
	Seal       sealCmd       `cmd:"" group:"seal" help:"Sign the lockfile as a whole, for those who serve it."`
	Verify     verifyCmd     `cmd:"" group:"seal" help:"Verify a seal."`
	Bundle     bundleCmd     `cmd:"" group:"seal" help:"Put lockfile, trust list, decisions and seal into one file."`
	List       listCmd       `cmd:"" group:"look" help:"List the locked servers and their items."`
	Show       showCmd       `cmd:"" group:"look" help:"Show a server or one definition as it is locked."`
	Hash       hashCmd       `cmd:"" group:"look" help:"Print the hashes of one definition."`
	Serve      serveCmd      `cmd:"" group:"serve" help:"Enforce the committed lockfile at the agentgateway MCP gateway."`
	Demo       demoCmd       `cmd:"" group:"other" help:"See a rug pull caught, in a temporary repository."`
	Version    versionCmd    `cmd:"" group:"other" help:"Print the version."`
	Completion completionCmd `cmd:"" group:"other" help:"Print a completion script for a shell."`
}
