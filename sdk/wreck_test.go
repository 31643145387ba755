package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// wreck is a small fleet in virtual time, drawn from a seed. One of its devices is lost with its disk at a random
// moment, and a new device replaces it. Meanwhile neighbors may be killed and restarted, and frames may be lost,
// duplicated and reordered.
type wreck struct {
	t      *testing.T
	seed   uint64
	chance rng.Stream
	fleet  *sdk.Fleet
	net    *mem.Net
	faults sim.FaultSchedule
	hosts  []*host
	lost   int // the member whose device is lost
	rough  bool
	shared *keyBook // nil without pairwise noise
	served int      // how many finished members were restarted

	mu    sync.Mutex
	seen  map[releaseKey][]receipt // the releases that arrived
	told  map[int]int              // by member: its incarnation when it heard of a replacement device
	story story
}

// story is a list of events. Only a test that fails formats them.
type story []event

type event struct {
	at     time.Time
	format string
	args   []any
}

func (s story) String() string {
	var b strings.Builder
	for _, e := range s {
		fmt.Fprintf(&b, "%s %s\n", e.at.Format("05.000000"), fmt.Sprintf(e.format, e.args...))
	}
	return b.String()
}

type releaseKey struct{ member, round int }

type receipt struct {
	by, incarnation int
	content         string
}

// host is one device of a member. If the device is lost, the host of its replacement takes its place in wreck.hosts.
type host struct {
	incarnation int
	open        tinytest.OpenStore
	ledger      string // the path of its ledger; empty: no ledger
	spare       bool   // replaces the previous device
	node        *sdk.Node
	tr          transport.Transport
	alter       func(c *sdk.Config) // may be nil
	side        *side               // nil if no other device has the same name
	stop        context.CancelFunc
	over        chan struct{}
	err         error
	log         *journal
	rounds      []int // rounds passed to Observer.Released in this incarnation
	kept        bool  // when this incarnation started, its store had a statement of the replacement
	looked      int   // the first round in which this device used the data, or 0
}

type lookout struct {
	transport.Transport
	w           *wreck
	self        int
	incarnation int
	codec       *wire.Codec
}

func (c *lookout) Recv(ctx context.Context) (string, []byte, error) {
	from, frame, err := c.Transport.Recv(ctx)
	if err != nil || wire.IsHeartbeat(frame) {
		return from, frame, err
	}
	var f admm.Message
	if err := c.codec.Decode(frame, &f); err != nil {
		c.w.t.Errorf("seed %d: %v", c.w.seed, err)
	}
	c.w.note("%s (incarnation %d) receives from %s: %+v", c.w.fleet.Members[c.self], c.incarnation, from, f)
	if f.Kind == admm.Probe && f.Epoch > 0 {
		c.w.mu.Lock()
		c.w.told[c.self] = c.incarnation
		c.w.mu.Unlock()
	}
	if f.Kind == admm.Release {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		at := releaseKey{slices.Index(c.w.fleet.Members, from), f.Round}
		c.w.seen[at] = append(c.w.seen[at], receipt{c.self, c.incarnation, fmt.Sprint(f.Vector, f.Grid)})
	}
	return from, frame, nil
}

// remembers reports whether a neighbor knows of the replacement device: the neighbor learned of it in this incarnation,
// or its store had a statement of the replacement when this incarnation started.
func (w *wreck) remembers(i int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[i] == w.hosts[i].incarnation || w.hosts[i].kept
}

// stored reports whether a store contains anything that a replacement device signed.
func (w *wreck) stored(s state.Store) bool {
	saved, err := s.Load()
	if err != nil || len(saved) == 0 {
		return false
	}
	var snap wire.Snapshot
	if err := wire.DecodeSnapshot(saved[0].State, &snap); err != nil {
		w.t.Fatal(err)
	}
	for _, p := range snap.Peers {
		for b := range slices.Chunk(p.Signed, signed.Size) {
			if r, err := signed.Parse(b, signed.Release); p.Name == w.fleet.Members[w.lost] && err == nil && r.Epoch > 0 {
				return true
			}
		}
	}
	return false
}

func newWreck(t *testing.T, seed uint64, shared bool, partners ...bool) *wreck {
	w := &wreck{t: t, seed: seed, chance: rng.New(seed, rng.Address{Purpose: rng.Fault}), seen: map[releaseKey][]receipt{},
		told: map[int]int{}}
	c := &w.chance
	n := 2 + c.IntN(4)
	f := ring()
	f.Members, f.Edges = f.Members[:n], nil
	for i := 1; i < n; i++ {
		f.Edges = append(f.Edges, [2]string{f.Members[c.IntN(i)], f.Members[i]})
	}
	for range c.IntN(n) {
		i, j := c.IntN(n), c.IntN(n)
		if e := [2]string{f.Members[min(i, j)], f.Members[max(i, j)]}; i != j && !slices.Contains(f.Edges, e) {
			f.Edges = append(f.Edges, e)
		}
	}
	f.Method.Rounds, f.Method.Cooldown = 2+c.IntN(4), c.IntN(3)
	if c.IntN(2) == 0 {
		f.Method.Estimator = sdk.EstimatorCentered + zoest.Kind(f.Method.Rounds%2)
	}
	switch c.IntN(4) {
	case 0:
		f.Wire.Payload = sdk.PayloadRelease
	case 1:
		f.Privacy, f.Wire.Payload = privateRing().Privacy, sdk.PayloadRelease
	default:
		f.Privacy = privateRing().Privacy
	}
	if shared {
		f.Privacy = sharedRing().Privacy
		f.Privacy.Colluders = 0
		f.Method.Mixing = c.IntN(3)
		w.shared = newKeyBook()
		if len(partners) > 0 && n > 2 {
			f.Privacy.Partners = n - 1
		}
	}
	if seed%2 == 0 && f.Wire.Payload == sdk.PayloadRelease {
		f.Method.Consensus, f.Method.Mixing = sdk.ConsensusChebyshev, int(seed/2%4)
	}
	w.fleet, w.net, w.lost = f, mem.New(f.Members...), c.IntN(n)
	w.rough = c.IntN(3) > 0
	if w.rough {
		w.faults = tinytest.Chain(tinytest.Drop(seed, 0.25*c.Float64()), tinytest.Duplicate(seed, 0.2),
			tinytest.Delay(seed, 0.3, 1+c.IntN(3)))
	}
	for i := range n {
		h := &host{open: tinytest.MemStore()}
		if !f.Privacy.NonPrivate && i == w.lost {
			h.ledger = w.newLedger("first")
		}
		w.hosts = append(w.hosts, h)
	}
	return w
}

