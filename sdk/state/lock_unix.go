//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// lockFile opens a file for writing, with O_CREATE and O_EXCL if they are set in create, and takes its lock. The kernel
// releases the lock when the process ends, however it ends; programs that the process starts do not inherit it. The
// error is errLocked if another process holds it.
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

// lockedFile gives its lock up when it is closed. A program that is being started at that moment has the file open until it is at work,
// and would keep the lock for as long.
type lockedFile struct{ osFile }

func (f lockedFile) Close() error {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // what closes the file gives it up as well
	return f.osFile.Close()
}

// syncDir makes durable which files a directory has. A file system without such a call answers EINVAL or ENOTSUP, and
// promises nothing.
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
