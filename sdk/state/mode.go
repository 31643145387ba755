package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// checkModes refuses files that anybody but their owner may read or write, on systems with file modes: who can write a
// ledger can hide what was spent, and who can read a state knows parameters that were not released. Files that do not
// exist are as they should be.
func checkModes(paths ...string) error {
	var errs []error
	for _, path := range paths {
		errs = append(errs, checkMode(path, 0o077, 0o600))
	}
	return errors.Join(errs...)
}

func checkMode(path string, loose, want fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (runtime.GOOS == "windows" || info.Mode().Perm()&loose == 0) {
		return nil
	}
	if err != nil {
		return named(err)
	}
	return fmt.Errorf("state: %s has mode %04o, want %04[3]o: others can reach it; chmod %[3]o %[1]s (a file system without "+
		"modes has to be mounted with umask=077)", path, info.Mode().Perm(), want)
}

// checkStore checks the modes of what is in a store's directory, and refuses a directory in which everybody may put and
// remove files.
func checkStore(dir string) error {
	return errors.Join(checkMode(dir, 0o002, 0o700), checkModes(filepath.Join(dir, slotName(0)), filepath.Join(dir, slotName(1)),
		filepath.Join(dir, logName), filepath.Join(dir, lockName), filepath.Join(dir, JournalName), filepath.Join(dir, SecretsName)))
}
