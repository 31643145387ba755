//go:build unix

package cli

import "syscall"

// noCoreDump prevents core dumps, which would write the key and the data to disk. Even with a limit of 0, Linux pipes
// a core dump to a configured program.
func noCoreDump() {
	limit := syscall.Rlimit{Cur: 1, Max: 1}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering a limit is always allowed
}
