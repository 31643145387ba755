//go:build darwin || freebsd || linux

package node

import (
	"math"
	"os"
	"syscall"
)

// freeSpace returns how many bytes this process may still write on the file system of a folder.
func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(min(float64(st.Bavail)*float64(st.Bsize), math.MaxInt64/2)), nil
}
