package scorer

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ownGroup makes a process the first of a group, which ends when this process does, however that ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// signalGroup sends a signal to a process group. Its members may be gone: then there is nothing to do.
func signalGroup(pid int, signal syscall.Signal) { _ = syscall.Kill(-pid, signal) }

// sweep kills every process in whose environment a variable begins with mark. A process that removes the variable, or
// belongs to another user, is not found.
func sweep(mark string) {
	marked := func(environ string) bool {
		env, err := os.ReadFile(environ) // empty of a process that has ended
		return err == nil && (bytes.HasPrefix(env, []byte(mark)) || bytes.Contains(env, []byte("\x00"+mark)))
	}
	// What is found may start others before it is killed, and is to be seen for a moment after.
	for range 10 {
		found := false
		all, _ := os.ReadDir("/proc")
		for _, entry := range all {
			pid, err := strconv.Atoi(entry.Name())
			environ := "/proc/" + entry.Name() + "/environ"
			if err != nil || pid == os.Getpid() || !marked(environ) {
				continue
			}
			p, err := os.FindProcess(pid) // from here on the number cannot come to mean another
			if err == nil && marked(environ) {
				found = true
				_ = p.Kill()
			}
		}
		if !found {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
