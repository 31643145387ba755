package sealed_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// toy is an in-process broker for one run. It confirms each published message and passes the message to the function in
// its field "do".
type toy struct {
	run string

	mu     sync.Mutex
	do     func(m brokertest.Message)
	refuse func(m sealed.Message) error       // if not nil: why a message is not stored
	all    []brokertest.Message               // all messages ever published
	mail   map[string]chan brokertest.Message // by the receiver's tag
}

func newToy(run string) *toy { return &toy{run: run, mail: map[string]chan brokertest.Message{}} }

func (b *toy) tag(member string) string { _, tag := sealed.Tags(b.run, member); return tag }

// to returns the mailbox of the member with the given tag, even if no transport is open for that member.
func (b *toy) to(tag string) chan brokertest.Message {
	if b.mail[tag] == nil {
		b.mail[tag] = make(chan brokertest.Message, 10_000)
	}
	return b.mail[tag]
}

func (b *toy) give(m brokertest.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver(m)
}

func (b *toy) deliver(m brokertest.Message) { b.to(m.To) <- m }

func (b *toy) set(do func(m brokertest.Message)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.do = do
}

// frames returns the published messages from the given index on, excluding hellos, and the number of all messages
// published so far, including hellos.
func (b *toy) frames(from int) ([]brokertest.Message, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	hello := func(m brokertest.Message) bool { return m.Data[1] == 1 }
	return slices.DeleteFunc(slices.Clone(b.all[from:]), hello), len(b.all)
}

func (b *toy) Ready(context.Context) (int, error) { return sealed.MaxPiece, nil }

func (b *toy) Pause(ctx context.Context, _ int, _ time.Duration) {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
	}
}

func (b *toy) State() sealed.State { return sealed.State{Up: true} }

func (b *toy) Publish(_ context.Context, m sealed.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		if err := b.refuse(m); err != nil {
			return err
		}
	}
	got := brokertest.Message{From: m.From, To: m.To, Place: m.Place, Data: slices.Clone(m.Data)}
	b.all = append(b.all, got)
	if b.do != nil {
		b.do(got)
	}
	return nil
}

// End opens a member's transport over the broker. The method is a [brokertest.Opener].
func (b *toy) End(s brokertest.Setup) (brokertest.End, error) {
	e := sealed.NewEnd(sealed.Config{Prefix: "toy", Name: s.Name, Key: s.Secret(), Peers: s.Neighbors(), Run: s.Run,
		Fleet: s.Fleet, Hello: s.Hello, CheckHello: s.CheckHello, MaxFrame: s.MaxFrame, Logger: s.Logger,
		RepeatMin: 100 * time.Millisecond, RepeatMax: time.Second}, b)
	b.mu.Lock()
	mail := b.to(b.tag(s.Name))
	b.mu.Unlock()
	e.Start(func() {
		for {
			select {
			case m := <-mail:
				e.Take(m.From, slices.Clone(m.Data), true)
			case <-e.Context().Done():
				return
			}
		}
	}, func() {})
	return e, nil
}

const (
	offRun     = 2
	offSender  = 18
	offFleet   = 34
	offProcess = 66
	offNumber  = 74
)

