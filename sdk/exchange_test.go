package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// fuzzer is the link of "b", a member with a valid key. It sends frames to "a": those of an ordinary node, some of them
// altered, and invented ones of every kind. It records everything that "a" reveals to it.
type fuzzer struct {
	world *tinytest.World
	fleet *sdk.Fleet
	hash  [32]byte // of the fleet
	codec *wire.Codec

	mu     sync.Mutex
	chance rng.Stream
	forge  bool     // it signs releases of rounds and devices that it invents, which ends its own node
	wild   bool     // it uses extreme numbers
	shown  [][]byte // what "a" signed
	frame  []byte   // the last frame to "a"
	round  int      // the latest round that "a" mentioned
	device uint64   // the incarnation of "a"
}

func (z *fuzzer) link(p tinytest.Packet) []tinytest.Packet {
	z.mu.Lock()
	defer z.mu.Unlock()
	switch {
	case p.From == "a" && p.To == "b":
		return z.hear(p)
	case p.From != "b" || p.To != "a":
		return []tinytest.Packet{p}
	}
	z.frame = slices.Clone(p.Frame)
	var all []tinytest.Packet
	if altered, honest := z.alter(p.Frame), p; altered != nil {
		p.Frame = altered
		all, p = append(all, p), honest
	}
	if z.chance.IntN(12) == 0 {
		return all
	}
	return append(all, p)
}

// hear records what "a" sends. Its evidence does not arrive.
func (z *fuzzer) hear(p tinytest.Packet) []tinytest.Packet {
	var m admm.Message
	if z.codec.Decode(p.Frame, &m) != nil {
		return []tinytest.Packet{p}
	}
	z.round = max(z.round, m.Round)
	if m.Kind == admm.Probe {
		z.device = m.Incarnation
	}
	if len(m.Signed.Own) > 0 {
		z.shown = append(z.shown[max(0, len(z.shown)-20):], slices.Clone(m.Signed.Own))
	}
	if m.Kind == admm.Conflict {
		return nil
	}
	return []tinytest.Packet{p}
}

// alter returns a copy of a frame with one field changed, or nil.
func (z *fuzzer) alter(frame []byte) []byte {
	var m admm.Message
	if z.codec.Decode(frame, &m) != nil {
		return nil
	}
	if z.chance.IntN(3) > 0 {
		return nil
	}
	other := z.make()
	switch z.chance.IntN(11) {
	case 0:
		m.Kind = other.Kind
	case 1:
		m.Round = other.Round
	case 2:
		m.Held = other.Held
	case 3:
		m.Incarnation = other.Incarnation
	case 4:
		m.Vector = other.Vector
	case 5:
		m.Grid = other.Grid
	case 6:
		m.Signed.Own = other.Signed.Own
	case 7:
		m.Signed.Proof = other.Signed.Proof
	case 8:
		m.Vector, m.Grid = nil, nil
	case 9:
		m.Signed = other.Signed
	}
	return z.encode(&m)
}

// encode returns the encoded message. If the message cannot be encoded, it returns some other frame with a few bytes
// changed.
func (z *fuzzer) encode(m *admm.Message) []byte {
	if b, err := z.codec.Append(nil, m); err == nil {
		return b
	}
	b := slices.Clone(z.frame)
	for range z.chance.IntN(4) {
		if len(b) > 0 {
			b[z.chance.IntN(len(b))] ^= 1 << z.chance.IntN(8)
		}
	}
	return b[:len(b)-min(len(b), z.chance.IntN(3))]
}

func pick[T any](z *fuzzer, list ...T) T { return list[z.chance.IntN(len(list))] }

