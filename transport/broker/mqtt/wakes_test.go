package mqtt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

// wakes simulates, in compressed time, a device that wakes, executes a round and sleeps. The device is member "a" of
// five private members. Once the broker has the device's messages for a round, the device is cut off from the broker
// for a while. If restart is true, the device's process also ends, and a new process starts. The device waits only two
// seconds for final messages, because messages that an old process has received do not arrive again. The models must
// equal those of a fault-free run.
//
// wakes returns how many times the device woke, and the maximum number of bytes that it received in one waking period.
func wakes(t *testing.T, restart bool, sleep time.Duration, open brokertest.Opener) (woken int, most int64) {
	n := brokertest.Ring("wakes", 5, true, 16) // plus 8 cool-down rounds
	_, want := n.Quiet(t)
	ctx, cancel := context.WithCancel(brokertest.Long(t))
	defer cancel()
	store := tinytest.MemStore()
	quiet := slog.New(slog.DiscardHandler)
	asleep := errors.New("asleep")
	got, errs := make([][]float32, len(want)), make([]error, len(want))
	others := make(chan int, len(want))
	for i := 1; i < len(want); i++ {
		tr := open.Open(t, n.Setup(n.Fleet.Members[i]))
		node, err := n.Node(i, sdk.Config{Transport: tr, Linger: time.Minute, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			errs[i] = node.Run(ctx)
			got[i] = node.Model()
			others <- i
		}()
	}
	for done := false; !done; {
		way := &brokertest.Way{}
		setup := n.Setup("a")
		setup.Way = way
		tr, err := open(setup)
		if err != nil {
			t.Fatal(err)
		}
		s, err := store()
		if err != nil {
			t.Fatal(err)
		}
		released, dozing := make(chan struct{}, 1), &dozing{End: tr}
		node, err := n.Node(0, sdk.Config{Transport: dozing, Store: s, Linger: 2 * time.Second, Logger: quiet,
			Events: sdk.Events{Released: func(int, []float32) {
				dozing.mu.Lock() // the device sleeps until mu is unlocked
				released <- struct{}{}
			}}})
		if err != nil {
			t.Fatal(err)
		}
		life, end := context.WithCancelCause(ctx)
		over := make(chan error, 1)
		go func() { over <- node.Run(life) }()
		for awake := true; awake; {
			before := tr.Peers()
			select {
			case err := <-over:
				if err != nil && !errors.Is(err, asleep) {
					t.Fatal(err)
				}
				done = done || err == nil
				awake = false
			case <-released:
				woken++
				for last := int64(-1); last != sent(tr); time.Sleep(10 * time.Millisecond) {
					last = sent(tr)
				}
				way.Set(true)
				time.Sleep(sleep)
				if restart {
					end(asleep)
					dozing.mu.Unlock()
					continue
				}
				way.Set(false)
				dozing.mu.Unlock()
			}
			var received int64
			for i, p := range tr.Peers() {
				received += p.Received - before[i].Received
			}
			most = max(most, received)
		}
		got[0] = node.Model()
		end(nil)
		_ = tr.Close()
		_ = s.Close()
		if ctx.Err() != nil {
			t.Fatal("the run does not end")
		}
	}
	for range len(want) - 1 {
		if i := <-others; errs[i] != nil {
			t.Fatal(errs[i])
		}
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("member %d has another model than in the quiet run", i)
		}
	}
	return woken, most
}

// dozing is a transport that delivers no frames while the mutex mu is locked, which simulates a device that sleeps
// after its round.
type dozing struct {
	brokertest.End
	mu sync.Mutex
}

func (d *dozing) Recv(ctx context.Context) (from string, frame []byte, err error) {
	from, frame, err = d.End.Recv(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	return from, frame, err
}

func sent(e brokertest.End) (n int64) {
	for _, p := range e.Peers() {
		n += p.Sent
	}
	return n
}
