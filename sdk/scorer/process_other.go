//go:build !unix

package scorer

import "syscall"

// ownGroup does nothing: on this system, kill ends only the process itself, not its children.
func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) {}

func sweep(string) {}
