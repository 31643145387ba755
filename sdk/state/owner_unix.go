//go:build unix

package state

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and group of the one whose place it takes: root may edit the files of a node
// that another user runs.
func keepOwner(f *os.File, old fs.FileInfo) error {
	had, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if err != nil || !ok {
		return err
	}
	if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == had.Uid && has.Gid == had.Gid {
		return nil
	}
	return f.Chown(int(had.Uid), int(had.Gid))
}
