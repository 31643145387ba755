package state

import (
	"io/fs"
	"os"
	"syscall"
)

// syncFile makes the content of a file durable. fdatasync omits time stamps, which saves a write to the file system's
// journal.
func syncFile(f *os.File) error {
	for {
		// An interrupted call has reported nothing yet. Any other error is reported once: a second call would succeed.
		switch err := syscall.Fdatasync(int(f.Fd())); err {
		case nil:
			return nil
		case syscall.EINTR:
		default:
			return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}
