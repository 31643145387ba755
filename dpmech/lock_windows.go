package dpmech

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file, a new one if create is set, without leave for others to write to it, until the process ends,
// however that ends.
func openLocked(path string, create bool) (*os.File, error) {
	const sharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	mode := uint32(syscall.OPEN_EXISTING)
	if create {
		mode = syscall.CREATE_NEW
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil, mode, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		err = errInUse
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncDir does nothing: Windows has no such call.
func syncDir(string) error { return nil }
