package state

import (
	"io/fs"
	"os"
	"syscall"
)

// syncFile makes the content of a file durable. fdatasync leaves out the time stamps, and with them one write to the
// file system's journal for every save.
func syncFile(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			// An interrupted call has reported nothing yet. Any other error is reported once: a second call would
			// report success.
			if failed = syscall.Fdatasync(int(fd)); failed != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return nil
}
