package brokertest

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Message is a message at the broker. From and To are the tags of its sender and its receiver: hashes that the broker
// sees in place of names.
type Message struct {
	From, To, Place string
	Data            []byte
}

// Hostile is a broker for one run. It confirms every message that a member publishes, but the test decides which
// messages each member receives.
type Hostile interface {
	End(s Setup) (End, error)    // an Opener
	Set(do func(m Message))      // sets the handler of each message, called under a lock; nil for none
	Give(m Message)              // delivers a message from From to the member To
	All(see func(all []Message)) // calls see, under the lock, with all messages ever published
}

// RunOverHostile runs a fleet over the broker h and checks that the models equal those of a fault-free run bit for bit.
// The broker drops, delays, repeats, alters and misdirects messages, and for a while delivers nothing. It also inserts
// messages from an earlier run of the same members over an honest broker. h must serve the run "run", and honest must
// serve the run "earlier run".
func RunOverHostile(t *testing.T, h, honest Hostile) {
	n, earlier := Ring("run", 8, true, 4), Ring("earlier run", 8, true, 3)
	honest.Set(honest.Give)
	start := func(n *Network, h Hostile, log *Buffer) []transport.Transport {
		return n.Open(t, func(s Setup) (End, error) {
			s.Logger = slog.New(slog.NewTextHandler(log, nil))
			return h.End(s)
		})
	}
	var quietLog, log Buffer
	if _, _, err := earlier.Run(Long(t), start(earlier, honest, &quietLog), nil); err != nil {
		t.Fatal(err)
	}
	if text := quietLog.String(); strings.Contains(text, "refused") {
		t.Errorf("the log reports refused messages although the broker is honest:\n%s", text)
	}
	var old, past []Message
	honest.All(func(all []Message) { old = slices.Clone(all) })
	want, _ := n.Quiet(t)

	chance := rng.New(3, rng.Address{Purpose: rng.Fault})
	var held []Message
	counts := map[string]int{}
	h.Set(func(m Message) {
		counts["all"]++
		past = append(past, m)
		any := func() Message { return past[chance.IntN(len(past))] }
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
			h.Give(any())
		case 3:
			counts["altered"]++
			bad := m
			bad.Data = slices.Clone(m.Data)
			bad.Data[chance.IntN(len(bad.Data))] ^= 1 << chance.IntN(8)
			h.Give(bad)
			return
		case 4:
			counts["moved"]++
			moved := any()
			moved.Data = m.Data
			h.Give(moved)
			return
		case 5:
			counts["of another run"]++
			h.Give(Message{m.From, m.To, m.Place, old[chance.IntN(len(old))].Data})
		}
		if counts["all"] > 60 && counts["all"] < 100 {
			counts["withheld"]++
			return
		}
		h.Give(m)
		if len(held) > 8 {
			i := chance.IntN(len(held))
			h.Give(held[i])
			held = slices.Delete(held, i, i+1)
		}
	})
	begin := time.Now()
	got, _, err := n.Run(Long(t), start(n, h, &log), nil)
	h.Set(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Error("the releases differ from those of the run in memory")
	}
	for _, what := range []string{"dropped", "delayed", "repeated", "altered", "moved", "of another run", "withheld"} {
		if counts[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
	for _, reason := range []error{sealed.ErrSignature, sealed.ErrCrossed, sealed.ErrRun} {
		if !strings.Contains(log.String(), reason.Error()) {
			t.Errorf("no message was refused for this reason: %v", reason)
		}
	}
	t.Log(counts, time.Since(begin))
}
