package main

import (
	"fmt"
	"runtime"
)

// version is the release this program is; the linker sets it for a build of a
// tag.
var version = "0.1.0"

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintf(a.stdout, "agentgateway-lock %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}
