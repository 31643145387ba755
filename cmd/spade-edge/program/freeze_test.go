//go:build unix

package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// freeze stops the process until SIGCONT, and returns when all threads have stopped. Threads receive the signal one by
// one, so on a busy machine another thread could still answer.
func (p *process) freeze(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(threads) == 0 { // not on Linux
			time.Sleep(200 * time.Millisecond)
			return
		}
		running := 0
		for _, path := range threads {
			if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), ") T ") {
				running++
			}
		}
		if running == 0 {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d of %d threads have not stopped", running, len(threads))
		}
	}
}
