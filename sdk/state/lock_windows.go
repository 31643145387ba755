package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// errorSharingViolation is a Windows error code without a name in package syscall.
const errorSharingViolation = syscall.Errno(32)

// lockFile opens a file for writing, so that nobody else can open it for writing. create may be
// os.O_CREATE. The system closes the file when the process ends. If another process has the file open for
// writing, lockFile returns errLocked.
func lockFile(path string, create int) (file, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	mode := uint32(syscall.OPEN_EXISTING)
	if create&os.O_CREATE != 0 {
		mode = syscall.OPEN_ALWAYS
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		mode, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		err = errLocked
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return osFile{os.NewFile(uintptr(h), path)}, nil
}

// syncDir does nothing: Windows has no such call, and NTFS journals its directories.
func syncDir(string) error { return nil }

// keepOwner does nothing on Windows, where a new file belongs to the owner of its folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
