//go:build unix && !linux

package scorer

import (
	"errors"
	"syscall"
)

// ownGroup makes a process the first of a group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func limitMemory(int, int64) error { return errors.ErrUnsupported }

func sweep(string) {}
