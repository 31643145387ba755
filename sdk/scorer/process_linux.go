package scorer

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ownGroup puts a process into its own group. The system kills the process when the thread that started it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func signalGroup(pid int, signal os.Signal) { _ = syscall.Kill(-pid, signal.(syscall.Signal)) }

// sweep kills every process whose environment has a variable (as NAME=VALUE) that begins with mark. It does not find a
// process that removed the variable or belongs to another user.
func sweep(mark string) {
	marked := func(environ string) bool {
		env, err := os.ReadFile(environ) // env is empty for a process that has ended
		return err == nil && (bytes.HasPrefix(env, []byte(mark)) || bytes.Contains(env, []byte("\x00"+mark)))
	}
	// Several passes are needed: a process may start other processes before it is killed, and a killed process stays
	// visible for a moment.
	for range 10 {
		found := false
		all, _ := os.ReadDir("/proc")
		for _, entry := range all {
			pid, err := strconv.Atoi(entry.Name())
			environ := "/proc/" + entry.Name() + "/environ"
			if err != nil || pid == os.Getpid() || !marked(environ) {
				continue
			}
			p, err := os.FindProcess(pid) // p refers to this process even if its ID is reused later
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
