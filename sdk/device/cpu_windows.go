package device

import "syscall"

// cpuSeconds returns the time that this process has had of the processors, user and system.
func cpuSeconds() float64 {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0 // not known
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	return (ticks(kernel) + ticks(user)) / 1e7
}

// ticks returns a span in steps of 100 ns.
func ticks(t syscall.Filetime) float64 {
	return float64(uint64(t.HighDateTime)<<32 | uint64(t.LowDateTime))
}
