package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

func peer(e brokertest.End, name string) transport.PeerStatus {
	all := e.Peers()
	return all[slices.IndexFunc(all, func(p transport.PeerStatus) bool { return p.Name == name })]
}

// drain removes all names from the channel of opened connections.
func drain(e brokertest.End) {
	for len(e.Opened()) > 0 {
		<-e.Opened()
	}
}

// TestNotStored checks that a peer does not count as connected while the broker stores no message for it, that the
// reason is reported, and that the peer is named as opened as soon as the broker stores messages again. A frame that is
// too long is not repeated, and a shorter frame does not hide that.
func TestNotStored(t *testing.T) {
	b := newToy("run")
	a := brokertest.Opener(b.End).Open(t, brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c", "d"}})
	brokertest.Eventually(t, "the hellos are stored", func() bool { return peer(a, "c").Sent > 0 && peer(a, "d").Sent > 0 })
	refuse := func(do func(m sealed.Message) error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.refuse = do
	}
	refuse(func(m sealed.Message) error {
		if m.To == b.tag("c") {
			return errors.New("the disk is full")
		}
		return nil
	})
	sent := make(chan error, 1)
	go func() { sent <- a.Send(brokertest.Within(t), "c", []byte("one")) }()
	brokertest.Eventually(t, "c is not connected", func() bool { return !peer(a, "c").Connected })
	brokertest.Send(t, a, "d", []byte("one"))
	if p := peer(a, "c"); !strings.Contains(p.Err.Error(), "the disk is full") || p.Connected || !p.Broker || time.Since(p.Since) > time.Minute {
		t.Errorf("c: %+v", p)
	}
	if p := peer(a, "d"); !p.Connected {
		t.Errorf("d: %+v", p)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := a.Send(short, "c", []byte("two")); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("Send: %v, want the reason", err)
	}
	drain(a)
	refuse(nil)
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if name := <-a.Opened(); name != "c" || !peer(a, "c").Connected {
		t.Errorf("opened %q, %+v", name, peer(a, "c"))
	}

	long := bytes.Repeat([]byte("x"), 1000)
	refuse(func(m sealed.Message) error {
		if len(m.Data) > len(long) {
			return sealed.ErrTooLong
		}
		return nil
	})
	if err := a.Send(brokertest.Within(t), "c", long); !errors.Is(err, sealed.ErrTooLong) {
		t.Errorf("Send: %v, want %v", err, sealed.ErrTooLong)
	}
	brokertest.Send(t, a, "c", []byte("three"))
	if peer(a, "c").Connected {
		t.Error("a short frame hides that long ones do not pass")
	}
	drain(a)
	a.(*sealed.End).Retry()
	if name := <-a.Opened(); name != "c" || len(a.Opened()) > 0 {
		t.Errorf("after a new connection: opened %q and %d more, want c alone", name, len(a.Opened()))
	}
	refuse(nil)
	brokertest.Send(t, a, "c", long)
	if !peer(a, "c").Connected {
		t.Errorf("%+v", peer(a, "c"))
	}
}

// TestHeard checks that only new messages show that a peer is there: neither a message that the broker delivers again,
// nor one from before this node started.
func TestHeard(t *testing.T) {
	b := newToy("run")
	open := brokertest.Opener(b.End)
	a := open.Open(t, brokertest.Setup{Run: "run", Name: "a", Peers: []string{"c"}})
	c := open.Open(t, brokertest.Setup{Run: "run", Name: "c", Peers: []string{"a"}}).(*sealed.End)
	brokertest.Send(t, a, "c", []byte("one"))
	all, _ := b.frames(0)
	take := func(live bool) time.Time {
		c.Take(all[0].From, slices.Clone(all[0].Data), live)
		return peer(c, "a").Heard
	}
	if at := take(false); !at.IsZero() {
		t.Errorf("heard at %v by a message from before", at)
	}
	brokertest.Send(t, a, "c", []byte("two"))
	all, _ = b.frames(0)
	all = all[len(all)-1:]
	first := take(true)
	if again := take(true); first.IsZero() || !again.Equal(first) {
		t.Errorf("heard at %v, and by the same message again at %v", first, again)
	}
}
