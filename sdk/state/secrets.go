package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/pair"
)

// SecretsPath returns where the [Dir] in a directory keeps the secrets of a run whose members share noise: nobody else
// may read that file, and it is gone once the run is over.
func SecretsPath(dir string) string { return filepath.Join(dir, "secrets.json") }

// Secrets returns what [Dir.KeepSecrets] has kept, or nil.
func (d *Dir) Secrets() (*pair.Kept, error) { return readSecrets(SecretsPath(d.dir)) }

// KeepSecrets keeps the secrets of a run, durably, in place of those that were kept before; nil removes them.
func (d *Dir) KeepSecrets(k *pair.Kept) error {
	if k != nil {
		text, err := k.Encode()
		if err == nil {
			err = named(replaceFile(SecretsPath(d.dir), text))
		}
		return err
	}
	return removeSecrets(d.dir)
}

// ForgetSecrets removes, durably, what [Dir.KeepSecrets] has kept in a directory for a run of a fleet, given by its SHA-256:
// for whoever ends a run that is not to be continued. No process may have the store open. Secrets of another fleet stay. If
// there are none nothing happens, also if there is no such directory.
func ForgetSecrets(dir string, fleet [32]byte) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if k, err := readSecrets(SecretsPath(dir)); err == nil && k != nil && k.Fleet != fleet {
		return nil
	}
	return removeSecrets(dir)
}

// removeSecrets removes the secrets in a directory, with what a crash has left of an earlier KeepSecrets.
func removeSecrets(dir string) error {
	var errs []error
	for _, name := range []string{SecretsPath(dir), SecretsPath(dir) + ".tmp"} {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return named(errors.Join(append(errs, syncDir(dir))...))
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
		return nil, fmt.Errorf("state: %s: %w; if nothing was released yet, remove it; else bring it back, or empty the "+
			"folder and recover the device from its neighbors", path, err)
	}
	return k, nil
}
