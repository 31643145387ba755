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

// freeze stops the process until SIGCONT. One thread at a time hears of it, and on a busy machine another may answer first: it
// returns when all have stopped.
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
		if len(threads) == 0 { // no Linux
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
