//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sdk

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lockFile takes the lock that a file stands for. The kernel gives it up when the process ends, however it ends; programs
// that the process starts do not inherit it. The error is errLocked if another holds it.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errLocked
	default:
		err = &os.PathError{Op: "flock", Path: name, Err: err}
	}
	return nil, errors.Join(err, f.Close())
}

// syncDir makes durable which files a directory has. A file system that has no such call says EINVAL or ENOTSUP, and
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

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
