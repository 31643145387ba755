package tinytest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

const (
	patience     = 30 * time.Second // time limit for an event that must happen; no other result depends on time
	again        = time.Second      // time until a frame that has not arrived is sent again
	largestTried = 64 << 20         // the longest frame that the test tries to send
)

// TestTransport checks that a transport keeps the promises of [transport.Transport]. It returns one error with a line
// for each broken rule. open creates a new network of the given members, all of them neighbors, and returns their
// transports in the same order; TestTransport closes the transports. The transports may lose, duplicate and reorder
// frames: TestTransport resends lost frames for 30 seconds. It also sends the longest frame that the transport accepts,
// unless this frame exceeds 64 MiB.
func TestTransport(open func(members []string) ([]transport.Transport, error)) error {
	in := func(check func(*trial) error) func() error { return func() error { return try(open, check) } }
	return tryRules("transport", []rule{
		{"a frame arrives as it was sent, under the name of its sender", in((*trial).arrives)},
		{"Send takes frames of up to MaxFrame bytes, and no longer ones", in((*trial).longest)},
		{"Send fails when to is not a neighbor", in((*trial).strangers)},
		{"Send and Recv fail when their context ends", in((*trial).contexts)},
		{"a received frame belongs to the caller, and Send does not change its frame", in((*trial).ownership)},
		{"waiting for one member never delays a Send to another", in((*trial).slowReceiver)},
		{"Recv does not fail when a peer ends", in((*trial).peerGone)},
		{"all methods may be called from several goroutines at once", in((*trial).crowd)},
		{"after Close, Send and Recv return ErrClosed, waiting calls too, and a further Close returns nil", in((*trial).closes)},
	})
}

// trial is a network for the test of one rule. Each call of the transport runs in its own goroutine, because a faulty
// transport may ignore its context and never return.
type trial struct {
	names   []string
	nodes   []transport.Transport
	sent    map[string]int // the sender of each frame, by content
	made    uint64         // number of frames made
	pending map[int]chan arrival
}

type arrival struct {
	from  string
	frame []byte
	err   error
}

// try opens a new network and checks one rule in it.
func try(open func([]string) ([]transport.Transport, error), check func(*trial) error) error {
	tr := &trial{names: []string{"alder", "birch", "cedar"}, sent: map[string]int{}, pending: map[int]chan arrival{}}
	nodes, err := open(slices.Clone(tr.names))
	defer func() {
		for _, node := range nodes {
			_ = node.Close()
		}
	}()
	if err != nil || len(nodes) != len(tr.names) {
		return fmt.Errorf("open returned %d transports, want %d: %w", len(nodes), len(tr.names), orNil(err))
	}
	tr.nodes = nodes
	return check(tr)
}

func async[T any](f func() T) chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

var errLate = fmt.Errorf("still waits after %v", patience)

func await[T any](c <-chan T, long time.Duration) (v T, late error) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case v = <-c:
		return v, nil
	case <-timer.C:
		return v, errLate
	}
}

// awaitEnd waits until a call has sent its error on the channel c. It fails unless good returns true for this error.
// The text in "what" describes the call.
func awaitEnd(what string, c <-chan error, good func(error) bool) error {
	err, late := await(c, patience)
	if late != nil || !good(err) {
		return fmt.Errorf("%s: %w", what, errors.Join(orNil(err), late))
	}
	return nil
}

func isError(err error) bool  { return err != nil }
func isClosed(err error) bool { return errors.Is(err, transport.ErrClosed) }

// orNil returns err, or an error with the text "no error" if err is nil.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// frame returns a unique frame of about the given length and records its sender. The frame has at least 8 bytes, and at
// most MaxFrame bytes.
func (tr *trial) frame(from, length int) []byte {
	b := make([]byte, max(8, min(length, tr.nodes[from].MaxFrame())))
	tr.made++
	binary.LittleEndian.PutUint64(b, tr.made)
	for i := 8; i < len(b); i++ {
		b[i] = byte(i) ^ byte(i>>8) ^ byte(tr.made)
	}
	tr.sent[string(b)] = from
	return b
}

func (tr *trial) send(from int, to string, frame []byte) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err, late := await(async(func() error { return tr.nodes[from].Send(ctx, to, frame) }), patience)
	return cmp.Or(late, err)
}

