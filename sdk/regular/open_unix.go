//go:build unix

package regular

import "syscall"

// nonblock prevents blocking on a pipe without another end. It has no effect on regular files.
const nonblock = syscall.O_NONBLOCK
