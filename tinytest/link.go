package tinytest

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Packet is a frame on its way from one member to another.
type Packet struct {
	From, To string
	Seq      int           // number of the frame among all frames from From to To, starting at 0
	Frame    []byte        // must not be changed
	Delay    time.Duration // how long the frame is on its way
}

// Link decides what arrives in place of a packet: the packets that it returns, or nothing. It may return other frames,
// and frames to other members, but From has no effect: a frame arrives under the name of the member that sent the first
// packet. A Link is called from any goroutine. It may block, as a slow network does.
type Link func(Packet) []Packet

// In all links p is a probability, clipped to [0, 1]. Whether a packet is hit depends only on the seed, the kind of the
// link, the two members and Seq.

// Drop loses each packet with probability p.
func Drop(seed uint64, p float64) Link {
	return func(at Packet) []Packet {
		if hit(seed, 1, at) < p {
			return nil
		}
		return []Packet{at}
	}
}

// Delay delays each packet with probability p, always for the same time.
func Delay(seed uint64, p float64, by time.Duration) Link {
	return func(at Packet) []Packet {
		if hit(seed, 2, at) < p {
			at.Delay += by
		}
		return []Packet{at}
	}
}

// Duplicate makes a packet arrive twice with probability p.
func Duplicate(seed uint64, p float64) Link {
	return func(at Packet) []Packet {
		if hit(seed, 3, at) < p {
			return []Packet{at, at}
		}
		return []Packet{at}
	}
}

// hit draws a number in [0, 1) for a packet.
func hit(seed uint64, kind uint32, p Packet) float64 {
	number := func(name string) uint32 {
		h := fnv.New32a()
		h.Write([]byte(name))
		return h.Sum32()
	}
	s := rng.New(seed, rng.Address{
		Purpose: rng.Fault, Component: kind, Client: number(p.From), Round: number(p.To), Step: uint32(p.Seq),
	})
	return s.Float64()
}

// Chain passes each packet through several links: each link gets all packets that the link before it returned.
func Chain(links ...Link) Link {
	return func(p Packet) []Packet {
		all := []Packet{p}
		for _, link := range links {
			var next []Packet
			for _, p := range all {
				next = append(next, link(p)...)
			}
			all = next
		}
		return all
	}
}

// Messages returns a link that calls f with each message and, in its place, sends the messages that f returns. f owns
// the message. Frames that are no messages of a model with dim parameters pass unchanged, heartbeats too, and messages
// that cannot be encoded are lost.
func Messages(dim int, f func(p Packet, m admm.Message) []admm.Message) (Link, error) {
	codec, err := wire.NewCodec(dim)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards codec
	return func(p Packet) (all []Packet) {
		mu.Lock()
		var m admm.Message
		err := codec.Decode(p.Frame, &m)
		mu.Unlock()
		if err != nil || wire.IsHeartbeat(p.Frame) {
			return []Packet{p}
		}
		for _, m := range f(p, m) {
			mu.Lock()
			p.Frame, err = codec.Append(nil, &m)
			mu.Unlock()
			if err == nil {
				all = append(all, p)
			}
		}
		return all
	}, nil
}

// Linked wraps the transport of the named member with a link for all its frames to other members. Delayed frames are
// sent by goroutines that Close ends. Close closes inner.
func Linked(inner transport.Transport, link Link, name string, members ...string) transport.Transport {
	l := &linked{Transport: inner, link: link, name: name, members: slices.Clone(members), sent: map[string]int{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if n, ok := inner.(transport.Notifier); ok {
		return struct {
			*linked
			transport.Notifier
		}{l, n}
	}
	return l
}

type linked struct {
	transport.Transport
	link    Link
	name    string
	members []string
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu   sync.Mutex // guards sent, and is held to end ctx
	sent map[string]int
	late sync.WaitGroup
}

// Send passes the call on to the inner transport, which returns an error, if an argument is invalid or ctx is done.
// Otherwise it sends what the link returns for the frame, and returns the error of the last frame without a delay.
func (l *linked) Send(ctx context.Context, to string, frame []byte) (err error) {
	if to == l.name || !slices.Contains(l.members, to) || len(frame) > l.MaxFrame() || ctx.Err() != nil {
		return l.Transport.Send(ctx, to, frame)
	}
	l.mu.Lock()
	closed := l.ctx.Err() != nil
	seq := l.sent[to]
	l.sent[to]++
	l.mu.Unlock()
	if closed {
		return fmt.Errorf("tinytest: send to %q: %w", to, transport.ErrClosed)
	}
	packets := l.link(Packet{From: l.name, To: to, Seq: seq, Frame: frame})
	l.mu.Lock()
	for _, p := range packets {
		if p.Delay > 0 && l.ctx.Err() == nil {
			l.late.Go(func() { l.sendLate(p) })
		}
	}
	l.mu.Unlock()
	for _, p := range packets {
		if p.Delay <= 0 {
			err = l.Transport.Send(ctx, p.To, p.Frame)
		}
	}
	return err
}

// sendLate sends a packet after its delay. It ignores errors, because frames may be lost.
func (l *linked) sendLate(p Packet) {
	timer := time.NewTimer(p.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = l.Transport.Send(l.ctx, p.To, p.Frame)
	case <-l.ctx.Done():
	}
}

// Recycle makes the use of a recycled frame visible. It does not pass the frame to the inner transport.
func (l *linked) Recycle(frame []byte) { clear(frame) }

func (l *linked) Close() error {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	err := l.Transport.Close()
	l.late.Wait()
	return err
}
