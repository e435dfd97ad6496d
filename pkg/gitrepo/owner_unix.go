//go:build unix

package gitrepo

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// isOwn reports whether a path is this user's; for root also whether it is that of the
// user who became root by sudo, as git has it.
func isOwn(path string, env []string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, nil
	}
	me := os.Geteuid()
	if int(stat.Uid) == me {
		return true, nil
	}
	if me != 0 {
		return false, nil
	}
	for _, kv := range env {
		if text, ok := strings.CutPrefix(kv, "SUDO_UID="); ok {
			if uid, err := strconv.Atoi(text); err == nil && uid == int(stat.Uid) {
				return true, nil
			}
		}
	}
	return false, nil
}
