package program

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// panicking is a test command in which a goroutine panics.
var panicking = &cli.Command{Name: "panic", Run: func(context.Context, *cli.Cmdline) error {
	go panic("for a test")
	select {}
}}

// TestPanicHasItsOwnEnd checks that a panic ends the process with a signal. If the process exited with the code for a
// permanent error instead, a service manager would not restart it.
func TestPanicHasItsOwnEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	t.Parallel()
	p := starting(t, nil, panicking.Name)
	select {
	case <-p.over:
	case <-time.After(time.Minute):
		t.Fatal("the process goes on")
	}
	if end := fmt.Sprint(p.cmd.ProcessState); !strings.HasPrefix(end, "signal: abort") || strings.Contains(end, "core") {
		t.Errorf("the process has ended with %q, want an abort and no memory image", end)
	}
	p.await(t, "panic: for a test")
}
