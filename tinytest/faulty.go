package tinytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/transport"
)

// Faulty returns the transport of member number self of a network, with a fault schedule for what it sends. It keeps
// the contract of a transport, since any transport may lose frames. members are the names of all, by number; tick is
// how long one tick of delay lasts. Late frames and second copies go to inner from goroutines that Close ends. Close
// closes inner.
func Faulty(
	inner transport.Transport, faults sim.FaultSchedule, tick time.Duration, self int, members ...string,
) transport.Transport {
	f := &faulty{
		Transport: inner, faults: faults, tick: tick, self: self, members: slices.Clone(members), sent: map[string]int{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if n, ok := inner.(transport.Notifier); ok {
		return struct {
			*faulty
			transport.Notifier
		}{f, n}
	}
	return f
}

type faulty struct {
	transport.Transport
	faults  sim.FaultSchedule
	tick    time.Duration
	self    int
	members []string
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu     sync.Mutex // guards what follows
	sent   map[string]int
	closed bool
	late   sync.WaitGroup
}

// Send leaves all errors to the inner transport.
func (f *faulty) Send(ctx context.Context, to string, frame []byte) error {
	j := slices.Index(f.members, to)
	if j < 0 || j == f.self || len(frame) > f.MaxFrame() || ctx.Err() != nil {
		return f.Transport.Send(ctx, to, frame)
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return fmt.Errorf("tinytest: send to %q: %w", to, transport.ErrClosed)
	}
	seq := f.sent[to]
	f.sent[to]++
	copies := f.faults(f.self, j, seq)
	now := 0
	for i, ticks := range copies {
		if i == 0 && ticks <= 0 {
			now = 1
			continue
		}
		f.late.Go(func() { f.sendLate(to, frame, ticks) })
	}
	f.mu.Unlock()
	if now == 0 {
		return nil
	}
	return f.Transport.Send(ctx, to, frame)
}

// sendLate waits and sends. Its error is ignored: a frame may be lost.
func (f *faulty) sendLate(to string, frame []byte, ticks int) {
	timer := time.NewTimer(time.Duration(max(0, ticks)) * f.tick)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = f.Transport.Send(f.ctx, to, frame)
	case <-f.ctx.Done():
	}
}

func (f *faulty) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	err := f.Transport.Close()
	f.late.Wait()
	return err
}
