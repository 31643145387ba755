package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/pair"
)

// ForgetSecrets removes, durably, the secrets that the [Dir] in a directory keeps for a run of a fleet, given by its
// SHA-256: for whoever ends a run that is not to be continued. No process may have the store open. Secrets of another
// fleet stay. If there are none nothing happens, also if there is no such directory.
func ForgetSecrets(dir string, fleet [32]byte) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if k, err := readSecrets(filepath.Join(dir, SecretsName)); err == nil && k != nil && k.Fleet != fleet {
		return nil
	}
	return removeKept(dir, SecretsName)
}

// readSecrets reads a file of secrets; it returns nil if there is none.
func readSecrets(path string) (*pair.Kept, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, named(err)
	}
	k, err := pair.ParseKept(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}