// flood sends frames from the first member to the second until Send returns an error.
func (tr *trial) flood(ctx context.Context) chan error {
	frame := tr.frame(0, 100)
	return async(func() (err error) {
		for err == nil {
			err = tr.nodes[0].Send(ctx, tr.names[1], frame)
		}
		return err
	})
}

func (tr *trial) recv(ctx context.Context, at int) (a arrival) {
	a.from, a.frame, a.err = tr.nodes[at].Recv(ctx)
	return a
}

// pass sends a frame repeatedly until it arrives, and returns the received frame. It skips frames that were sent
// earlier.
func (tr *trial) pass(from, to int, frame []byte) ([]byte, error) {
	for range int(patience / again) {
		if err := tr.send(from, tr.names[to], frame); err != nil {
			return nil, fmt.Errorf("Send failed for a frame of %d bytes from %q to %q: %w",
				len(frame), tr.names[from], tr.names[to], err)
		}
		for {
			if tr.pending[to] == nil {
				tr.pending[to] = async(func() arrival { return tr.recv(context.Background(), to) })
			}
			a, late := await(tr.pending[to], again)
			if late != nil {
				break
			}
			delete(tr.pending, to)
			if err := tr.known(to, a); err != nil || bytes.Equal(a.frame, frame) {
				return a.frame, err
			}
		}
	}
	return nil, fmt.Errorf("a frame of %d bytes from %q has not arrived at %q after %v",
		len(frame), tr.names[from], tr.names[to], patience)
}

// known checks that a received frame was sent by the member that Recv named.
func (tr *trial) known(at int, a arrival) error {
	if a.err != nil {
		return fmt.Errorf("at %q, Recv failed: %w", tr.names[at], a.err)
	}
	from, ok := tr.sent[string(a.frame)]
	if !ok {
		return fmt.Errorf("%q received a frame of %d bytes that seems to come from %q, but no member sent it",
			tr.names[at], len(a.frame), a.from)
	}
	if a.from != tr.names[from] {
		return fmt.Errorf("%q received a frame that %q sent, but Recv reports the sender %q",
			tr.names[at], tr.names[from], a.from)
	}
	return nil
}

func (tr *trial) pairs() (all [][2]int) {
	for from := range tr.names {
		for to := range tr.names {
			if from != to {
				all = append(all, [2]int{from, to})
			}
		}
	}
	return all
}

func (tr *trial) arrives() error {
	for _, pair := range tr.pairs() {
		for _, length := range []int{8, 9, 1000, 40_000} {
			if _, err := tr.pass(pair[0], pair[1], tr.frame(pair[0], length)); err != nil {
				return err
			}
		}
	}
	tr.sent[""] = 0
	_, err := tr.pass(0, 1, []byte{})
	return err
}

// refuses checks that Send fails immediately.
func (tr *trial) refuses(to string, frame []byte) error {
	if err := tr.send(0, to, frame); err == nil || errors.Is(err, errLate) {
		return fmt.Errorf("Send of %d bytes from %q to %q returned %w, want an immediate error", len(frame),
			tr.names[0], to, orNil(err))
	}
	return nil
}

func (tr *trial) longest() error {
	n := tr.nodes[0].MaxFrame()
	if n < 8 {
		return fmt.Errorf("MaxFrame is %d, want at least 8 bytes", n)
	}
	if n > largestTried {
		return nil
	}
	if err := tr.refuses(tr.names[1], make([]byte, n+1)); err != nil {
		return fmt.Errorf("MaxFrame is %d: %w", n, err)
	}
	_, err := tr.pass(0, 1, tr.frame(0, n))
	return err
}

func (tr *trial) strangers() error {
	refuses := func(to string) error { return tr.refuses(to, tr.frame(0, 8)) }
	return cmp.Or(refuses("nobody"), refuses(""), refuses(tr.names[0]))
}

func (tr *trial) contexts() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sending := tr.flood(ctx)
	receiving := async(func() error { return tr.recv(ctx, 2).err }) // no member sends to member 2
	time.Sleep(again / 10)                                          // by now the Send and the Recv most probably wait
	cancel()
	return cmp.Or(awaitEnd("a Send in progress", sending, isError), awaitEnd("a waiting Recv", receiving, isError))
}

