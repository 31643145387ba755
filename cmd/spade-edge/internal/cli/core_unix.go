//go:build unix

package cli

import "syscall"

// noCoreDump keeps memory, with its key and data, off the disk. With a limit of 0 Linux would still pipe it to a program.
func noCoreDump() {
	limit := syscall.Rlimit{Cur: 1, Max: 1}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering is always allowed
}
