//go:build darwin || freebsd || linux

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// sizeOf returns the rows and columns of a terminal, zeros if it is none.
func sizeOf(f *os.File) (rows, columns int) {
	var size struct{ rows, columns, width, height uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0, 0
	}
	return int(size.rows), int(size.columns)
}
