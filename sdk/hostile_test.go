package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// The fleets in this file have three members: "victim" in the middle of a path, "honest", and "villain", a member with
// a valid key that also sends invalid frames.

// path returns the fleet for these tests: either private, with releases on a grid, or not private, with edge messages.
func path(private bool) *sdk.Fleet {
	f := ring()
	if private {
		f = privateRing()
	}
	f.Members = []string{"honest", "victim", "villain"}
	f.Edges = [][2]string{{"honest", "victim"}, {"victim", "villain"}}
	return f
}

// villain makes a link of a member that behaves well, and also sends the frames that after returns for each of its own:
// frames that no honest member would send. after is not called before the villain has answered the victim's probe.
type villain struct {
	open  bool
	round int      // the highest release sent
	kept  [][]byte // the frames of all releases sent
	after func(v *villain, m *admm.Message) [][]byte
	codec *wire.Codec
	mu    sync.Mutex
}

func newVillain(t *testing.T, f *sdk.Fleet, after func(v *villain, m *admm.Message) [][]byte) *villain {
	t.Helper()
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		t.Fatal(err)
	}
	return &villain{codec: codec, after: after}
}

func (v *villain) link(p tinytest.Packet) []tinytest.Packet {
	v.mu.Lock()
	defer v.mu.Unlock()
	var m admm.Message
	all := []tinytest.Packet{p}
	if wire.IsHeartbeat(p.Frame) || v.codec.Decode(p.Frame, &m) != nil {
		return all
	}
	switch {
	case m.Kind == admm.Probe || m.Kind == admm.ProbeReply:
		v.open = v.open || m.Kind == admm.ProbeReply
	case m.Kind != admm.Done && m.Round > v.round:
		v.round = m.Round
		v.kept = append(v.kept, slices.Clone(p.Frame))
	}
	if v.open {
		for _, p.Frame = range v.after(v, &m) {
			all = append(all, p)
		}
	}
	return all
}

// charge is a frame together with the error that the victim must log. An empty error means that the victim ignores the
// frame silently.
type charge struct {
	name  string
	frame []byte
	want  string
}

// charges returns the frames to send while the victim is in round 3, holds the villain's releases of rounds 3 and 4,
// and has answered the villain's probe.
func charges(t *testing.T, v *villain, private bool) []charge {
	t.Helper()
	enc := func(dim int, f admm.Message) []byte {
		codec, err := wire.NewCodec(dim)
		if err != nil {
			t.Fatal(err)
		}
		b, err := codec.Append(nil, &f)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	release := func(dim, round int, first float32) []byte { // returns a well-formed release
		if !private {
			return enc(dim, admm.Message{Kind: admm.Release, Round: round, Vector: append([]float32{first}, make([]float32, dim-1)...)})
		}
		return enc(dim, admm.Message{Kind: admm.Release, Round: round, Grid: append([]int32{int32(first)}, make([]int32, dim-1)...)})
	}
	good := v.kept[3]
	all := []charge{
		{"seven numbers", release(7, 4, 1), "wire: frame: "},
		{"another of round 3", release(6, 3, 99), "message of round 3 from client 2 contradicts an earlier message"},
		{"another of round 4, as of another run", release(6, 4, 99),
			"message of round 4 from client 2 contradicts an earlier message"},
		{"two rounds early", release(6, 5, 1), "found a message of round 5 from client 2, want a round in 1..4 (the receiving client is in round 3)"},
		{"in the far future", release(6, math.MaxInt32, 1), "message of round 2147483647 from client 2"},
		{"round 0", release(6, 0, 1), "message of round 0 from client 2"},
		{"a replay of round 1", v.kept[0], ""},
		{"a replay of round 2", v.kept[1], ""},
		{"a repeat of round 3", v.kept[2], ""},
		{"a repeat of round 4", v.kept[3], ""},
		{"done in the middle", enc(6, admm.Message{Kind: admm.Done, Round: 12}),
			"neighbor 2 holds release 12 of client 1, but the state of that client ends with release 3"},
		{"done after another round", enc(6, admm.Message{Kind: admm.Done, Round: 4}),
			"neighbor 2 reports completion after round 4, want round 12"},
		{"a lie about the past", enc(6, admm.Message{Kind: admm.Probe, Round: 4, Held: 4}),
			"neighbor 2 holds release 4 of client 1"},
		{"a lie beyond the last round", enc(6, admm.Message{Kind: admm.Probe, Round: 4, Held: 13}),
			"the probe from neighbor 2 reports release 4 of the neighbor and release 13 of this client"},
		{"a probe from beyond the last round", enc(6, admm.Message{Kind: admm.Probe, Round: 13, Held: 3}),
			"the probe from neighbor 2 reports release 13 of the neighbor and release 3 of this client"},
		{"an answer that nobody asked for", enc(6, admm.Message{Kind: admm.ProbeReply, Round: 4, Held: 12, Incarnation: 1}),
			""},
		{"a probe of one who has lost all", enc(6, admm.Message{Kind: admm.Probe, Incarnation: 1}), ""},
		{"a text", []byte("GET / HTTP/1.1\r\n\r\n"), "extraneous data"},
		{"half a frame", good[:len(good)/2], "unexpected EOF"},
		{"a frame of 1 MiB", make([]byte, 1<<20), "found 1048576 bytes, wanted at most"},
	}
	if private {
		return append(all, charge{"a vector for a grid", enc(6, admm.Message{Kind: admm.Release, Round: 4, Vector: make([]float32, 6)}),
			"has 6 numbers and 0 grid steps, want 0 and 6"})
	}
	return append(all, charge{"a giant", release(6, 4, 3e38), "coordinate 0 of release 4 is 3e+38"},
		charge{"a grid", enc(6, admm.Message{Kind: admm.Release, Round: 4, Grid: make([]int32, 6)}), "has 0 numbers and 6 grid steps, want 6 and 0"})
}

// TestVillain checks that the victim refuses each invalid frame with a specific error, and that the models equal, bit
// for bit, the models of a run with only honest members.
func TestVillain(t *testing.T) {
	for name, private := range map[string]bool{"messages": false, "releases on a grid": true} {
		t.Run(name, func(t *testing.T) {
			f := path(private)
			trs := inMemory(t, f)
			held, open, ready, away := make(chan struct{}), make(chan struct{}), make(chan struct{}), trs[2]
			hold := sync.OnceFunc(func() { close(held) })
			trs[0] = linked(f, trs, 0, messages(t, f, func(_ tinytest.Packet, m admm.Message) []admm.Message {
				if m.Round == 3 && m.Kind == admm.Release { // it is held back until the test opens the gate
					hold()
					<-open
				}
				return []admm.Message{m}
			}))
			evil := newVillain(t, f, func(_ *villain, m *admm.Message) [][]byte {
				if m.Round == 4 && m.Kind == admm.Release {
					close(ready)
				}
				return nil
			})
			trs[2] = linked(f, trs, 2, evil.link)
			var log journal
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				c.Key, c.Keys = nil, nil // a frame without a required signature is not checked further
				c.ResendAfter = time.Minute
				if i == 1 {
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				}
			})
			var errs []error
			var wg sync.WaitGroup
			wg.Go(func() { errs = runAll(t.Context(), all) })
			<-held
			<-ready
			victim := all[1]
			refused := int64(0)
			list := charges(t, evil, private)
			for _, c := range list {
				if err := away.Send(t.Context(), "victim", c.frame); err != nil {
					t.Fatal(err)
				}
				if c.want == "" {
					continue
				}
				refused++
				within(t, func() bool { return victim.Status().Refused >= refused })
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				last := lines[len(lines)-1]
				if int64(len(lines)) != refused || !strings.Contains(last, "from=villain") || !strings.Contains(last, c.want) {
					t.Errorf("%s: the log ends with %s, want %q", c.name, last, c.want)
				}
			}
			if st := victim.Status(); st.Round != 3 || !slices.Equal(st.Waiting, []string{"honest"}) {
				t.Errorf("status %+v", st)
			}
			close(open)
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if got := victim.Status().Refused; got != refused {
				t.Errorf("%d frames refused, want %d", got, refused)
			}
			sameModels(t, all, simulated(t, f))
		})
	}
}

