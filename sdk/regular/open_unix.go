//go:build unix

package regular

import "syscall"

// nonblock keeps the opening of a pipe from waiting for its other end. It has no effect on regular files.
const nonblock = syscall.O_NONBLOCK
