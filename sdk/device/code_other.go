//go:build !linux

package device

// releaseCode does nothing on this system.
func releaseCode() {}