// TestHostileBroker checks that a receiver refuses each message that the broker altered, misdirected or took from
// another run, and reports the reason. If messages are late, reordered or repeated, each frame must be received exactly
// once. Once the broker is honest again, new frames must arrive.
func TestHostileBroker(t *testing.T) {
	h, other := newToy("run"), newToy("other run")
	other.set(other.deliver)
	var log brokertest.Buffer
	open3 := func(h *toy, run string) (all [3]brokertest.End) {
		names := []string{"a", "c", "d"}
		for i, name := range names {
			s := brokertest.Setup{Run: run, Name: name, Peers: names, MaxFrame: 3 * sealed.MaxPiece}
			if name == "c" && run == "run" {
				s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}
			all[i] = brokertest.Opener(h.End).Open(t, s)
		}
		return all
	}
	// These are the same members with the same keys, but in another run.
	others := open3(other, "other run")
	brokertest.Pass(t, others[0], "a", others[1], "c", []byte("of another run"))
	foreign, _ := other.frames(0)

	three := open3(h, "run")
	a, c, d := three[0], three[1], three[2]
	ta, tc, td := h.tag("a"), h.tag("c"), h.tag("d")
	withheld := func(tr brokertest.End, from, to string, frame []byte) []brokertest.Message {
		t.Helper()
		_, before := h.frames(0)
		brokertest.Send(t, tr, to, frame)
		var got []brokertest.Message
		pieces := (len(frame) + sealed.MaxPiece - 1) / sealed.MaxPiece
		brokertest.Eventually(t, "the broker has it", func() bool {
			got, _ = h.frames(before)
			got = slices.DeleteFunc(got, func(m brokertest.Message) bool { return m.From != from || m.To != h.tag(to) })
			return len(got) == pieces
		})
		return got
	}
	one := withheld(a, ta, "c", []byte("one"))[0]
	two := withheld(a, ta, "c", []byte("two"))[0]
	long := withheld(a, ta, "c", bytes.Repeat([]byte("long"), sealed.MaxPiece/2))
	longer := withheld(a, ta, "c", bytes.Repeat([]byte("again"), 2*sealed.MaxPiece/5))
	back := withheld(c, tc, "a", []byte("back"))[0]
	toD := withheld(a, ta, "d", []byte("for d"))[0]
	ac := func(b []byte) brokertest.Message {
		return brokertest.Message{From: ta, To: tc, Place: one.Place, Data: b}
	}
	dc := func(b []byte) brokertest.Message {
		return brokertest.Message{From: td, To: tc, Place: one.Place, Data: b}
	}
	changed := func(m brokertest.Message, at int, to ...byte) []byte {
		b := slices.Clone(m.Data)
		copy(b[at:], to)
		return b
	}
	tagOfD := slices.Clone(toD.Data[offSender+8 : offFleet])
	last := len(one.Data) - 1
	for _, wrong := range []struct {
		name string
		m    brokertest.Message
		want error
		who  string
	}{
		{"nothing at all", ac(nil), sealed.ErrForm, "a"},
		{"noise", ac([]byte("noise")), sealed.ErrForm, "a"},
		{"cut short", ac(one.Data[:last]), sealed.ErrForm, "a"},
		{"a flipped bit in the piece", ac(changed(one, last-70, one.Data[last-70]^1)), sealed.ErrSignature, "a"},
		{"a flipped bit in the signature", ac(changed(one, last, one.Data[last]^1)), sealed.ErrSignature, "a"},
		{"a number that would be new", ac(changed(one, offNumber+7, 200)), sealed.ErrSignature, "a"},
		{"a process that would be new", ac(changed(one, offProcess, 1, 2, 3)), sealed.ErrSignature, "a"},
		{"another fleet", ac(changed(one, offFleet, 1, 2, 3)), sealed.ErrSignature, "a"},
		{"on another's subject", dc(one.Data), sealed.ErrCrossed, "d"},
		{"meant for another", ac(toD.Data), sealed.ErrCrossed, "a"},
		{"sent back", ac(back.Data), sealed.ErrCrossed, "a"},
		{"of another run", ac(foreign[0].Data), sealed.ErrRun, "a"},
		{"of another run, passed off as this one's", ac(changed(foreign[0], offRun, one.Data[offRun:offFleet]...)),
			sealed.ErrSignature, "a"},
		{"of another, passed off as this one's", dc(changed(one, offSender, tagOfD...)), sealed.ErrSignature, "d"},
		{"pieces of two frames", ac(changed(long[0], offNumber, longer[0].Data[offNumber:offNumber+8]...)),
			sealed.ErrSignature, "a"},
	} {
		var before transport.PeerStatus
		for _, p := range c.Peers() {
			if p.Name == wrong.who {
				before = p
			}
		}
		h.give(wrong.m)
		brokertest.Eventually(t, wrong.name+" is refused", func() bool {
			for _, p := range c.Peers() {
				if p.Name == wrong.who && p.Refusals == before.Refusals+1 {
					if text := p.Err.Error(); !strings.Contains(text, wrong.want.Error()) ||
						!strings.Contains(text, fmt.Sprintf("%q", wrong.who)) {
						t.Errorf("%s: %v, want %v", wrong.name, p.Err, wrong.want)
					}
					return true
				}
			}
			return false
		})
		brokertest.Eventually(t, wrong.name+" is in the log", func() bool { return strings.Contains(log.String(), wrong.want.Error()) })
	}
	if c.Peers()[0].Refused != nil {
		t.Error("a broker has made one member believe that the other means another fleet")
	}
	brokertest.Nothing(t, c)
	// These messages are late, reordered and repeated, and the pieces of two frames are interleaved. Each frame must be
	// received exactly once.
	for _, m := range []brokertest.Message{two, long[1], two, longer[1], one, longer[0], two, one, long[0], long[0], long[1]} {
		h.give(m)
	}
	brokertest.Receive(t, c, "a", []byte("two"))
	brokertest.Receive(t, c, "a", []byte("one"))
	brokertest.Receive(t, c, "a", bytes.Repeat([]byte("again"), 2*sealed.MaxPiece/5))
	brokertest.Receive(t, c, "a", bytes.Repeat([]byte("long"), sealed.MaxPiece/2))
	h.set(h.deliver)
	brokertest.Send(t, a, "c", []byte("at last"))
	brokertest.Receive(t, c, "a", []byte("at last"))
	brokertest.Nothing(t, c)
	_ = d
}

