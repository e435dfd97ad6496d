package crawl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A child that leaves the process group is found through its parents.
func TestAChildInASessionOfItsOwnIsEnded(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid here")
	}
	pids := filepath.Join(t.TempDir(), "pids")
	endpoint := stdioEndpoint(t)
	endpoint.Args = []string{"-c", `setsid sleep 600 & echo $! > "$1"; exec "$0" --stdio`, endpoint.Command, pids}
	endpoint.Command = "sh"
	mustList(t, lister(), endpoint)
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	waitGone(t, pid)
}
