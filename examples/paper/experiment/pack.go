package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/gzip"
)

// appendTo appends text to a file. If the file's last line was cut off, by a program run that was stopped, text starts
// on a line of its own.
func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, 2)
	if err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

// moved ends the name of a file of lines that is being packed. Its place is taken by a new one as soon as another
// program run adds a line.
const moved = ".moved"

// unpack returns all lines of a file: those in the compressed file beside it first, then those of the files with the
// given ends; none if there is no file.
func unpack(path string, ends ...string) ([]byte, error) {
	var text []byte
	packed, err := os.ReadFile(path + ".gz")
	if err == nil {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			text, err = io.ReadAll(r)
		}
		if err != nil {
			return nil, fmt.Errorf("experiment: %s.gz: %w", path, err)
		}
	}
	for _, end := range ends {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var plain []byte
		if plain, err = os.ReadFile(path + end); len(plain) > 0 {
			text = append(append(text, plain...), '\n') // the last line may have been cut off
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

// pack moves the lines of a file into the compressed one beside it, without those that keep says no to or that are
// there twice. If that changes nothing it leaves the files as they are, and returns false. A program that is stopped in
// between leaves lines that are there twice, which is the same as once.
func pack(path string, keep func(line []byte) bool) (bool, error) {
	if _, err := os.Stat(path + moved); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(path, path+moved); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	text, err := unpack(path, moved)
	if err != nil || len(text) == 0 {
		return false, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return false, err
	}
	seen := make(map[string]bool)
	dropped := false
	for line := range bytes.Lines(text) {
		drop := seen[string(line)] || !keep(line)
		seen[string(line)] = true
		if dropped = dropped || drop; drop {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return false, err
		}
	}
	if _, err := os.Stat(path + moved); !dropped && errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := errors.Join(w.Close(), os.WriteFile(path+".gz.new", packed.Bytes(), 0o644)); err != nil {
		return false, err
	}
	if err := os.Rename(path+".gz.new", path+".gz"); err != nil {
		return false, err
	}
	if err := os.Remove(path + moved); !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	return true, nil
}
