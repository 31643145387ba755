//go:build !linux

package state

import "os"

// syncFile makes the content of a file durable.
func syncFile(f *os.File) error { return f.Sync() }
