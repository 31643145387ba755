package tinytest_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// inMemory returns a function that opens a network in memory. If wrap is not nil, it wraps each transport.
func inMemory(maxFrame int, wrap func(i int, names []string,
	tr transport.Transport) transport.Transport) func([]string) ([]transport.Transport, error) {
	return func(names []string) ([]transport.Transport, error) {
		net := mem.New(names...)
		net.MaxFrame = maxFrame
		var all []transport.Transport
		for i, name := range names {
			tr, err := net.Node(name)
			if err != nil {
				return all, err
			}
			if wrap != nil {
				tr = wrap(i, names, tr)
			}
			all = append(all, tr)
		}
		return all, nil
	}
}

// overTLS opens a network of websocket transports on the loopback interface. Each dials those before it.
func overTLS(names []string) (all []transport.Transport, err error) {
	key := func(name string) ed25519.PrivateKey {
		seed := sha256.Sum256([]byte(name))
		return ed25519.NewKeyFromSeed(seed[:])
	}
	var addresses []string
	for i, name := range names {
		cfg := ws.Config{Name: name, Key: key(name), Listen: "127.0.0.1:0", MaxFrame: 1 << 20}
		for j, peer := range names {
			p := ws.Peer{Name: peer, Keys: []ed25519.PublicKey{key(peer).Public().(ed25519.PublicKey)}}
			if j < i {
				p.Addresses = addresses[j : j+1]
			}
			if j != i {
				cfg.Peers = append(cfg.Peers, p)
			}
		}
		tr, err := ws.New(cfg)
		if err != nil {
			return all, err
		}
		all, addresses = append(all, tr), append(addresses, tr.Addr())
	}
	return all, nil
}

