package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// checkModes refuses files that anybody but their owner may read or write, on systems with file modes: who can write a
// ledger can hide what was spent, and who can read a state knows parameters that were not released. Files that do not
// exist are as they should be.
func checkModes(paths ...string) error {
	return refuseModes(0o077, "600", paths)
}

// checkDirMode refuses a directory in which everybody may put and remove files.
func checkDirMode(dir string) error {
	return refuseModes(0o002, "700", []string{dir})
}

func refuseModes(loose fs.FileMode, want string, paths []string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	var found, names []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if mode := info.Mode().Perm(); mode&loose != 0 {
			found = append(found, fmt.Sprintf("%s has mode %04o, want 0%s", path, mode, want))
			names = append(names, path)
		}
	}
	if found == nil {
		return nil
	}
	return fmt.Errorf("state: %s: others can reach it; chmod %s %s (a file system without modes has to be mounted "+
		"with umask=077)", strings.Join(found, ", "), want, strings.Join(names, " "))
}

// checkStore checks the modes of a store's directory and of what is in it.
func checkStore(dir string) error {
	return errors.Join(checkDirMode(dir), checkModes(filepath.Join(dir, slotName(0)), filepath.Join(dir, slotName(1)),
		filepath.Join(dir, logName), filepath.Join(dir, lockName), EvidencePath(dir), SecretsPath(dir)))
}
