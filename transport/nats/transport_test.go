package nats

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
)

// soon is how long to wait for something that has to happen.
const soon = time.Minute

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}

// long is a context for a whole run, on a machine however slow.
func long(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// send has to succeed.
func send(t testing.TB, tr *Transport, to string, frame []byte) {
	t.Helper()
	if err := tr.Send(within(t), to, frame); err != nil {
		t.Fatal(err)
	}
}

// receive waits for a frame that has to come next.
func receive(t testing.TB, tr *Transport, from string, frame []byte) {
	t.Helper()
	name, got, err := tr.Recv(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if name != from || !bytes.Equal(got, frame) {
		t.Fatalf("%d bytes from %q, %.40q, want %d from %q, %.40q", len(got), name, got, len(frame), from, frame)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, good func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !good(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// The contract of the interface, with frames of several pieces.
func TestConformance(t *testing.T) {
	b := newBroker(t)
	runs := 0
	err := tinytest.TestTransport(func(members []string) ([]transport.Transport, error) {
		runs++
		var all []transport.Transport
		for _, name := range members {
			cfg := b.config(fmt.Sprint("run ", runs), name, members...)
			cfg.MaxFrame = 3*maxPiece + 5
			tr, err := New(cfg)
			if err != nil {
				return all, err
			}
			all = append(all, tr)
		}
		return all, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// All faults of a configuration are told at once, and no password with them.
func TestConfigFaults(t *testing.T) {
	_, err := New(Config{
		Key: make(ed25519.PrivateKey, 3), URLs: []string{"tls://broker:4222", "http://joe:hidden@x", "nats://",
			"tls://x/path", "nats://joe:hid%zzden@x"}, MaxFrame: -1, MaxAge: -1, MaxBytes: -1,
		Peers: []Peer{{Name: "a"}, {Name: "a", Keys: []ed25519.PublicKey{make([]byte, 32), public("b"), public("c")}},
			{Keys: []ed25519.PublicKey{public("b")}}},
	})
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{
		"Name is empty", "Run is empty", "Key has 3 bytes", "URLs[1]", "URLs[2]", "URLs[3]", "URLs[4]",
		"MaxFrame is -1", "MaxAge is -1", "MaxBytes is -1",
		`peer "a" has 0 keys`, `peer "a" is listed twice`, `"a" has 3 keys`, "small order", "peer 2 has no name",
		`also a key of "a"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %q in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "URLs[0]") || strings.Contains(err.Error(), "hid") {
		t.Error("too much is said in\n", err)
	}
}

// Members that are never there at the same time: a frame waits at the broker, over a restart of its server too. One who
// has died before he could keep what a frame told him finds it again.
func TestStoreAndForward(t *testing.T) {
	b := newBroker(t)
	early := open(t, b.config("run", "a", "b"))
	frames := [][]byte{[]byte("one"), bytes.Repeat([]byte("two"), maxPiece), []byte("three")}
	for _, f := range frames {
		send(t, early, "b", f)
	}
	_ = early.Close()
	b.stop()
	b.start()
	for range 2 {
		late := open(t, b.config("run", "b", "a"))
		for _, f := range frames {
			receive(t, late, "a", f)
		}
		if err := late.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A frame that is repeated while the peer sleeps takes no other one's place, and is not sent each time.
func TestRepeats(t *testing.T) {
	b := newBroker(t)
	a := open(t, b.config("run", "a", "b"))
	send(t, a, "b", []byte("before"))
	send(t, a, "b", []byte("last"))
	sent := a.Peers()[0].Sent
	begin := time.Now()
	for range 1000 {
		send(t, a, "b", []byte("last"))
	}
	took := time.Since(begin)
	// Gaps double from repeatMin up to repeatMax.
	if n, most := (a.Peers()[0].Sent-sent)/sent, 2+int64(took/quick.repeatMin); n > most {
		t.Errorf("%d times in %v, want at most %d", n, took, most)
	}
	for range 20 { // however often, it lies in its own place
		a.resendAll()
		send(t, a, "b", []byte("last"))
	}
	late := open(t, b.config("run", "b", "a"))
	receive(t, late, "a", []byte("before"))
	receive(t, late, "a", []byte("last"))
}

// The ring says where frames go: an equal one where it was, a new one where the oldest is.
func TestRing(t *testing.T) {
	r := ring{timing: &timing{repeatMin: 1, repeatMax: 4}}
	now := time.Now()
	frame := func(i byte) [32]byte { return [32]byte{i} }
	for i := range byte(window) {
		n, due := r.find(frame(i), now)
		if n != int(i) || !due {
			t.Fatalf("frame %d goes to place %d, due %v", i, n, due)
		}
		r.stored(n, frame(i), now)
	}
	for _, c := range []struct {
		frame byte
		after time.Duration
		place int
		due   bool
	}{{1, 0, 1, false}, {1, 1, 1, true}, {1, 1, 1, false}, {1, 2, 1, true}, {1, 3, 1, false}, {1, 4, 1, true},
		{1, 3, 1, false}, {1, 4, 1, true}, {0, 1, 0, true}, {9, 0, 2, true}, {2, 0, 3, true}} {
		n, due := r.find(frame(c.frame), now.Add(c.after))
		if n != c.place || due != c.due {
			t.Errorf("frame %d after %d: place %d, due %v, want %d and %v", c.frame, c.after, n, due, c.place, c.due)
		}
		if due {
			r.stored(n, frame(c.frame), now)
		}
	}
	r.heard()
	if _, due := r.find(frame(1), now.Add(1)); !due {
		t.Error("a peer that is awake is made to wait")
	}
	r.expire()
	if _, due := r.find(frame(2), now); !due {
		t.Error("what may be gone is not laid again")
	}
}

// The server goes, and comes back with what it had, or with nothing: the members find each other again, and are told
// when something has been lost.
func TestServerRestarts(t *testing.T) {
	b := newBroker(t)
	a, c := open(t, b.config("run", "a", "c")), open(t, b.config("run", "c", "a"))
	for i := range scale(t, "SPADE_RESTARTS", 4) {
		one, two := []byte(fmt.Sprint("before ", i)), []byte(fmt.Sprint("after ", i))
		send(t, a, "c", one)
		receive(t, c, "a", one)
		b.stop()
		eventually(t, "the loss is noticed", func() bool { return !a.Peers()[0].Connected && a.Peers()[0].Err != nil })
		sending := make(chan error, 1)
		go func() { sending <- a.Send(within(t), "c", two) }()
		lost := i%2 == 1
		if lost {
			b.options.StoreDir = t.TempDir()
			for _, tr := range []*Transport{a, c} {
				for len(tr.opened) > 0 {
					<-tr.opened
				}
			}
		}
		b.start()
		receive(t, c, "a", two)
		if err := <-sending; err != nil {
			t.Fatal(err)
		}
		if lost {
			select {
			case <-c.Opened():
			case <-time.After(soon):
				t.Error("nobody says that the broker has lost everything")
			}
			eventually(t, "the sender knows as well", func() bool { return len(a.opened) > 0 })
			send(t, a, "c", one) // it counts again
			receive(t, c, "a", one)
		}
	}
}

// cutter is a network that can be cut.
type cutter struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	dial  func(network, address string) (net.Conn, error) // net.Dial if it is nil
}

func (c *cutter) Dial(network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("cut off")
	}
	dial := c.dial
	if dial == nil {
		dial = net.Dial
	}
	conn, err := dial(network, address)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cutter) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	if cut {
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.conns = nil
	}
}

// A member that is cut off waits, and so does what is sent to it; contexts end.
func TestCutOff(t *testing.T) {
	b := newBroker(t)
	var net cutter
	cfg := b.config("run", "a", "c")
	cfg.Options = dialing(&net)
	a, c := open(t, cfg), open(t, b.config("run", "c", "a"))
	send(t, a, "c", []byte("one"))
	receive(t, c, "a", []byte("one"))
	net.set(true)
	eventually(t, "the cut is noticed", func() bool { return !a.Peers()[0].Connected })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := a.Send(ctx, "c", []byte("two")); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "broker") {
		t.Errorf("sending while cut off: %v", err)
	}
	send(t, c, "a", []byte("for later"))
	net.set(false)
	receive(t, a, "c", []byte("for later"))
	send(t, a, "c", []byte("three"))
	receive(t, c, "a", []byte("three"))
}

// Two ends whose fleets differ learn it, whoever was there first, and by whose word. One that comes back with the right
// one is welcome; an old word that still lies at the broker accuses nobody.
func TestOtherFleet(t *testing.T) {
	b := newBroker(t)
	config := func(name, peer, fleet string) Config {
		cfg := b.config("run", name, peer)
		copy(cfg.Fleet[:], fleet)
		cfg.Hello = func(string) []byte { return []byte(fleet) }
		cfg.CheckHello = func(_ string, hello []byte) error {
			if string(hello) != fleet {
				return fmt.Errorf("method differs: %q, want %q", hello, fleet)
			}
			return nil
		}
		return cfg
	}
	a := open(t, config("a", "c", "right"))
	eventually(t, "the hello is out", func() bool { return a.Peers()[0].Sent > 0 })
	c := open(t, config("c", "a", "wrong"))
	for _, tr := range []*Transport{a, c} {
		eventually(t, "the difference is noticed", func() bool { return tr.Peers()[0].Refused != nil })
		if err := tr.Peers()[0].Refused; !strings.Contains(err.Error(), "method differs") {
			t.Error(err)
		}
	}
	send(t, c, "a", []byte("a frame"))
	eventually(t, "the frame is refused", func() bool { return errors.Is(a.Peers()[0].Refused, errFleet) })
	_, _ = a.Close(), c.Close()

	a = open(t, config("a", "c", "right"))
	eventually(t, "what was said before is read", func() bool { return a.Peers()[0].Refusals > 0 })
	if st := a.Peers()[0]; st.Refused != nil || st.Err == nil {
		t.Errorf("an old word counts: %+v", st)
	}
	c = open(t, config("c", "a", "right"))
	send(t, c, "a", []byte("another frame"))
	receive(t, a, "c", []byte("another frame"))
	select {
	case name := <-a.Opened():
		if name != "c" {
			t.Error(name)
		}
	case <-time.After(soon):
		t.Error("nobody says that c is there")
	}
}

// A key is replaced: the new one is pinned beside the old, then used, then alone.
func TestRotation(t *testing.T) {
	b := newBroker(t)
	a, c := open(t, b.config("run", "a", "c")), open(t, b.config("run", "c", "a"))
	pin := func(names ...string) (keys []ed25519.PublicKey) {
		for _, n := range names {
			keys = append(keys, public(n))
		}
		return keys
	}
	if err := a.Update([]Peer{{Name: "c", Keys: pin("c", "new c")}}); err != nil {
		t.Fatal(err)
	}
	send(t, a, "c", []byte("one"))
	receive(t, c, "a", []byte("one"))
	_ = c.Close()
	send(t, a, "c", []byte("two")) // sealed for both
	cfg := b.config("run", "c", "a")
	cfg.Key = member("new c")
	c = open(t, cfg)
	receive(t, c, "a", []byte("one"))
	receive(t, c, "a", []byte("two"))
	if err := a.Update([]Peer{{Name: "c", Keys: pin("new c")}}); err != nil {
		t.Fatal(err)
	}
	send(t, c, "a", []byte("three"))
	receive(t, a, "c", []byte("three"))
	_ = c.Close()
	c = open(t, b.config("run", "c", "a")) // with the old key
	send(t, c, "a", []byte("four"))
	eventually(t, "the old key is refused", func() bool { return errors.Is(a.Peers()[0].Err, errSignature) })
}

// Who the peers are cannot change.
func TestUpdateFaults(t *testing.T) {
	b := newBroker(t)
	a := open(t, b.config("run", "a", "c"))
	err := a.Update([]Peer{{Name: "d", Keys: []ed25519.PublicKey{public("d")}}})
	if err == nil || !strings.Contains(err.Error(), `"d" is no peer`) ||
		!strings.Contains(err.Error(), `"c" is missing`) {
		t.Error(err)
	}
}

// A stream that an operator has made with too little room is refused by name.
func TestNarrowStream(t *testing.T) {
	b := newBroker(t)
	nc, err := client.Connect(b.url())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.config("run", "a", "c")
	cfg.MaxFrame = 2 * maxPiece
	tag := hexTag(tag(16, "run"))
	if _, err := js.CreateStream(within(t), jetstream.StreamConfig{Name: "SPADE-" + tag,
		Subjects: []string{"spade." + tag + ".>"}, MaxMsgsPerSubject: 1}); err != nil {
		t.Fatal(err)
	}
	a := open(t, cfg)
	eventually(t, "the fault is told", func() bool {
		err := a.Peers()[0].Err
		return err != nil && strings.Contains(err.Error(), "keeps 1 messages of a subject, want at least 2")
	})
}
