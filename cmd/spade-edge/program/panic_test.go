package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
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
	p.log.await(t, "panic: for a test")
}

// TestMemoryRunsOut checks that the unit file makes systemd restart a process that ran out of memory. The unit file
// must prevent a restart only after the exit codes for invalid files and permanent errors.
func TestMemoryRunsOut(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no ulimit -v")
	}
	t.Parallel()
	unit, err := os.ReadFile(filepath.FromSlash("../../../examples/fleet/spade-edge.service"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(unit), "\nRestartPreventExitStatus=")
	line, _, _ = strings.Cut(line, "\n")
	final := strings.Fields(line)
	for _, code := range []int{cli.ExitUsage, cli.ExitRefused, cli.ExitMismatch, cli.ExitWithout} {
		if !slices.Contains(final, strconv.Itoa(code)) {
			t.Errorf("the unit file starts a node again that has ended with %d: it lists %s", code, line)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kib := range []string{"100000", "400000"} {
		cmd := exec.Command("sh", "-c", "ulimit -v "+kib+` && exec "$0" version`, self)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, err := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		if err == nil || code == cli.ExitDone {
			t.Skipf("%s KiB are enough here", kib)
		}
		if slices.Contains(final, strconv.Itoa(code)) {
			t.Errorf("with %s KiB it ends with %d, and the unit file does not start it again: %.300s", kib, code, out)
		}
	}
}
