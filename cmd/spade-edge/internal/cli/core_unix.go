//go:build unix

package cli

import "syscall"

// noCoreDump keeps the process's memory, with its key and its data, from being written to disk. Of a limit of 0 Linux
// would still hand it to a program.
func noCoreDump() {
	limit := syscall.Rlimit{Cur: 1, Max: 1}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering is always allowed
}
