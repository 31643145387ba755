//go:build !linux

package device

func releaseCode() {}
