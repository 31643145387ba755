package tinytest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
)

// worldOf returns a world of n members on a ring.
func worldOf(n int, private bool) *tinytest.World {
	f := &sdk.Fleet{
		Run: "kit", Dim: 5,
		Method: sdk.Method{
			Rounds: 6, Cooldown: 2, Tau: 2, Batch: 3, Rho: 1, Gain: 0.4,
			Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.3}, Seed: 7,
		},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	if private {
		f.Privacy = sdk.Privacy{Clip: 0.3, Sigma: 0.05, Delta: 1e-5}
	}
	for i := range n {
		f.Members = append(f.Members, fmt.Sprintf("n%02d", i))
	}
	for i := range n {
		if n > 2 || i == 0 {
			f.Edges = append(f.Edges, [2]string{f.Members[i], f.Members[(i+1)%n]})
		}
	}
	return &tinytest.World{Fleet: f, Seed: 5}
}

// TestWorlds checks that nodes make the same releases as a simulation: in memory, over websockets, over a network with
// faults, and with processes that crash during or right after a save.
func TestWorlds(t *testing.T) {
	for _, private := range []bool{false, true} {
		want, err := worldOf(4, private).Simulate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same := func(t *testing.T, name string, change func(w *tinytest.World)) {
			w := worldOf(4, private)
			change(w)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			got, err := w.Run(ctx)
			if err != nil || got.Transcript != want.Transcript || !slices.EqualFunc(got.Models, want.Models, slices.Equal) {
				t.Errorf("private %v, %s: %v, transcript %s, want %s", private, name, err, got.Transcript, want.Transcript)
			}
		}
		for name, change := range map[string]func(w *tinytest.World){
			"in memory": func(*tinytest.World) {},
			"with faults": func(w *tinytest.World) {
				w.Link = tinytest.Chain(tinytest.Drop(1, 0.2), tinytest.Duplicate(1, 0.2), tinytest.Delay(1, 0.5, 30*time.Millisecond))
			},
			"with crashes": func(w *tinytest.World) {
				w.Disks = map[string]tinytest.OpenStore{
					"n00": tinytest.CrashAt(tinytest.CrashAt(tinytest.MemStore(), 1), 4),
					"n02": tinytest.CrashAt(tinytest.CrashAt(tinytest.MemStore(), 3), 8),
					"n03": tinytest.TornWrite(tinytest.CrashAt(tinytest.MemStore(), 5), 2),
				}
			},
		} {
			synctest.Test(t, func(t *testing.T) { same(t, name, change) })
		}
		same(t, "over websockets", func(w *tinytest.World) {
			trs, err := overTLS(w.Fleet.Members)
			if err != nil {
				t.Fatal(err)
			}
			w.Open = func(member string) (transport.Transport, error) {
				return trs[slices.Index(w.Fleet.Members, member)], nil
			}
		})
	}
}

// TestWorldLyingDisk checks that a node reports a rollback if its disk lost confirmed saves: its neighbors have seen
// the lost releases.
func TestWorldLyingDisk(t *testing.T) {
	w := worldOf(3, true)
	w.Disks = map[string]tinytest.OpenStore{"n00": tinytest.CrashAt(tinytest.LyingSync(tinytest.MemStore(), 3), 5)}
	_, err := w.Run(t.Context())
	if !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), `member "n00"`) ||
		!strings.Contains(err.Error(), "shows the signature of release 5 of this node") &&
			!strings.Contains(err.Error(), "but the stored state ends with release 2") {
		t.Errorf("error %v, want a rollback of n00 to release 2", err)
	}
}

// TestWorldAdversary plays a member by hand. Its node's neighbor must answer, see its releases, and refuse a second one
// of a round.
func TestWorldAdversary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldOf(2, false)
		evil, err := w.Play("n01")
		if err != nil {
			t.Fatal(err)
		}
		node, err := w.Start("n00")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- node.Run(ctx) }()
		_, ask, err := evil.Await(ctx, admm.Probe)
		if err != nil {
			t.Fatal(err)
		}
		first := &admm.Message{Kind: admm.Release, Round: 1, Vector: make([]float32, 5)}
		evil.Sign(first, nil)
		other := &admm.Message{Kind: admm.Release, Round: 1, Vector: []float32{1, 0, 0, 0, 0}}
		evil.Sign(other, nil)
		for _, m := range []*admm.Message{{Kind: admm.ProbeReply, Incarnation: ask.Incarnation}, first, other} {
			if err := evil.Send(ctx, "n00", m); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if st := node.Status(); st.Round != 2 || st.Neighbors[0].Quarantine.Release == 0 {
			t.Errorf("%+v, want round 2 and n01 in quarantine", st)
		}
		stop()
		<-ended
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWorldRefuses(t *testing.T) {
	w := worldOf(3, true)
	if _, err := w.Start("n07"); err == nil || !strings.Contains(err.Error(), `"n07" is no member`) {
		t.Errorf("error %v, want one that names n07", err)
	}
	for name, err := range map[string]error{"Run": func() error { _, err := new(tinytest.World).Run(t.Context()); return err }(),
		"Play": func() error { _, err := new(tinytest.World).Play("a"); return err }()} {
		if err == nil || !strings.Contains(err.Error(), "without a fleet") {
			t.Errorf("%s: error %v, want one about the fleet", name, err)
		}
	}
	broken := errors.New("broken")
	w.Change = func(client int, c *sdk.Config) { c.Noise = iotest.ErrReader(broken) }
	if _, err := w.Run(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), `member "n0`) {
		t.Errorf("error %v, want %v of a member", err, broken)
	}
}

// TestMessages checks that a link of messages alters, adds and drops messages, and passes other frames.
func TestMessages(t *testing.T) {
	w := worldOf(2, false)
	var seen atomic.Int64
	link, err := tinytest.Messages(5, func(p tinytest.Packet, m admm.Message) []admm.Message {
		seen.Add(1)
		if m.Round == 1 {
			return nil
		}
		return []admm.Message{m, {Kind: admm.Done, Round: 7}}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Link = link
	one, err1 := w.Play("n00")
	other, err2 := w.Play("n01")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, round := range []int{1, 2} {
		if err := one.Send(t.Context(), "n01", &admm.Message{Kind: admm.Release, Round: round, Vector: make([]float32, 5)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Transport.Send(t.Context(), "n01", []byte("junk")); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []admm.Kind{admm.Release, admm.Done} {
		if from, m, err := other.Await(t.Context(), kind); err != nil || from != "n00" || m.Round != map[admm.Kind]int{admm.Release: 2, admm.Done: 7}[kind] {
			t.Errorf("%q sent %+v, %v", from, m, err)
		}
	}
	if _, frame, err := other.Transport.Recv(t.Context()); !bytes.Equal(frame, []byte("junk")) || seen.Load() != 2 {
		t.Errorf("received %q, %v after %d messages", frame, err, seen.Load())
	}
}
