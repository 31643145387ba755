package sdk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// disk is what a DirStore needs of a directory; tests put their own faults behind it.
type disk interface {
	// open opens a file, for reading alone or for writing too. If there is none, it makes one if create is set, and the
	// error is fs.ErrNotExist if not.
	open(name string, write, create bool) (diskFile, error)
	// sync makes the making of files durable.
	sync() error
}

// diskFile is an open file. Its errors name it.
type diskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	size() (int64, error)
	truncate(size int64) error
	// sync returns once the content would survive a power cut.
	sync() error
}

// osDisk is a directory of the operating system.
type osDisk string

func (d osDisk) open(name string, write, create bool) (diskFile, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	if create {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(string(d), name), flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d osDisk) sync() error { return syncDir(string(d)) }

type osFile struct{ *os.File }

func (f osFile) size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "open", Path: f.Name(), Err: errors.New("not a regular file")}
	}
	return st.Size(), nil
}

func (f osFile) truncate(size int64) error { return f.Truncate(size) }
func (f osFile) sync() error               { return syncFile(f.File) }

// makeDir makes a directory and those above it, each durable in the one that holds it.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// advise adds to an error of the operating system, which names the file, what to do about it.
func advise(err error) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return fmt.Errorf("sdk: %w; free some room there, or put the state directory on another disk", err)
	case isReadOnly(err):
		return fmt.Errorf("sdk: %w; mount the file system for writing (one that turned read-only by itself is failing), or put the state directory on another disk", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("sdk: %w; run as the user who owns the state directory, or give this one the right to write in it", err)
	}
	return fmt.Errorf("sdk: %w", err)
}
