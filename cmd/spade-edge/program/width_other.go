//go:build !darwin && !freebsd && !linux

package program

import "os"

// columns returns the width of a terminal in letters, 0 if that is not known.
func columns(*os.File) int { return 0 }
