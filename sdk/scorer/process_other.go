//go:build !unix

package scorer

import (
	"errors"
	"syscall"
)

// ownGroup does nothing: only the process itself is killed here, not what it has started.
func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) {}

func limitMemory(int, int64) error { return errors.ErrUnsupported }

func sweep(string) {}
