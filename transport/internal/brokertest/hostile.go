package brokertest

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Message is one that a member has published, or that a member is to read. From and To are tags of members.
type Message struct {
	From, To, Place string
	Data            []byte
}

// hello reports whether the message is a hello.
func (m Message) hello() bool { return len(m.Data) > 1 && m.Data[1] == 1 }

// Hostile is a broker for one run that does as it likes: it confirms what members publish, and gives them to read what
// the test wants.
type Hostile interface {
	End(s Setup) (End, error)       // an Opener
	Set(do func(m Message))         // what is done with each message, under a lock; nil for nothing
	Give(m Message)                 // lets the member To read a message on the way from From
	All(see func(all []Message))    // shows, under the lock, all messages that were ever published
	Tag(member string) (tag string) // of a member in the run
}

// frames returns messages without the hellos.
func frames(all []Message) []Message { return slices.DeleteFunc(slices.Clone(all), Message.hello) }

// Offsets in an envelope.
const (
	offRun     = 2
	offSender  = 18
	offFleet   = 34
	offProcess = 66
	offNumber  = 74
)

// HostileBroker: whatever a broker does to a message, the receiver says what it is, and takes nothing but what was sent;
// and all is well when the broker is. The brokers are for the runs "run" and "other run".
func HostileBroker(t *testing.T, h, other Hostile) {
	other.Set(other.Give)
	var log Buffer
	open3 := func(h Hostile, run string) (all [3]End) {
		names := []string{"a", "c", "d"}
		for i, name := range names {
			s := Setup{Run: run, Name: name, Peers: names, MaxFrame: 3 * sealed.MaxPiece}
			if name == "c" && run == "run" {
				s.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}
			all[i] = Opener(h.End).Open(t, s)
		}
		return all
	}
	// The same members with the same keys in another run.
	others := open3(other, "other run")
	Pass(t, others[0], "a", others[1], "c", []byte("of another run"))
	var foreign []Message
	other.All(func(all []Message) { foreign = frames(all) })

	three := open3(h, "run")
	a, c, d := three[0], three[1], three[2]
	ta, tc, td := h.Tag("a"), h.Tag("c"), h.Tag("d")
	withheld := func(tr End, from, to string, frame []byte) []Message {
		t.Helper()
		before := 0
		h.All(func(all []Message) { before = len(all) })
		Send(t, tr, to, frame)
		var got []Message
		pieces := (len(frame) + sealed.MaxPiece - 1) / sealed.MaxPiece
		Eventually(t, "the broker has it", func() bool {
			h.All(func(all []Message) {
				got = slices.DeleteFunc(frames(all[before:]), func(m Message) bool { return m.From != from || m.To != h.Tag(to) })
			})
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
	ac := func(b []byte) Message { return Message{ta, tc, one.Place, b} }
	dc := func(b []byte) Message { return Message{td, tc, one.Place, b} }
	changed := func(m Message, at int, to ...byte) []byte {
		b := slices.Clone(m.Data)
		copy(b[at:], to)
		return b
	}
	tagOfD := slices.Clone(toD.Data[offSender+8 : offFleet])
	last := len(one.Data) - 1
	for _, wrong := range []struct {
		name string
		m    Message
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
		h.Give(wrong.m)
		Eventually(t, wrong.name+" is refused", func() bool {
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
		Eventually(t, wrong.name+" is in the log", func() bool { return strings.Contains(log.String(), wrong.want.Error()) })
	}
	if c.Peers()[0].Refused != nil {
		t.Error("a broker has made one member believe that the other means another fleet")
	}
	Nothing(t, c)
	// Late, in another order, more than once, the pieces of two frames among each other: what was sent comes, once.
	for _, m := range []Message{two, long[1], two, longer[1], one, longer[0], two, one, long[0], long[0], long[1]} {
		h.Give(m)
	}
	Receive(t, c, "a", []byte("two"))
	Receive(t, c, "a", []byte("one"))
	Receive(t, c, "a", bytes.Repeat([]byte("again"), 2*sealed.MaxPiece/5))
	Receive(t, c, "a", bytes.Repeat([]byte("long"), sealed.MaxPiece/2))
	h.Set(h.Give)
	Send(t, a, "c", []byte("at last"))
	Receive(t, c, "a", []byte("at last"))
	Nothing(t, c)
	_ = d
}

// RunOverHostile is a whole run over a broker that drops, delays, repeats, alters and moves messages as it likes, slips in
// those of another run of the same members, and for a while passes on nothing: the models are those of the quiet run, to
// the bit. The brokers are for the runs "run" and "earlier run".
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
		t.Errorf("the honest broker is accused:\n%s", text)
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
		t.Error("other releases than in memory")
	}
	for _, what := range []string{"dropped", "delayed", "repeated", "altered", "moved", "of another run", "withheld"} {
		if counts[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
	for _, reason := range []error{sealed.ErrSignature, sealed.ErrCrossed, sealed.ErrRun} {
		if !strings.Contains(log.String(), reason.Error()) {
			t.Errorf("nothing was refused because %v", reason)
		}
	}
	t.Log(counts, time.Since(begin))
}
