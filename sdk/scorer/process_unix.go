//go:build unix

package scorer

import "syscall"

// killGroup kills a process group. Its members may be gone: then there is nothing to do.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// terminateGroup asks a process group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
