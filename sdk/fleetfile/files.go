package fleetfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ReadFile reads a regular file of at most limit bytes; it refuses others, such as pipes. want names the expected kind of
// file in errors.
func ReadFile(path string, limit int64, want string) ([]byte, error) {
	info, err := os.Stat(path) // before opening: a pipe would wait for a writer
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", want, err)
	}
	if mode := info.Mode(); !mode.IsRegular() || info.Size() > limit {
		kind := "special file"
		if mode.IsRegular() {
			kind = "file"
		} else if mode.IsDir() {
			kind = "folder"
		}
		return nil, fmt.Errorf("fleetfile: %s is a %s of %d bytes, want %s of at most %d", path, kind, info.Size(), want, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", want, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", path, err)
	}
	return data, nil
}

// loader returns the content of a file of exactly size bytes.
type loader func(name string, size int64) ([]byte, error)

// folder returns a loader of the files in a folder.
func folder(dir string) loader {
	return func(name string, size int64) ([]byte, error) {
		data, err := ReadFile(filepath.Join(dir, filepath.FromSlash(name)), size, "a start vector")
		if err == nil && int64(len(data)) != size {
			err = fmt.Errorf("fleetfile: %s has %d bytes, want %d", name, len(data), size)
		}
		return data, err
	}
}

// create writes a new file, and makes sure that it is on disk.
func create(path string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("fleetfile: %w", err)
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path) // ours, and of no use
		return fmt.Errorf("fleetfile: %w", err)
	}
	return nil
}
