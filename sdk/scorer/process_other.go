//go:build !unix

package scorer

import (
	"os"
	"syscall"
)

// ownGroup does nothing: on this system, kill ends only the process itself, not its children.
func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, os.Signal) {}

func sweep(string) {}