func within(t *testing.T, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !come(); time.Sleep(time.Millisecond / 10) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// TestFailedOracleLooksLikeAny lets one of two oracles fail in various ways. The other node must receive the same bytes
// as if the failing oracle had always returned the public constant.
func TestFailedOracleLooksLikeAny(t *testing.T) {
	const fallback = 0
	for _, change := range []func(f *sdk.Fleet){
		func(*sdk.Fleet) {},
		func(f *sdk.Fleet) { f.Method.Estimator = zoest.Tracking },
	} {
		f := privateRing()
		f.Members, f.Edges = f.Members[:2], f.Edges[:1]
		change(f)
		seen := func(loss float64, err error) (frames []string, a []float32, failed int64) {
			t.Helper()
			trs := inMemory(t, f)
			var mu sync.Mutex
			trs[1] = linked(f, trs, 1, messages(t, f, func(_ tinytest.Packet, m admm.Message) []admm.Message {
				mu.Lock()
				defer mu.Unlock()
				plain := m
				plain.Incarnation = 0 // random in every run
				frames = append(frames, fmt.Sprintf("%+v", plain))
				return []admm.Message{m}
			}))
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				// Leave out the keys: signed frames contain incarnation numbers, which differ between runs.
				c.Key, c.Keys = nil, nil
				c.ResendAfter = time.Minute
				if i == 1 {
					c.Oracle = sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return loss, err })
				}
			})
			mustRun(t, all)
			if st := all[0].Status(); st.Refused != 0 || st.FailedQueries != 0 {
				t.Errorf("a has noticed something: %+v", st)
			}
			return frames, all[0].Model(), all[1].Status().FailedQueries
		}
		want, model, failed := seen(fallback, nil)
		if failed != 0 || len(want) != 15 { // two probes, twelve releases, one Done
			t.Fatalf("%d failed queries, frames\n%s", failed, strings.Join(want, "\n"))
		}
		for _, c := range []struct {
			loss float64
			err  error
		}{{0, errors.New("no data")}, {0.7, errors.New("no data")}, {math.NaN(), nil}, {math.Inf(-1), nil}, {1e300, nil}} {
			got, m, failed := seen(c.loss, c.err)
			if failed != asked(f) || !slices.Equal(got, want) || !slices.Equal(m, model) {
				t.Errorf("loss %v, error %v: %d failed queries, want %d; a was sent\n%s\nwant\n%s",
					c.loss, c.err, failed, asked(f), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if healthy, _, _ := seen(0.7, nil); len(healthy) != len(want) {
			t.Errorf("%d frames of a node with another loss, %d of one without", len(healthy), len(want))
		}
	}
}

// asked returns the number of queries of client 1 in a run. The paper's estimator also fills its table in each round.
func asked(f *sdk.Fleet) int64 {
	round := f.Method.Tau * min(f.Method.Batch, samples[1])
	if f.Method.Estimator == zoest.Paper {
		round += samples[1]
	}
	return int64(f.Method.Rounds * round)
}
