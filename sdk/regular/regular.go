package regular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens a file like [os.OpenFile]. It accepts only a regular file, or a link to a regular file, of at most limit
// bytes. Its errors are of type [*fs.PathError].
func Open(path string, flag int, perm fs.FileMode, limit int64) (*os.File, error) {
	if info, err := os.Stat(path); err == nil { // before opening, because opening some devices has effects
		if err := check(path, info, limit); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|nonblock, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = check(path, info, limit)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	if info, err := f.Stat(); err == nil {
		data.Grow(int(min(info.Size(), 1<<30)) + bytes.MinRead)
	}
	_, err = data.ReadFrom(io.LimitReader(f, limit+1)) // the file may have grown since it was opened
	if err == nil && int64(data.Len()) > limit {
		return nil, refused(path, "is a file of more than %d bytes, want at most %[1]d", limit)
	}
	return data.Bytes(), err
}

// Create writes data to a new file, and waits until the disk has stored it. If the file exists, Create fails.
func Create(path string, data []byte, perm fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path) // this call created the file, which is incomplete
	}
	return err
}

func check(path string, info fs.FileInfo, limit int64) error {
	switch mode := info.Mode(); {
	case mode.IsRegular() && info.Size() <= limit:
		return nil
	case mode.IsRegular():
		return refused(path, "is a file of %d bytes, want at most %d", info.Size(), limit)
	case mode.IsDir():
		return refused(path, "is a folder, want a file")
	default:
		return refused(path, "is a special file, such as a pipe or a device, want a regular file")
	}
}

func refused(path, format string, args ...any) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf(format, args...)}
}
