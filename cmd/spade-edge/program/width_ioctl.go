//go:build darwin || freebsd || linux

package program

import (
	"os"
	"syscall"
	"unsafe"
)

// columns returns the width of a terminal in letters, 0 if it is none.
func columns(f *os.File) int {
	var size struct{ rows, columns, width, height uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
