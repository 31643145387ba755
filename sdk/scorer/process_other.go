//go:build !unix

package scorer

import "syscall"

// ownGroup does nothing: only the process itself is killed here, not what it has started.
func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) {}

func sweep(string) {}