// TestTransports checks that TestTransport accepts the project's transports, and the memory transport even with every
// kind of fault.
func TestTransports(t *testing.T) {
	if err := tinytest.TestTransport(inMemory(0, nil)); err != nil {
		t.Error(err)
	}
	if err := tinytest.TestTransport(inMemory(64, nil)); err != nil {
		t.Error(err)
	}
	if err := tinytest.TestTransport(overTLS); err != nil {
		t.Error(err)
	}
	const tick = 10 * time.Millisecond
	for name, link := range map[string]tinytest.Link{
		"drop": tinytest.Drop(1, 0.4), "delay": tinytest.Delay(1, 0.5, 3*tick), "duplicate": tinytest.Duplicate(1, 0.5),
		"all": tinytest.Chain(tinytest.Drop(2, 0.3), tinytest.Duplicate(2, 0.3), tinytest.Delay(2, 0.5, 8*tick)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in virtual time
				err := tinytest.TestTransport(inMemory(1<<16,
					func(i int, names []string, tr transport.Transport) transport.Transport {
						return tinytest.Linked(tr, link, names[i], names...)
					}))
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// bent is a transport whose methods can be replaced.
type bent struct {
	transport.Transport
	send  func(ctx context.Context, to string, frame []byte) error
	recv  func(ctx context.Context) (string, []byte, error)
	close func() error
}

func (b *bent) Send(ctx context.Context, to string, frame []byte) error {
	return b.send(ctx, to, frame)
}
func (b *bent) Recv(ctx context.Context) (string, []byte, error) { return b.recv(ctx) }
func (b *bent) Close() error                                     { return b.close() }

// TestWrongTransports checks that TestTransport names the broken rule for each of several faulty transports.
func TestWrongTransports(t *testing.T) {
	var gone atomic.Bool // whether a member of the network has closed
	for name, c := range map[string]struct {
		rule string
		wrap func(names []string, b *bent)
	}{
		"right": {"", func([]string, *bent) {}},
		"corrupts long frames": {"arrives as it was sent", func(_ []string, b *bent) {
			b.recv = func(ctx context.Context) (string, []byte, error) {
				from, frame, err := b.Transport.Recv(ctx)
				if len(frame) > 30_000 {
					frame[20_000] ^= 4
				}
				return from, frame, err
			}
		}},
		"always names the first sender": {"under the name of its sender", func(names []string, b *bent) {
			b.recv = func(ctx context.Context) (string, []byte, error) {
				_, frame, err := b.Transport.Recv(ctx)
				return names[0], frame, err
			}
		}},
		"loses the empty frame": {"arrives as it was sent", func(_ []string, b *bent) {
			b.send = func(ctx context.Context, to string, frame []byte) error {
				if len(frame) == 0 {
					return nil
				}
				return b.Transport.Send(ctx, to, frame)
			}
		}},
		"cuts what is too long": {"no longer ones", func(_ []string, b *bent) {
			b.send = func(ctx context.Context, to string, frame []byte) error {
				return b.Transport.Send(ctx, to, frame[:min(len(frame), b.MaxFrame())])
			}
		}},
		"takes frames for strangers": {"not a neighbor", func(names []string, b *bent) {
			b.send = func(ctx context.Context, to string, frame []byte) error {
				if to == "nobody" {
					return nil
				}
				return b.Transport.Send(ctx, to, frame)
			}
		}},
		"deaf to the context": {"when their context ends", func(_ []string, b *bent) {
			b.recv = func(ctx context.Context) (string, []byte, error) { return b.Transport.Recv(context.WithoutCancel(ctx)) }
		}},
		"one buffer for all long frames": {"belongs to the caller", func(_ []string, b *bent) {
			buffer := make([]byte, 1<<17)
			b.recv = func(ctx context.Context) (string, []byte, error) {
				from, frame, err := b.Transport.Recv(ctx)
				if len(frame) >= 1000 {
					frame = buffer[:copy(buffer, frame)]
				}
				return from, frame, err
			}
		}},
		"one queue for all neighbors": {"never delays a Send to another", func(_ []string, b *bent) {
			turn := make(chan struct{}, 1)
			b.send = func(ctx context.Context, to string, frame []byte) error {
				select {
				case turn <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				}
				defer func() { <-turn }()
				return b.Transport.Send(ctx, to, frame)
			}
		}},
		"ends with its peers": {"when a peer ends", func(_ []string, b *bent) {
			gone.Store(false)
			b.close = func() error { gone.Store(true); return b.Transport.Close() }
			b.recv = func(ctx context.Context) (string, []byte, error) {
				if gone.Load() {
					return "", nil, transport.ErrClosed
				}
				return b.Transport.Recv(ctx)
			}
		}},
		"one Recv at a time": {"several goroutines at once", func(_ []string, b *bent) {
			var mu sync.Mutex
			b.recv = func(ctx context.Context) (string, []byte, error) {
				if !mu.TryLock() {
					return "", nil, errors.New("somebody is receiving already")
				}
				defer mu.Unlock()
				return b.Transport.Recv(ctx)
			}
		}},
		"still open after Close": {"after Close", func(_ []string, b *bent) {
			b.send = func(ctx context.Context, to string, frame []byte) error {
				err := b.Transport.Send(ctx, to, frame)
				if errors.Is(err, transport.ErrClosed) {
					return errors.New("broken pipe")
				}
				return err
			}
		}},
		"complains of a second Close": {"a further Close returns nil", func(_ []string, b *bent) {
			var n atomic.Int64
			b.close = func() error {
				if n.Add(1) > 1 {
					return errors.New("closed twice")
				}
				return b.Transport.Close()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := tinytest.TestTransport(inMemory(1<<16, func(_ int, names []string, tr transport.Transport) transport.Transport {
					b := &bent{tr, tr.Send, tr.Recv, tr.Close}
					c.wrap(names, b)
					return b
				}))
				if c.rule == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.rule) {
					t.Errorf("error %v, want one with %q", err, c.rule)
				}
			})
		})
	}
}

// TestLinked checks that a delayed frame arrives after its delay if the transport is still open, that in a chain copies
// multiply and delays add up, and that Linked preserves the optional methods of a transport.
func TestLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func(p tinytest.Packet) (all []tinytest.Packet) {
			for _, by := range [][]time.Duration{{2}, {0, 1}, nil, {-1}, {8}}[p.Seq] {
				p.Delay = by * time.Second
				all = append(all, p)
			}
			return all
		}
		trs, err := inMemory(0, nil)([]string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		second := func(p tinytest.Packet) []tinytest.Packet {
			if p.Delay > 0 {
				p.Delay += time.Second
			}
			return []tinytest.Packet{p}
		}
		a := tinytest.Linked(opening{trs[0]}, tinytest.Chain(late, second), "a", "a", "b")
		if _, ok := a.(transport.Notifier); !ok {
			t.Error("the wrapper hides that the transport is a Notifier")
		}
		for _, text := range []string{"late", "twice", "lost", "early", "too late"} {
			if err := a.Send(t.Context(), "b", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{"twice", "early", "twice", "late"} {
			if _, got, err := trs[1].Recv(t.Context()); string(got) != want || err != nil {
				t.Errorf("received %q, %v, want %q", got, err, want)
			}
		}
		if err := errors.Join(a.Close(), a.Close()); err != nil {
			t.Error(err)
		}
		if err := a.Send(t.Context(), "b", nil); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Send after Close: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, got, err := trs[1].Recv(ctx); err == nil {
			t.Errorf("received %q from a closed transport", got)
		}
	})
}

// opening is a transport that also implements transport.Notifier.
type opening struct{ transport.Transport }

func (opening) Opened() <-chan string { return nil }
