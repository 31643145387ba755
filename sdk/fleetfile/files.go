package fleetfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/regular"
	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// ReadFile reads a regular file of at most limit bytes. It refuses longer files, and files that are not regular, such
// as pipes. want names the expected kind of file in error messages.
func ReadFile(path string, limit int64, want string) ([]byte, error) {
	data, err := regular.Read(path, limit)
	if err != nil {
		return nil, fmt.Errorf("fleetfile: %s: %w", want, err)
	}
	return data, nil
}

// loader is a function that returns the content of the named file, which must have exactly size bytes.
type loader func(name string, size int64) ([]byte, error)

func folder(dir string) loader {
	return func(name string, size int64) ([]byte, error) {
		data, err := ReadFile(filepath.Join(dir, filepath.FromSlash(name)), size, "a start vector")
		if err == nil && int64(len(data)) != size {
			err = fmt.Errorf("fleetfile: %s has %d bytes, want %d", name, len(data), size)
		}
		return data, err
	}
}

func create(path string, data []byte, mode os.FileMode) error {
	if err := regular.Create(path, data, mode); err != nil {
		return fmt.Errorf("fleetfile: %w", err)
	}
	return nil
}

// ReadUser returns the user and the password from a file that has a single line of the form user:password. It reads the
// file as [secret.Read] does.
func ReadUser(path, kind string) (user, password string, err error) {
	text, err := secret.Read(path, kind)
	if err != nil {
		return "", "", err
	}
	user, password, found := strings.Cut(text, ":")
	if !found || user == "" || strings.ContainsAny(text, "\r\n") {
		return "", "", fmt.Errorf("fleetfile: %s %s: want one line of the form user:password", kind, path)
	}
	return user, password, nil
}
