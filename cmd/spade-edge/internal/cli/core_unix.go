//go:build unix

package cli

import "syscall"

// noCoreDump prevents core dumps, which would write the key and the data to disk. The limit is 1 byte rather than 0:
// with a limit of 0, Linux would still pipe a core dump to a handler program if one is configured.
func noCoreDump() {
	limit := syscall.Rlimit{Cur: 1, Max: 1}
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // lowering a limit is always allowed
}

// diskFull is the error of a disk without space.
var diskFull error = syscall.ENOSPC
