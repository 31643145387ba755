//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// errNoPromises is the error for every file that must survive a crash, or must belong to one process, on a system where
// this package has no locks or cannot sync a folder.
var errNoPromises = fmt.Errorf("on %s files have no locks, or folders no sync, so what must survive could be used twice "+
	"or lost: implement state.Store on what this system has, or run without Store and Ledger (a node that stops is then out of its run): %w",
	runtime.GOOS, errors.ErrUnsupported)

func lockFile(string, int) (file, error) { return nil, errNoPromises }

func syncDir(string) error { return errNoPromises }

func keepOwner(*os.File, fs.FileInfo) error { return nil }
