package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/examples/c/host"
	"github.com/spade-dfl/spade-edge/sdk/device"
)

// TestSameBits checks that three nodes, two in C processes and one in Go, compute exactly the same models as three Go
// nodes.
func TestSameBits(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/nonexistent")
	for _, to := range []*target{native, arm64, arm6} {
		t.Run(to.name, func(t *testing.T) {
			shared, archive := to.host(t, "c-shared"), to.host(t, "c-archive")
			dir := t.TempDir()
			fleet := newFleet(t, dir, []string{"a", "b", "c"}, nil)
			want := ofGo(t, fleet)
			a := to.start(t, nil, shared, "run", nodeFile(dir, "a"), filepath.Join(dir, "a.model"), "0")
			c := to.start(t, nil, archive, "text", nodeFile(dir, "c"), filepath.Join(dir, "c.model"), "2")
			b, err := host.Open(host.Files{Path: nodeFile(dir, "b")}, &host.Loss{OracleFunc: square(1)}, samples)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []*process{a, c} {
				go func() {
					if <-p.over; !p.cmd.ProcessState.Success() {
						b.Stop() // otherwise b would wait for the other nodes
					}
				}()
			}
			if err := b.Run(host.Options{Anyway: true}); err != nil {
				t.Error(err)
			}
			for _, p := range []*process{a, c} {
				if said := p.wait(t, 0); !strings.Contains(said, `"phase":"ended"`) || strings.Contains(said, "is taken") {
					t.Errorf("%v prints %q", p.cmd.Args, said)
				}
			}
			same(t, "a, of C", model(t, filepath.Join(dir, "a.model")), want[0])
			same(t, "c, of C", model(t, filepath.Join(dir, "c.model")), want[2])
			got, err := b.Model()
			if err != nil {
				t.Fatal(err)
			}
			same(t, "b", got, want[1])
		})
	}
}

// TestCallbacks checks that the model is the same, bit for bit, if a callback does more than compute the loss. The
// callback may call the library, sleep while another thread stops the node, raise a signal in its own thread, or stop
// the node. Meanwhile, other threads may call the library.
func TestCallbacks(t *testing.T) {
	program := native.host(t, "c-shared")
	t.Setenv("NOTIFY_SOCKET", "/nonexistent") // belongs to the host, so the library must ignore it
	for _, c := range []struct {
		mode string
		want []string
	}{
		{"nest", []string{"done nested 24 "}}, // a tenth of 192 queries of the run, and of 48 after it
		{"sleep", []string{"stop 0\n", "run: -5: interrupted; run again to continue", "done"}},
		{"signal", []string{"signals 1 asked 1"}},
		{"stop", []string{"run: -5: interrupted; run again to continue", "done"}},
		{"crowd", []string{"crowd 1\n"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			dir := t.TempDir()
			fleet := newFleet(t, dir, []string{"alone"}, nil)
			out := filepath.Join(dir, "model")
			said := native.start(t, nil, program, c.mode, nodeFile(dir, "alone"), out, "0").wait(t, 0)
			for _, w := range c.want {
				if strings.Contains(said, "is taken") || !strings.Contains(said, w) {
					t.Errorf("it prints %q, want %q", said, w)
				}
			}
			same(t, c.mode, model(t, out), ofGo(t, fleet)[0])
		})
	}
}

// TestStoppedFromOutside checks that the spade-edge commands status and stop reach a node in another program through
// the node's state folder.
func TestStoppedFromOutside(t *testing.T) {
	program := native.host(t, "c-shared")
	dir := t.TempDir()
	newFleet(t, dir, []string{"alone"}, nil)
	p := native.start(t, nil, program, "slow", nodeFile(dir, "alone"), filepath.Join(dir, "model"), "0")
	folder := filepath.Join(dir, "alone.state")
	for {
		st, err := device.AskStatus(t.Context(), folder)
		if err == nil && st.Running {
			break
		}
		select {
		case <-p.over:
			t.Fatalf("it is over, and was never seen to run: %v\n%s", err, &p.out)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := device.AskStop(t.Context(), folder); err != nil {
		t.Error(err)
	}
	if said := p.wait(t, 0); !strings.Contains(said, "run: -5: stopped on request; run again to continue\n") {
		t.Errorf("it prints %q", said)
	}
}
