//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package device

import "syscall"

// cpuSeconds returns the time that this process has had of the processors, user and system.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // not known
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
