package tinytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// FaultSchedule returns the delays, in ticks, of all copies of a message that arrive: {0} if the message arrives once
// and on time, {0, 0} if it arrives twice, an empty list if it is lost. seq numbers the messages from one member to
// another, starting at 0. A FaultSchedule must be a pure function, because it is called in any order and from any
// goroutine. The caller must not change the list.
type FaultSchedule func(from, to, seq int) []int

// In all fault schedules p is a probability, clipped to [0, 1]. Two schedules draw independently if their seeds or
// kinds differ.

var (
	onTime = []int{0}
	twice  = []int{0, 0}
)

// The kinds of draws, each with separate random numbers.
const (
	kindDrop = iota + 1
	kindDelay
	kindDuplicate
)

// draw returns the random numbers of a fault schedule for one message.
func draw(seed uint64, kind uint32, from, to, seq int) *rng.Stream {
	s := rng.New(seed, rng.Address{
		Purpose: rng.Fault, Component: kind, Client: uint32(from), Round: uint32(to), Step: uint32(seq),
	})
	return &s
}

// either returns a schedule that, with probability p, delivers one copy of a message for each delay in hit, or no copy
// if hit is empty. All other messages arrive on time.
func either(seed uint64, kind uint32, p float64, hit []int) FaultSchedule {
	return func(from, to, seq int) []int {
		if draw(seed, kind, from, to, seq).Float64() < p {
			return hit
		}
		return onTime
	}
}

// Drop loses each message with probability p, independently of all other messages.
func Drop(seed uint64, p float64) FaultSchedule { return either(seed, kindDrop, p, nil) }

// Delay delays each message with probability p, always by the given number of ticks.
func Delay(seed uint64, p float64, ticks int) FaultSchedule {
	return either(seed, kindDelay, p, []int{max(0, ticks)})
}

// Duplicate makes a message arrive twice with probability p.
func Duplicate(seed uint64, p float64) FaultSchedule {
	return either(seed, kindDuplicate, p, twice)
}

// Chain applies several fault schedules to each message: each schedule sees every copy that the earlier schedules let
// through. Delays add up.
func Chain(schedules ...FaultSchedule) FaultSchedule {
	return func(from, to, seq int) []int {
		delays := onTime
		for _, schedule := range schedules {
			var all []int
			for _, a := range delays {
				for _, b := range schedule(from, to, seq) {
					all = append(all, a+b)
				}
			}
			delays = all
		}
		return delays
	}
}

// Faulty wraps the transport of member number self with a fault schedule for its messages. members has the names of all
// members, by number; tick is the duration of one tick of delay. Delayed frames and second copies are sent by
// goroutines that Close ends. Close closes inner.
func Faulty(
	inner transport.Transport, faults FaultSchedule, tick time.Duration, self int, members ...string,
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
	faults  FaultSchedule
	tick    time.Duration
	self    int
	members []string
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu   sync.Mutex // guards the fields below, and held to end ctx
	sent map[string]int
	late sync.WaitGroup
}

// Send passes the call on to the inner transport, which returns an error, if an argument is invalid or ctx is done.
// Otherwise it applies the fault schedule to the frame.
func (f *faulty) Send(ctx context.Context, to string, frame []byte) error {
	j := slices.Index(f.members, to)
	if j < 0 || j == f.self || len(frame) > f.MaxFrame() || ctx.Err() != nil {
		return f.Transport.Send(ctx, to, frame)
	}
	f.mu.Lock()
	if f.ctx.Err() != nil {
		f.mu.Unlock()
		return fmt.Errorf("tinytest: send to %q: %w", to, transport.ErrClosed)
	}
	seq := f.sent[to]
	f.sent[to]++
	now := false
	for i, ticks := range f.faults(f.self, j, seq) {
		if i == 0 && ticks <= 0 {
			now = true
		} else {
			f.late.Go(func() { f.sendLate(to, frame, ticks) })
		}
	}
	f.mu.Unlock()
	if !now {
		return nil
	}
	return f.Transport.Send(ctx, to, frame)
}

// sendLate sends a frame after a delay. It ignores errors, because frames may be lost.
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
	f.cancel()
	f.mu.Unlock()
	err := f.Transport.Close()
	f.late.Wait()
	return err
}
