package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a byte beyond the process id, which others may then read.
func tryLock(file *os.File) error {
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}

func isHeld(err error) bool { return errors.Is(err, windows.ERROR_LOCK_VIOLATION) }
