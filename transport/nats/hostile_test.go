package nats

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// hostile is a broker that does as it likes: what members publish goes into a stream of its own, which confirms it, and
// what it wants members to read it puts into the stream that they read.
type hostile struct {
	*broker
	tag string
	js  jetstream.JetStream

	mu  sync.Mutex
	all []message // that were ever published
	do  func(m message)
}

type message struct {
	subject string // of a member's edge
	data    []byte
}

// newHostile prepares a server for a run. Until do is set nothing is passed on.
func newHostile(t *testing.T, run string) *hostile {
	t.Helper()
	h := &hostile{broker: newBroker(t), tag: hexTag(tag(16, run))}
	h.serve(t)
	return h
}

func (h *hostile) serve(t *testing.T) {
	t.Helper()
	nc, err := client.Connect(h.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if h.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	taken, err := h.js.CreateStream(within(t), jetstream.StreamConfig{Name: "TAKEN-" + h.tag,
		Subjects: []string{"spade." + h.tag + ".>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.js.CreateStream(within(t), jetstream.StreamConfig{
		Name: "SPADE-" + h.tag, Subjects: []string{"given." + h.tag + ".>"}, MaxMsgsPerSubject: 100,
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: "given." + h.tag + ".>", Destination: "spade." +
			h.tag + ".>"},
	}); err != nil {
		t.Fatal(err)
	}
	consumer, err := taken.CreateConsumer(within(t), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		h.mu.Lock()
		defer h.mu.Unlock()
		got := message{m.Subject(), slices.Clone(m.Data())}
		h.all = append(h.all, got)
		if h.do != nil {
			h.do(got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reading.Stop)
}

// give lets members read something.
func (h *hostile) give(m message) {
	if _, err := h.js.Publish(context.Background(), "given."+strings.TrimPrefix(m.subject, "spade."),
		m.data); err != nil && h.server.Running() {
		h.t.Error(err)
	}
}

// set changes what is done.
func (h *hostile) set(do func(m message)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do = do
}

// frames returns messages without the hellos.
func frames(all []message) []message {
	return slices.DeleteFunc(slices.Clone(all), func(m message) bool { return strings.HasSuffix(m.subject, ".hello") })
}

// Whatever a broker does to a message, the receiver says what it is, and takes nothing but what was sent; and all is
// well when the broker is.
func TestHostileBroker(t *testing.T) {
	h := newHostile(t, "run")
	other := newHostile(t, "other run")
	other.set(other.give)
	var log buffer
	open3 := func(h *hostile, run string) (a, c, d *Transport) {
		names := []string{"a", "c", "d"}
		var all []*Transport
		for _, name := range names {
			cfg := h.config(run, name, names...)
			cfg.MaxFrame = 3 * maxPiece
			if name == "c" && h.tag == hexTag(tag(16, "run")) {
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}
			all = append(all, open(t, cfg))
		}
		return all[0], all[1], all[2]
	}
	// The same members with the same keys in another run.
	oa, oc, _ := open3(other, "other run")
	send(t, oa, "c", []byte("of another run"))
	receive(t, oc, "a", []byte("of another run"))
	other.mu.Lock()
	foreign := frames(other.all)
	other.mu.Unlock()

	a, c, d := open3(h, "run")
	ac, dc := subject(&a.peers["c"].out, "0"), subject(&d.peers["c"].out, "0")
	withheld := func(tr *Transport, to string, frame []byte) []message {
		t.Helper()
		h.mu.Lock()
		before := len(h.all)
		h.mu.Unlock()
		send(t, tr, to, frame)
		var got []message
		pieces := (len(frame) + maxPiece - 1) / maxPiece
		eventually(t, "the broker has it", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			got = slices.DeleteFunc(frames(h.all[before:]), func(m message) bool {
				return m.subject[:len(m.subject)-2] != subject(&tr.peers[to].out, "0")[:len(m.subject)-2]
			})
			return len(got) == pieces
		})
		return got
	}
	one := withheld(a, "c", []byte("one"))[0]
	two := withheld(a, "c", []byte("two"))[0]
	long := withheld(a, "c", bytes.Repeat([]byte("long"), maxPiece/2))
	longer := withheld(a, "c", bytes.Repeat([]byte("again"), 2*maxPiece/5))
	back := withheld(c, "a", []byte("back"))[0]
	toD := withheld(a, "d", []byte("for d"))[0]
	changed := func(m message, at int, to ...byte) []byte {
		b := slices.Clone(m.data)
		copy(b[at:], to)
		return b
	}
	last := len(one.data) - 1
	for _, c2 := range []struct {
		name string
		m    message
		want error
		who  string
	}{
		{"nothing at all", message{ac, nil}, errForm, "a"},
		{"noise", message{ac, []byte("noise")}, errForm, "a"},
		{"cut short", message{ac, one.data[:last]}, errForm, "a"},
		{"a flipped bit in the piece", message{ac, changed(one, last-70, one.data[last-70]^1)}, errSignature, "a"},
		{"a flipped bit in the signature", message{ac, changed(one, last, one.data[last]^1)}, errSignature, "a"},
		{"a number that would be new", message{ac, changed(one, 81, 200)}, errSignature, "a"},
		{"a process that would be new", message{ac, changed(one, 66, 1, 2, 3)}, errSignature, "a"},
		{"another fleet", message{ac, changed(one, 34, 1, 2, 3)}, errSignature, "a"},
		{"on another's subject", message{dc, one.data}, errCrossed, "d"},
		{"meant for another", message{ac, toD.data}, errCrossed, "a"},
		{"sent back", message{ac, back.data}, errCrossed, "a"},
		{"of another run", message{ac, foreign[0].data}, errRun, "a"},
		{"of another run, passed off as this one's", message{ac, changed(foreign[0], 2, one.data[2:34]...)},
			errSignature, "a"},
		{"of another, passed off as this one's", message{dc, changed(one, 18, tag(8, "run", "d")...)}, errSignature,
			"d"},
		{"pieces of two frames", message{ac, changed(long[0], 74, longer[0].data[74:82]...)}, errSignature, "a"},
	} {
		var before transport.PeerStatus
		for _, p := range c.Peers() {
			if p.Name == c2.who {
				before = p
			}
		}
		h.give(c2.m)
		eventually(t, c2.name+" is refused", func() bool {
			for _, p := range c.Peers() {
				if p.Name == c2.who && p.Refusals == before.Refusals+1 {
					if text := p.Err.Error(); !strings.Contains(text, c2.want.Error()) ||
						!strings.Contains(text, fmt.Sprintf("%q", c2.who)) {
						t.Errorf("%s: %v, want %v", c2.name, p.Err, c2.want)
					}
					return true
				}
			}
			return false
		})
		eventually(t, c2.name+" is in the log", func() bool { return strings.Contains(log.String(), c2.want.Error()) })
	}
	if c.Peers()[0].Refused != nil {
		t.Error("a broker has made one member believe that the other means another fleet")
	}
	if n := waiting(c); n > 0 {
		t.Fatal("something was taken")
	}
	// Late, in another order, more than once, the pieces of two frames among each other: what was sent comes, once.
	for _, m := range []message{two, long[1], two, longer[1], one, longer[0], two, one, long[0], long[0], long[1]} {
		h.give(m)
	}
	receive(t, c, "a", []byte("two"))
	receive(t, c, "a", []byte("one"))
	receive(t, c, "a", bytes.Repeat([]byte("again"), 2*maxPiece/5))
	receive(t, c, "a", bytes.Repeat([]byte("long"), maxPiece/2))
	h.set(h.give)
	send(t, a, "c", []byte("at last"))
	receive(t, c, "a", []byte("at last"))
	if n := waiting(c); n > 0 {
		t.Error("something came twice")
	}
}

// A whole run over a broker that drops, delays, repeats, alters and moves messages as it likes, slips in those of
// another run of the same members, and for a while passes on nothing: the models are those of the quiet run, to the
// bit.
func TestRunOverHostileBroker(t *testing.T) {
	n := ring8("run", true, 8)
	earlier := ring8("earlier run", true, 3)
	h, honest := newHostile(t, "run"), newHostile(t, "earlier run")
	honest.set(honest.give)
	start := func(h *hostile, members []string, log *buffer) (all []transport.Transport) {
		net := n
		if h == honest {
			net = earlier
		}
		for _, name := range members {
			cfg := h.memberConfig(net.Fleet, name)
			cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
			all = append(all, open(t, cfg))
		}
		return all
	}
	var quietLog, log buffer
	if _, _, err := earlier.Run(long(t), start(honest, earlier.Fleet.Members, &quietLog)); err != nil {
		t.Fatal(err)
	}
	if text := quietLog.String(); strings.Contains(text, "refused") {
		t.Errorf("the honest broker is accused:\n%s", text)
	}
	honest.mu.Lock()
	old := slices.Clone(honest.all)
	honest.mu.Unlock()
	want, _ := quiet(t, n)

	chance := rng.New(3, rng.Address{Purpose: rng.Fault})
	var held []message
	counts := map[string]int{}
	h.set(func(m message) {
		counts["all"]++
		any := func() message { return h.all[chance.IntN(len(h.all))] }
		switch chance.IntN(12) {
		case 0:
			counts["dropped"]++
			return
		case 1:
			counts["delayed"]++
			held = append(held, m)
			return
		case 2:
			counts["repeated"]++
			h.give(any())
		case 3:
			counts["altered"]++
			bad := message{m.subject, slices.Clone(m.data)}
			bad.data[chance.IntN(len(bad.data))] ^= 1 << chance.IntN(8)
			h.give(bad)
			return
		case 4:
			counts["moved"]++
			h.give(message{any().subject, m.data})
			return
		case 5:
			counts["of another run"]++
			h.give(message{m.subject, old[chance.IntN(len(old))].data})
		}
		if counts["all"] > 60 && counts["all"] < 100 {
			counts["withheld"]++
			return
		}
		h.give(m)
		if len(held) > 8 {
			i := chance.IntN(len(held))
			h.give(held[i])
			held = slices.Delete(held, i, i+1)
		}
	})
	got, _, err := n.Run(long(t), start(h, n.Fleet.Members, &log))
	h.set(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Error("other releases than in memory")
	}
	for _, what := range []string{"dropped", "delayed", "repeated", "altered", "moved", "of another run", "withheld"} {
		if counts[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
	for _, reason := range []error{errSignature, errCrossed, errRun} {
		if !strings.Contains(log.String(), reason.Error()) {
			t.Errorf("nothing was refused because %v", reason)
		}
	}
	t.Log(counts)
}

// buffer is a buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// waiting returns how many frames Recv has not taken yet.
func waiting(t *Transport) (n int) {
	t.inbox.Edit(func(queue []endpoint.Item) []endpoint.Item {
		n = len(queue)
		return queue
	})
	return n
}
