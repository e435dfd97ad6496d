// Package realservers finds the MCP servers from npm that tests run.
package realservers

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Required is the variable of the environment that turns the absence of the
// servers from a skip into a failure. `make test` sets it, since there a check
// that was not made is no pass.
const Required = "REAL_SERVERS_REQUIRED"

// T is the part of a test or benchmark that is used here.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Find returns node_modules of the folder e2e, as an absolute path, and the
// program node. Where either is missing, t is skipped, or fails if [Required] is
// set.
func Find(t T, e2e string) (modules, node string) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv(Required) != "" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("node is missing: the tests with real servers need Node 20 or newer")
	}
	modules, err = filepath.Abs(filepath.Join(e2e, "node_modules"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(modules, ".installed")); err != nil {
		missing("the real servers are not installed: run `make test`, or `make e2e/node_modules/.installed` for them alone")
	}
	return modules, node
}
