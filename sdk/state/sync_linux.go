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
		// A call that was interrupted by a signal has not reported an error yet and is repeated. Any other error is
		// reported only once: a second call would succeed although data was lost.
		switch err := syscall.Fdatasync(int(f.Fd())); err {
		case nil:
			return nil
		case syscall.EINTR:
		default:
			return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}
