//go:build unix

package scorer_test

import (
	"os/exec"
	"syscall"
)

func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func killProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
