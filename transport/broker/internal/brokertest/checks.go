package brokertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// Conformance checks that a transport keeps the promises of [transport.Transport] when frames are split into several
// pieces.
func Conformance(t *testing.T, open Opener) {
	runs := 0
	err := tinytest.TestTransport(func(members []string) ([]transport.Transport, error) {
		runs++
		var all []transport.Transport
		for _, name := range members {
			tr, err := open(Setup{Run: fmt.Sprint("run ", runs), Name: name, Peers: members, MaxFrame: 3*sealed.MaxPiece + 5})
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

// CutOff checks a member that is cut off from the broker: its Send waits until its context ends, and the broker keeps
// the frames that others send to the member.
func CutOff(t *testing.T, open Opener) {
	var way Way
	a := open.Open(t, Setup{Run: "run", Name: "a", Peers: []string{"c"}, Way: &way})
	c := open.Open(t, Setup{Run: "run", Name: "c", Peers: []string{"a"}})
	Pass(t, a, "a", c, "c", []byte("one"))
	way.Set(true)
	Eventually(t, "the cut is noticed", func() bool { return !a.Peers()[0].Connected })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := a.Send(ctx, "c", []byte("two")); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "broker") {
		t.Errorf("Send while cut off from the broker returned %v, want a deadline error that mentions the broker", err)
	}
	Send(t, c, "a", []byte("for later"))
	way.Set(false)
	Receive(t, a, "c", []byte("for later"))
	Send(t, a, "c", []byte("three"))
	Receive(t, c, "a", []byte("three"))
}

// Pass sends a frame repeatedly until the receiver gets it. The first attempts may be lost: a broker drops frames for a
// receiver that has not connected yet.
func Pass(t testing.TB, from End, sender string, to End, receiver string, frame []byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(Within(t))
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			_ = from.Send(ctx, receiver, frame)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	Receive(t, to, sender, frame)
}

// OtherFleet checks that two ends with different fleets both report the difference, whichever end starts first. After
// one end is reopened with the fleet of the other, the two ends must accept each other.
func OtherFleet(t *testing.T, open Opener) {
	member := func(name, peer, fleet string) End {
		s := Setup{Run: "run", Name: name, Peers: []string{peer}}
		copy(s.Fleet[:], fleet)
		s.Hello = func(string) []byte { return []byte(fleet) }
		s.CheckHello = func(_ string, hello []byte) error {
			if string(hello) != fleet {
				return fmt.Errorf("method differs: found %q, want %q", hello, fleet)
			}
			return nil
		}
		return open.Open(t, s)
	}
	a := member("a", "c", "right")
	Eventually(t, "the hello is out", func() bool { return a.Peers()[0].Sent > 0 })
	c := member("c", "a", "wrong")
	for _, tr := range []End{a, c} {
		Eventually(t, "the difference is noticed", func() bool { return tr.Peers()[0].Refused != nil })
		if err := tr.Peers()[0].Refused; !strings.Contains(err.Error(), "method differs") {
			t.Error(err)
		}
	}
	Send(t, c, "a", []byte("a frame"))
	Eventually(t, "the frame is refused", func() bool { return errors.Is(a.Peers()[0].Refused, sealed.ErrFleet) })
	_ = c.Close()
	c = member("c", "a", "right")
	for len(a.Opened()) > 0 {
		<-a.Opened()
	}
	Pass(t, c, "c", a, "a", []byte("another frame"))
	Eventually(t, "the refusal is withdrawn", func() bool { return a.Peers()[0].Refused == nil })
}
