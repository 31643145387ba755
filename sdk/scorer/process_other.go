//go:build !unix

package scorer

import (
	"errors"
	"syscall"
)

const canLimitMemory = false

// ownGroup does nothing: only the process itself is killed here, not what it has started.
func ownGroup() *syscall.SysProcAttr { return nil }

func killGroup(int) {}

func terminateGroup(int) {}

func limitMemory(int, int64) error { return errors.ErrUnsupported }
