//go:build unix

package crawl

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEverythingIsEnded(t *testing.T) {
	for name, flags := range map[string][]string{
		"ends by itself":        nil,
		"ignores end of input":  {"--ignore-eof"},
		"leaves a child behind": {"--spawn-child"},
		"both":                  {"--spawn-child", "--ignore-eof"},
	} {
		t.Run(name, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			mustList(t, lister(), stdioEndpoint(t, append(flags, "--pid-file", pids)...))
			text, err := os.ReadFile(pids)
			if err != nil {
				t.Fatal(err)
			}
			for field := range strings.FieldsSeq(string(text)) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				waitGone(t, pid)
			}
		})
	}
}

// waitGone waits until a process has been killed: a killed orphan is gone once
// init has taken note of it.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && bytes.Contains(stat, []byte(") Z ")) {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}
