//go:build unix

package crawl

import (
	"os/exec"
	"syscall"
)

// inGroup makes a command start in a process group of its own.
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// A signal to a group that has ended fails, and that is well.

func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func killProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
