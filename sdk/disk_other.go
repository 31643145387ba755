//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package sdk

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// lockFile takes the lock that a file stands for by making the file, on systems without a lock that ends with its process:
// after a crash somebody has to delete it. The error is errLocked if it is there.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return madeFile{f}, nil
}

// madeFile is a file that goes when it is closed.
type madeFile struct{ *os.File }

func (f madeFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// syncDir does nothing: not every system has such a call.
func syncDir(string) error { return nil }

// isFull and isReadOnly know no error codes here; the system's own words have to do.
func isFull(error) bool     { return false }
func isReadOnly(error) bool { return false }
