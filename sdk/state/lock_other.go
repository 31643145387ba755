//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// lockFile takes a lock by making its file, which somebody has to delete after a crash. The error is errLocked if the
// file exists. A file that holds data cannot be locked in this way.
func lockFile(path string, create int) (file, error) {
	if create != os.O_CREATE {
		err := fmt.Errorf("no lock on files is known on %s", runtime.GOOS)
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = &os.PathError{Op: "lock", Path: path, Err: errLocked}
	}
	if err != nil {
		return nil, err
	}
	return createdFile{osFile{f}}, nil
}

// createdFile is removed when it is closed.
type createdFile struct{ osFile }

func (f createdFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// syncDir does nothing: not every system has such a call.
func syncDir(string) error { return nil }

// isFull and isReadOnly know no error codes here: the system's own words are all there is.
func isFull(error) bool     { return false }
func isReadOnly(error) bool { return false }