func (z *fuzzer) make() admm.Message {
	last := z.fleet.Method.Last()
	rounds := []int{0, 1, z.round - 1, z.round, z.round + 1, z.round + 2, last, last + 1, math.MaxInt32}
	m := admm.Message{
		Kind: pick(z, admm.Done, admm.Release, admm.Probe, admm.Conflict, admm.ProbeReply), Round: max(0, pick(z, rounds...)), Held: max(0, pick(z, rounds...)),
		Resent: z.chance.IntN(3) == 0, Incarnation: pick(z, z.device, z.device, 0, uint64(z.chance.IntN(1000))),
	}
	most := pick[float32](z, 0, 0.1, 3)
	steps := pick[int32](z, 0, 2, 90)
	if z.wild {
		most, steps = pick[float32](z, 1, 1e9, 1e30, 3.4e38), pick[int32](z, 1, 1<<20, 1<<30-1, 1<<30, math.MaxInt32)
	}
	if what := z.chance.IntN(3); what == 0 {
		m.Vector = make([]float32, z.fleet.Dim)
		m.Vector[z.chance.IntN(z.fleet.Dim)] = most
	} else if what == 1 {
		m.Grid = make([]int32, z.fleet.Dim)
		m.Grid[z.chance.IntN(z.fleet.Dim)] = steps
	}
	release := signed.Statement{Kind: signed.Release, Round: m.Round,
		Value: signed.Digest(m.Vector, m.Grid), Ledger: signed.Head{Seq: uint64(z.chance.IntN(5))}}
	release.Sign(z.world.Key("b"), signed.NewScope("test", z.hash, pick(z, "a", "b")))
	if z.forge {
		m.Signed.Own = release.Append(nil)
	}
	proofs := append([][]byte{nil, release.Append(nil), make([]byte, 40)}, z.shown...)
	m.Signed.Proof = pick(z, proofs...)
	switch m.Kind {
	case admm.ProbeReply, admm.Conflict:
		m.Signed.Other = pick(z, proofs...)
	case admm.Done:
		m.Signed.Countersign = pick(z, nil, make([]byte, 64), release.Countersign(z.world.Key("b"), signed.Scope{}))
	}
	return m
}

func (z *fuzzer) chatter(ctx context.Context, tr transport.Transport) {
	for ctx.Err() == nil {
		z.mu.Lock()
		m := z.make()
		if z.chance.IntN(4) == 0 { // a new process of "b" that lost its state
			m = admm.Message{Kind: admm.Probe, Incarnation: uint64(z.chance.IntN(1 << 30))}
		}
		b := z.encode(&m)
		z.mu.Unlock()
		_ = tr.Send(ctx, "a", b)
		time.Sleep(20 * time.Millisecond)
	}
}

// TestFuzzedExchanges simulates a member with a valid key that sends messages of every kind and content to a node that
// works, restarts, and loses its state. These messages must not cause a panic, end a run, spoil a stored state, cause a charge
// for anything but a release, let a device without a state make a release, make a node accuse an honest member, or make
// the log grow with the number of frames.
//
// The test simulates 6 runs, or the number in SPADE_EXCHANGES. In half of the runs (seeds 3 to 5, 9 to 11, and so on)
// the members use pairwise noise. If only SPADE_EXCHANGE_SEED is set, the test simulates the run with this seed.
func TestFuzzedExchanges(t *testing.T) {
	t.Parallel()
	count, first := 6, wanted(t, "SPADE_EXCHANGE_SEED", -1)
	if first >= 0 {
		count = 1
	}
	count, first = wanted(t, "SPADE_EXCHANGES", count), max(first, 0)
	works, lost := 0, 0
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			ended, done := exchange(t, uint64(seed), [2]string{spareLedger(t), spareLedger(t)}) // not made after the clock of the test
			works += done
			lost += ended
		})
	}
	t.Logf("%d exchanges: %d releases of the node, %d times it ended without its state", count, works, lost)
	if count > 5 && (works == 0 || lost == 0) {
		t.Error("some of it never happened: nothing was tested")
	}
}

