package device

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// TestNotifier checks that the service manager's socket may have an abstract name (Linux). A notifier must send nothing
// if the environment names no socket, or if the variables are for another process. Child processes must not inherit the
// variables.
func TestNotifier(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no unixgram")
	}
	if runtime.GOOS == "linux" {
		m := newServiceManager(t, fmt.Sprintf("@spade-edge-%d", os.Getpid()))
		t.Setenv("NOTIFY_SOCKET", m.LocalAddr().String())
		t.Setenv("WATCHDOG_USEC", "3000000")
		t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
		n := newNotifier()
		if n.watchdog != 3*time.Second || n.interval() != 750*time.Millisecond || os.Getenv("NOTIFY_SOCKET") != "" ||
			os.Getenv("WATCHDOG_USEC") != "" {
			t.Errorf("notifier %+v", n)
		}
		n.send("READY=1")
		n.setStatus("one")
		n.setStatus("one")
		n.setStatus("two")
		for _, want := range []string{"READY=1", "STATUS=one", "STATUS=two"} {
			if got := m.next(t, time.Minute); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "1000000")
	n := newNotifier()
	n.send("READY=1")
	if n.watchdog != 0 || n.interval() != time.Second {
		t.Errorf("notifier %+v", n)
	}
	for pid, usec := range map[string]string{"1": "1000000", "": "-5", " ": "many"} {
		t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
		t.Setenv("WATCHDOG_USEC", usec)
		t.Setenv("WATCHDOG_PID", pid)
		n := newNotifier()
		n.send("READY=1") // nobody listens, but send reports no error
		if n.watchdog != 0 {
			t.Errorf("WATCHDOG_PID %q, WATCHDOG_USEC %q: %v", pid, usec, n.watchdog)
		}
	}
}

// TestWatchdog checks that a node sends keepalives while it waits for a neighbor, but sends none while its oracle
// hangs.
func TestWatchdog(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no unixgram")
	}
	m := newServiceManager(t, filepath.Join(t.TempDir(), "notify"))
	const every = 20 * time.Millisecond
	fleet := &sdk.Fleet{
		Run: "watchdog", Dim: 1, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 2, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	link, err := mem.New(fleet.Members...).Node("a")
	if err != nil {
		t.Fatal(err)
	}
	mon, err := monitor.New(monitor.Config{Fleet: fleet, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	node, err := sdk.New(sdk.Config{
		Fleet: fleet, Name: "a", Samples: 3, Transport: link,
		Events: mon.Events(), ResendAfter: 10 * time.Millisecond,
		Oracle: sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) {
			asked <- struct{}{}
			<-answer
			return 0.5, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	mon.Begin(node)
	go func() {
		defer close(over)
		mon.End(node.Run(ctx))
	}()
	<-asked
	d := &Device{fleet: fleet, monitor: mon, manager: &notifier{socket: m.LocalAddr().String(), watchdog: every}}
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		d.report(ctx)
	}()
	for m.next(t, 10*every) != "" { // until no more messages come
	}
	close(answer)
	for range 20 {
		m.await(t, "WATCHDOG=1")
	}
	if st := mon.Status(); st.Phase != monitor.Waiting {
		t.Errorf("phase %s", st.Phase)
	}
	cancel()
	<-over
	<-reported
}
