//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// lockFile opens a file for writing, and locks it. create may be os.O_CREATE. The kernel releases the lock when the
// process ends; child processes do not inherit it. If another process holds the lock, lockFile returns errLocked.
func lockFile(path string, create int) (file, error) {
	f, err := regular.Open(path, os.O_RDWR|create, 0o600, mostState)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return lockedFile{osFile{f}}, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
}

// lockedFile unlocks before it closes: a child process that is just starting shares the open file until its exec, and
// would otherwise keep the lock.
type lockedFile struct{ osFile }

func (f lockedFile) Close() error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // closing the file releases the lock as well
	return f.osFile.Close()
}

// syncDir makes the entries of a directory durable. A file system that cannot sync a directory returns EINVAL or
// ENOTSUP, which is not an error here.
func syncDir(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// keepOwner gives a new file the owner and group of the file that it replaces.
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
