//go:build !linux

package state

import "os"

func syncFile(f *os.File) error { return f.Sync() }