func (tr *trial) ownership() error {
	shared := tr.frame(0, 1000)
	first, err := tr.pass(0, 1, shared)
	if err != nil {
		return err
	}
	copied := bytes.Clone(shared)
	clear(first)
	if !bytes.Equal(shared, copied) {
		return errors.New("changing a received frame also changes the frame that was sent")
	}
	second, err := tr.pass(0, 2, shared)
	if err != nil {
		return err
	}
	if _, err := tr.pass(1, 2, tr.frame(1, 1000)); err != nil {
		return err
	}
	if !bytes.Equal(second, copied) {
		return errors.New("the next frame overwrites a received frame")
	}
	return nil
}

// slowReceiver checks that a member can still send to a second member while its frames to a third member are not
// received.
func (tr *trial) slowReceiver() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const enough = 1000
	var count atomic.Int64
	frame := tr.frame(0, 100)
	go func() {
		for range enough {
			if tr.nodes[0].Send(ctx, tr.names[1], frame) != nil {
				return
			}
			count.Add(1)
		}
	}()
	for still, last := 0, int64(-1); still < 20 && last < enough; still++ {
		if _, err := tr.pass(0, 2, tr.frame(0, 100)); err != nil {
			return fmt.Errorf("while %q does not receive: %w", tr.names[1], err)
		}
		time.Sleep(time.Millisecond) // under synctest, until the sender waits
		if n := count.Load(); n != last {
			still, last = 0, n
		}
	}
	return nil
}

func (tr *trial) peerGone() error {
	if _, err := tr.pass(2, 0, tr.frame(2, 100)); err != nil {
		return err
	}
	if err := tr.nodes[2].Close(); err != nil {
		return fmt.Errorf("Close failed at %q: %w", tr.names[2], err)
	}
	for range 3 {
		if _, err := tr.pass(1, 0, tr.frame(1, 100)); err != nil {
			return fmt.Errorf("after %q was closed: %w", tr.names[2], err)
		}
	}
	return nil
}

// crowd checks that all members can send to each other at once while two goroutines receive for each member.
func (tr *trial) crowd() error {
	const each = 50
	frames := map[[2]int][][]byte{}
	for _, pair := range tr.pairs() {
		for range each {
			frames[pair] = append(frames[pair], tr.frame(pair[0], 200))
		}
	}
	ctx, stop := context.WithCancelCause(context.Background()) // ended by the first error
	defer stop(nil)
	var senders, receivers sync.WaitGroup
	for i := range tr.names {
		for range 2 {
			receivers.Go(func() {
				for {
					a := tr.recv(ctx, i)
					if ctx.Err() != nil {
						return
					}
					if err := tr.known(i, a); err != nil {
						stop(err)
					}
				}
			})
		}
	}
	for pair, list := range frames {
		from, to := pair[0], pair[1]
		senders.Go(func() {
			for _, frame := range list {
				if err := tr.nodes[from].Send(ctx, tr.names[to], frame); err != nil {
					stop(fmt.Errorf("Send failed from %q to %q: %w", tr.names[from], tr.names[to], err))
					return
				}
				tr.nodes[from].MaxFrame()
			}
		})
	}
	late := ended(&senders)
	if late != nil {
		late = fmt.Errorf("Send %w", late)
	}
	stop(late)
	_ = ended(&receivers) // receivers that ignore their context break another rule
	if err := context.Cause(ctx); err != context.Canceled {
		return err
	}
	return nil
}

// ended waits until all goroutines in the group have ended, and fails after a time limit.
func ended(group *sync.WaitGroup) error {
	_, late := await(async(func() error { group.Wait(); return nil }), patience)
	return late
}

func (tr *trial) closes() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	node := tr.nodes[0]
	receiving := async(func() error { return tr.recv(ctx, 0).err })
	sending := tr.flood(ctx)
	closed := async(func() error { return errors.Join(node.Close(), node.Close()) })
	if err, late := await(closed, patience); err != nil || late != nil {
		return fmt.Errorf("Close failed: %w", errors.Join(err, late))
	}
	return cmp.Or(
		awaitEnd("a Recv in progress during Close", receiving, isClosed),
		awaitEnd("a Send in progress during Close", sending, isClosed),
		awaitEnd("a Recv after Close", async(func() error { return tr.recv(ctx, 0).err }), isClosed),
		awaitEnd("a Send after Close", tr.flood(ctx), isClosed),
	)
}
