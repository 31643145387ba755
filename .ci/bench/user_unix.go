//go:build unix

package main

import "syscall"

// userTime calls f and returns the seconds that this process spent in user mode meanwhile.
func userTime(f func() error) (float64, error) {
	before, err := user()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := user()
	return after - before, err
}

func user() (float64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec) + 1e-6*float64(u.Utime.Usec), err
}
