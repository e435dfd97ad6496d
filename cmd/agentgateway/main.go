// Command agentgateway pins what MCP servers tell an AI agent in a committed
// lockfile, shows and gates every change, and enforces the lockfile inside the
// agentgateway MCP gateway.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := app{
		ctx: ctx, program: programName(os.Args[0]),
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.LookupEnv, environ: os.Environ(),
	}
	code := a.run(os.Args[1:])
	stop()
	os.Exit(code)
}

// programName is the name the command is installed under, which help and
// messages show: the gateway's own binary bears the default one too.
func programName(arg0 string) string {
	name := strings.TrimSuffix(filepath.Base(arg0), ".exe")
	if name == "" || name == "." {
		return "agentgateway"
	}
	return name
}