// exchange simulates the run with the given seed. made is the number of releases that the node made before it lost its
// state. lost is 1 if the node without a state saw one of them and ended, otherwise 0.
func exchange(t *testing.T, seed uint64, ledgers [2]string) (lost, made int) {
	f := only(3, privateRing())
	f.Method.Rounds, f.Method.Cooldown = 12, 2
	if seed/3%2 == 1 {
		f.Privacy = sharedRing().Privacy
		f.Privacy.Colluders, f.Method.Mixing = 0, int(seed/6%2)
	}
	chance := rng.New(seed, rng.Address{Purpose: rng.Fault})
	ctx, cancel := context.WithCancel(t.Context())
	codec := must(wire.NewCodec(f.Dim))(t)
	said, began := new(journal), time.Now()
	var ledger *state.Ledger     // of "a"
	var away transport.Transport // of "b"
	w := &tinytest.World{Fleet: f, Seed: seed, Samples: samples[:3], Disks: map[string]tinytest.OpenStore{"b": tinytest.MemStore(), "c": tinytest.MemStore()}}
	w.Oracle = func(client int) zoest.Oracle {
		return sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
			time.Sleep(50 * time.Millisecond)
			return oracle(client)(ctx, x, sample)
		})
	}
	w.Change = func(client int, c *sdk.Config) {
		c.ResendAfter, c.Linger, c.Noise, c.Secret = 100*time.Millisecond, time.Hour, nil, nil
		pairUp(c)
		switch client {
		case 0:
			c.Ledger, c.Logger = ledger, slog.New(slog.NewTextHandler(said, nil))
		case 1:
			away = c.Transport
		}
	}
	liar := &fuzzer{world: w, fleet: f, codec: codec, chance: chance, forge: seed%3 == 1, wild: seed%3 == 2}
	w.Link = liar.link
	var others sync.WaitGroup
	defer func() {
		cancel()
		others.Wait()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	var nodes []*sdk.Node
	for _, name := range f.Members[1:] {
		n := must(w.Start(name))(t)
		nodes = append(nodes, n)
	}
	liar.hash = f.Hash() // with the one-time keys
	for _, n := range nodes {
		others.Go(func() { _ = n.Run(ctx) })
	}
	others.Go(func() { liar.chatter(ctx, away) })

	live := func(open tinytest.OpenStore, path string, long time.Duration) (kept int, ended error) {
		ledger = must(state.OpenLedger(path))(t)
		defer ledger.Close()
		w.Disks["a"] = open
		n, err := w.Start("a")
		if errors.Is(err, state.ErrRollback) && path == ledgers[1] && f.Method.Data(made) >= f.Method.Rounds {
			return 0, nil // the device lost its state after the last noise, when the one-time key was deleted
		}
		if err != nil {
			t.Errorf("seed %d: what is kept does not start again: %v", seed, err)
			return 0, nil
		}
		over, stop := context.WithTimeout(ctx, long)
		defer stop()
		if ended = n.Run(over); ended != nil && !errors.Is(ended, context.DeadlineExceeded) && !errors.Is(ended, state.ErrLost) {
			t.Errorf("seed %d: the run ends: %v", seed, ended)
		}
		kept = n.Status().Round
		onlyAccuses(t, w, n, "b")
		onlyAccuses(t, w, nodes[1], "b")
		id := runID(f.Run, f.Hash(), "a")
		if f.PairKeys != nil {
			id.PairKey = f.PairKeys[0].String()
		}
		// A device that has lost its state is charged for the releases that a neighbor proves.
		if charged := ledger.Last(id); charged > f.Method.Data(max(kept, made))+1 {
			t.Errorf("seed %d: %d releases are charged, and %d kept", seed, charged, kept)
		}
		return kept, ended
	}
	first := tinytest.MemStore()
	made, _ = live(first, ledgers[0], time.Duration(2+chance.IntN(8))*time.Second)
	made, _ = live(first, ledgers[0], 2*time.Second)
	kept, err := live(tinytest.MemStore(), ledgers[1], 5*time.Second)
	if errors.Is(err, state.ErrLost) {
		lost = 1
	}
	if made > 1 && kept > 0 { // "c" has seen release 1
		t.Errorf("seed %d: a device without a state makes release %d, after %d releases of the lost one", seed, kept, made)
	}
	live(first, ledgers[0], 0) // a node also starts again from the last stored state
	// The log may have a hundred lines of each possible kind, and beyond these at most a kilobyte per second.
	if n, most := len(said.String()), 100*8*600+int(1000*time.Since(began).Seconds()); n > most {
		t.Errorf("seed %d: %d bytes of log in %v, want at most %d", seed, n, time.Since(began), most)
	}
	return lost, made
}

// onlyAccuses checks that a node has dropped no member but one, and that its evidence is valid.
func onlyAccuses(t *testing.T, w *tinytest.World, n *sdk.Node, liar string) {
	t.Helper()
	st := n.Status()
	for _, of := range st.Neighbors {
		if q := of.Quarantine; q.Release > 0 && of.Name != liar {
			t.Errorf("%q is in quarantine: %s", of.Name, q.Why)
		}
	}
	for _, e := range st.Evidence {
		if err := e.Verify(w.Fleet.Run, w.Fleet.Hash(), w.Keys(e.Member)); err != nil || e.Member != liar {
			t.Errorf("evidence %v: %v", e, err)
		}
	}
}

func spareLedger(t *testing.T) string {
	path, l := newLedger(t, nil)
	ok(t, l.Close())
	return path
}
