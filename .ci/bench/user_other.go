//go:build !unix

package main

import "time"

// userTime calls f and returns the seconds that it took, because this system does not report user time in the same way.
func userTime(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}
