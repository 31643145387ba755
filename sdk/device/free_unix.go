//go:build linux || darwin || freebsd

package device

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Free returns the bytes that this user may still write on the disk of a folder, which need not exist. known is false if
// the system does not say.
func Free(folder string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(folder, &s)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
		err = syscall.Statfs(folder, &s)
	}
	return int64(s.Bavail) * int64(s.Bsize), err == nil
}
