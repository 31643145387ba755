//go:build unix

package regular

import "syscall"

// nonblock keeps os.OpenFile from waiting for a process at the other end of a pipe. It has no effect on regular files.
const nonblock = syscall.O_NONBLOCK