// TestRotation changes a key in three steps: the new key is pinned in addition to the old key, then used, and finally
// pinned alone.
func TestRotation(t *testing.T) {
	b := newToy("run")
	b.set(b.deliver)
	open := brokertest.Opener(b.End)
	a, c := open.Pair(t, "run", "a", "c")
	pin := func(names ...string) (keys []ed25519.PublicKey) {
		for _, n := range names {
			keys = append(keys, brokertest.Public(n))
		}
		return keys
	}
	if err := a.Update([]transport.Peer{{Name: "c", Keys: pin("c", "new c")}}); err != nil {
		t.Fatal(err)
	}
	brokertest.Pass(t, a, "a", c, "c", []byte("one"))
	_ = c.Close()
	again, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { // sealed for both keys; the broker may deliver it to the end that just closed
		for again.Err() == nil {
			_ = a.Send(again, "c", []byte("two"))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	c = open.Open(t, brokertest.Setup{Run: "run", Name: "c", Peers: []string{"a"}, Key: "new c"})
	for {
		_, frame, err := c.Recv(brokertest.Within(t))
		if err != nil {
			t.Fatal(err)
		}
		if string(frame) == "two" { // the broker may also have kept the first frame
			break
		}
	}
	stop()
	if err := a.Update([]transport.Peer{{Name: "c", Keys: pin("new c")}}); err != nil {
		t.Fatal(err)
	}
	brokertest.Send(t, c, "a", []byte("three"))
	brokertest.Receive(t, a, "c", []byte("three"))
	_ = c.Close()
	c = open.Open(t, brokertest.Setup{Run: "run", Name: "c", Peers: []string{"a"}}) // with the old key
	brokertest.Send(t, c, "a", []byte("four"))
	brokertest.Eventually(t, "the old key is refused", func() bool { return errors.Is(a.Peers()[0].Err, sealed.ErrSignature) })

	err := a.Update([]transport.Peer{{Name: "d", Keys: pin("d")}})
	if err == nil || !strings.Contains(err.Error(), `the peers are ["d"], want ["c"]`) {
		t.Errorf("other peers: %v", err)
	}
}
