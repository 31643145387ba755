//go:build !(darwin || freebsd || linux || windows)

package node

import "errors"

// freeSpace is not known here.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
