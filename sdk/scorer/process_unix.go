//go:build unix

package scorer

import "syscall"

// signalGroup sends a signal to a process group. Its members may be gone: then there is nothing to do.
func signalGroup(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }
