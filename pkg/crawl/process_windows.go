package crawl

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// inGroup makes a command start in a process group of its own.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: Windows has no request to terminate that a process
// without a window receives.
func terminateGroup(int) {}

// killGroup ends a process and those it started. taskkill walks the tree of
// parents, so it must run before the process itself has ended.
func killGroup(pid int) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
}

func killProcess(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
