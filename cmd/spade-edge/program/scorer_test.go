//go:build unix

package program

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestHangupWhileStarting checks that a node that receives SIGHUP while it is still starting, here because its program
// is slow, handles the signal once it runs.
func TestHangupWhileStarting(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "ab", nil)
	started := filepath.Join(t.TempDir(), "started")
	p := start(t, "run", tr.oracle(t, `{"stream": ["sh", "-c", `+strconv.Quote(": >'"+started+`'; sleep 0.3; echo '{"hello":1,"dim":6,"samples":8}'; cat >&2`)+`]}`))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the program is not started\n%s", p.log.String())
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.log.await(t, "the fleet file was reloaded")
}
