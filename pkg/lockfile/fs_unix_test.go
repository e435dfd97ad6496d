//go:build unix

package lockfile_test

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"agentgateway-lock/pkg/lockfile"
)

// A named pipe in the place of a file must not make a run wait for ever.
func TestReadFileDoesNotWaitForAPipe(t *testing.T) {
	folder, dir := openDir(t)
	if err := unix.Mkfifo(filepath.Join(folder, "agentgateway.lock"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agentgateway.lock", "./agentgateway.lock"} {
		_, err := dir.ReadFile(name, 4)
		var link *lockfile.LinkError
		if !errors.As(err, &link) {
			t.Errorf("error %v, want a LinkError", err)
		}
	}
}