func (w *wreck) newLedger(name string) string {
	path := filepath.Join(w.t.TempDir(), name)
	l, err := state.CreateLedger(path, "samples on the "+name+" device", nil, state.NeverUsed)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *wreck) start(i int, alter ...func(c *sdk.Config)) {
	w.t.Helper()
	h := w.hosts[i]
	h.incarnation++
	w.note("%s starts incarnation %d, recovers: %v", w.fleet.Members[i], h.incarnation, h.spare)
	h.log = new(journal)
	h.rounds, h.err = nil, nil
	inner, err := transport.Transport(h.side), error(nil)
	if h.side == nil {
		inner, err = w.net.Node(w.fleet.Members[i])
	}
	if err != nil {
		w.t.Fatal(err)
	}
	codec, err := wire.NewCodec(w.fleet.Dim)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.faults != nil { // each incarnation has its own fault schedule
		shift := 1000 * h.incarnation
		faults := func(from, to, seq int) []int { return w.faults(from, to, seq+shift) }
		inner = tinytest.Faulty(inner, faults, time.Millisecond, i, w.fleet.Members...)
	}
	h.tr = &lookout{Transport: inner, w: w, self: i, incarnation: h.incarnation, codec: codec}
	store, err := h.open()
	if err != nil {
		w.t.Fatal(err)
	}
	h.kept = w.stored(store)
	pause := time.Duration(1+w.chance.IntN(60)) * time.Microsecond
	cfg := sdk.Config{
		Fleet: w.fleet, Name: w.fleet.Members[i], Samples: samples[i], Transport: h.tr, Store: store,
		Oracle: sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
			h.look()
			time.Sleep(pause)
			return oracle(i)(ctx, x, sample)
		}),
		ResendAfter: 4 * time.Millisecond, Linger: time.Second, Recover: h.spare,
		Logger:   slog.New(slog.NewTextHandler(h.log, nil)),
		Observer: sdk.Observer{Released: func(round int, _ []float32) { h.rounds = append(h.rounds, round) }},
	}
	if h.ledger != "" {
		if cfg.Ledger, err = state.OpenLedger(h.ledger); err != nil {
			w.t.Fatal(err)
		}
	}
	sign(&cfg)
	if h.alter != nil {
		alter = append(alter, h.alter)
	}
	for _, change := range alter {
		change(&cfg)
	}
	if h.node, err = sdk.New(cfg); err != nil {
		w.t.Fatalf("seed %d: %v", w.seed, err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	h.stop, h.over = cancel, make(chan struct{})
	go func() {
		defer close(h.over)
		h.err = h.node.Run(ctx)
		h.err = errors.Join(h.err, store.Close())
		if cfg.Ledger != nil {
			h.err = errors.Join(h.err, cfg.Ledger.Close())
		}
		h.err = errors.Join(h.err, h.tr.Close())
	}()
}

func (h *host) ended() bool {
	select {
	case <-h.over:
		return true
	default:
		return false
	}
}

func (h *host) look() {
	if round := h.node.Status().Round + 1; h.looked == 0 || round < h.looked {
		h.looked = round
	}
}

// kill ends an incarnation of host i. At random, its unsent frames are either sent first or lost.
func (w *wreck) kill(i int) {
	w.t.Helper()
	h := w.hosts[i]
	w.note("%s is killed in release %d", w.fleet.Members[i], h.node.Status().Round)
	if w.chance.IntN(2) == 0 {
		_ = h.tr.Close()
	}
	h.stop()
	<-h.over
	if h.err != nil && !errors.Is(h.err, context.Canceled) && !errors.Is(h.err, transport.ErrClosed) {
		w.t.Errorf("seed %d: %s: %v", w.seed, w.fleet.Members[i], h.err)
	}
}

// note logs an event. The log helps to analyze failures, which are hard to reproduce because of the goroutines. Values
// in args must not change later.
func (w *wreck) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, event{time.Now(), format, args})
}

func (w *wreck) wait(most time.Duration) {
	time.Sleep(time.Duration(w.chance.Float64() * float64(most)))
}

func (w *wreck) neighbors() []int {
	var all []int
	for _, e := range w.fleet.Edges {
		i, j := slices.Index(w.fleet.Members, e[0]), slices.Index(w.fleet.Members, e[1])
		if i == w.lost {
			all = append(all, j)
		}
		if j == w.lost {
			all = append(all, i)
		}
	}
	return all
}

func (w *wreck) last() int { return w.fleet.Method.Last() }

// remembered returns the latest release of the lost device that some member has received and still knows of. A member
// that is killed may forget releases.
func (w *wreck) remembered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := 0
	for at, all := range w.seen {
		for _, g := range all {
			if at.member == w.lost && g.incarnation == w.hosts[g.by].incarnation {
				last = max(last, at.round)
			}
		}
	}
	return last
}
