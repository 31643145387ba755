package scorer

import (
	"syscall"
	"unsafe"
)

const canLimitMemory = true

// ownGroup makes a process the first of a group, which ends when this process does, however that ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limitMemory limits the address space of a process that has just been started, prlimit(2).
func limitMemory(pid int, bytes int64) error {
	limit := [2]uint64{uint64(bytes), uint64(bytes)} // struct rlimit64, the same on every processor
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_AS,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
