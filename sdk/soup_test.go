package sdk_test

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// path returns a fleet of "victim" in the middle of a path, "honest", and "villain": either private, with releases on a grid, or not private, with edge messages.
func path(private bool) *sdk.Fleet {
	f := ring()
	if private {
		f = privateRing()
	}
	f.Members = []string{"honest", "victim", "villain"}
	f.Edges = [][2]string{{"honest", "victim"}, {"victim", "villain"}}
	return f
}

// soup is the link of "villain", a member with a valid key that behaves well and also sends junk frames after its own. A
// junk frame is rarely valid, and never the frame that the villain would send next.
type soup struct {
	mu         sync.Mutex
	chance     rng.Stream
	codec      *wire.Codec
	last       int
	junk, sent int      // frames to be sent, and sent
	bad        int64    // how many of them are not valid frames
	kept       [][]byte // the frames of all releases that the villain has sent
	heap, sys  uint64   // memory before the first junk
	f          admm.Message
}

func (s *soup) link(p tinytest.Packet) []tinytest.Packet {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m admm.Message
	all := []tinytest.Packet{p}
	if wire.IsHeartbeat(p.Frame) || s.codec.Decode(p.Frame, &m) != nil {
		return all
	}
	if m.Kind == admm.Release && m.Round > len(s.kept) {
		s.kept = append(s.kept, slices.Clone(p.Frame))
	}
	if len(s.kept) == 0 {
		return all
	}
	if s.sent == 0 { // all nodes run
		s.heap, s.sys = memory()
	}
	for range min(s.junk-s.sent, s.junk/9+1) { // by round 9 everything has been sent
		p.Frame = s.next(s.kept)
		all = append(all, p)
		s.sent++
	}
	return all
}

// next returns a junk frame, usually an altered copy of one of the kept frames.
func (s *soup) next(kept [][]byte) []byte {
	n := func(n int) int { return s.chance.IntN(n) }
	for {
		b := make([]byte, n(100))
		s.chance.Read(b)
		if len(kept) > 0 && n(4) > 0 {
			b = slices.Clone(kept[n(len(kept))])
			if n(8) == 0 { // claims, true and false, about the sender's position
				b, _ = s.codec.Append(nil,
					&admm.Message{Kind: []admm.Kind{admm.ProbeReply, admm.Probe}[n(2)], Round: n(s.last + 3), Held: n(s.last + 3),
						Incarnation: s.chance.Uint64() & signed.MaxIncarnation})
			}
			for range n(4) {
				switch at := n(len(b)); n(5) {
				case 0:
					b[at] ^= 1 << n(8)
				case 1:
					b[at] = byte(n(256))
				case 2:
					b = b[:at+1]
				case 3:
					b = slices.Insert(b, at, byte(n(256)))
				case 4:
					b = slices.Delete(b, at, min(len(b), at+1+n(4)))
				}
				if len(b) == 0 {
					break
				}
			}
		}
		if s.codec.Decode(b, &s.f) != nil {
			s.bad++
			return b
		}
		if s.f.Kind == admm.Done && s.f.Round == s.last || s.f.Kind != admm.Done && s.f.Kind != admm.Probe &&
			s.f.Kind != admm.ProbeReply && s.f.Round > len(kept) {
			continue // a valid frame, which harms only its sender
		}
		return b
	}
}

func memory() (heap, sys uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.Sys
}

// TestByteSoup sends a node 5,000 malformed frames, 50,000 with SPADE_LONG, or the number in SPADE_JUNK. The node must count
// them, store nothing, and be otherwise unaffected.
func TestByteSoup(t *testing.T) {
	junk := 5000
	if long {
		junk = 50_000
	}
	junk = wanted(t, "SPADE_JUNK", junk)
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // otherwise garbage alone may reach the limit of memory: see [TestMain]
	for name, private := range map[string]bool{"messages": false, "releases on a grid": true} {
		synctest.Test(t, func(t *testing.T) { // pauses take no real time here
			f := path(private)
			trs := inMemory(t, f)
			pot := &soup{codec: must(wire.NewCodec(f.Dim))(t), junk: junk, chance: rng.New(9, rng.Address{Purpose: rng.Fault}), last: f.Method.Last()}
			trs[2] = linked(f, trs, 2, pot.link)
			log := new(journal)
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				c.Linger = 5 * time.Second
				if i == 1 {
					c.Logger = slog.New(slog.NewTextHandler(log, nil))
				}
			})
			mustRun(t, all)
			heapAfter, sysAfter := memory()
			st := all[1].Status()
			if pot.sent != junk || st.Refused < pot.bad || pot.bad < int64(junk)/2 {
				t.Errorf("%s: %d frames of junk sent, want %d; %d are no frames, and %d were refused", name, pot.sent, junk, pot.bad, st.Refused)
			}
			if heapAfter > pot.heap+uint64(min(50*junk, 1<<20)) || sysAfter > pot.sys+32<<20 { // 50 bytes are less than a frame
				t.Errorf("%s: memory has grown by %d and %d bytes", name, int64(heapAfter-pot.heap), int64(sysAfter-pot.sys))
			}
			if n := strings.Count(log.String(), "\n"); n > 200 {
				t.Errorf("%s: %d lines in the log", name, n)
			}
			sameModels(t, all, simulated(t, f))
		})
	}
}
