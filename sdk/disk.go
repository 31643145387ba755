package sdk

import (
	"bytes"
	"encoding/json"
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

// replaceFile gives a file a new content, durably: after a crash it has the old one or the new one.
func replaceFile(path string, content []byte) error {
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = syncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// eachLine calls a function with each line of a file, until it fails. A file that is not there has none.
func eachLine(path string, parse func(line []byte) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return advise(err)
	}
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if err := parse(line); err != nil {
			return fmt.Errorf("sdk: %s, line %d: %w", path, n, err)
		}
		data = rest
	}
	return nil
}

// strictJSON reads one JSON object without unknown fields.
func strictJSON(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}
