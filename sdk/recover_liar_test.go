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
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

type forger struct {
	transport.Transport
	mu    sync.Mutex
	codec *wire.Codec
	lie   func(f *admm.Message)
}

func (v *forger) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return v.Transport.Send(ctx, to, frame)
	}
	v.mu.Lock()
	var f admm.Message
	err := v.codec.Decode(frame, &f)
	if err == nil && f.Kind == admm.Stand {
		v.lie(&f)
		frame, err = v.codec.Append(nil, &f)
	}
	v.mu.Unlock()
	return errors.Join(err, v.Transport.Send(ctx, to, frame))
}

// triangle runs a private fleet of three neighbors until the first member's device is lost with its disk. It returns
// three functions: left returns a configuration for the replacement device, made returns the number of the lost
// device's last release, and stop stops the other two nodes.
func triangle(t *testing.T, edges int, keys bool, lie func(f *admm.Message)) (
	left func(open tinytest.OpenStore, ledger string) sdk.Config, made func() int, stop func()) {
	f := privateRing()
	f.Members = f.Members[:3]
	f.Edges = [][2]string{{"a", "b"}, {"a", "c"}, {"b", "c"}}[:edges]
	net := mem.New(f.Members...)
	at := func(i int) transport.Transport {
		tr, err := net.Node(f.Members[i])
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	ctx, cancel := context.WithCancel(t.Context())
	lost, lose := context.WithCancel(ctx)
	defer lose()
	var others, first sync.WaitGroup
	var lostNode *sdk.Node
	for i, name := range f.Members {
		store, err := tinytest.MemStore()()
		if err != nil {
			t.Fatal(err)
		}
		tr := at(i)
		if i == 1 {
			codec, err := wire.NewCodec(f.Dim)
			if err != nil {
				t.Fatal(err)
			}
			tr = &forger{Transport: tr, codec: codec, lie: lie}
		}
		cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: tr, Store: store,
			ResendAfter: 10 * time.Millisecond}
		if keys {
			sign(&cfg)
		}
		if i == 0 {
			cfg.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
				if lostNode.Status().Round == 3 { // the other nodes make their fourth release in this time
					<-ctx.Done()
				}
				return oracle(0)(ctx, x, sample)
			})
		}
		n, err := sdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		wg, own := &others, ctx
		if i == 0 {
			wg, own, lostNode = &first, lost, n
		}
		wg.Go(func() {
			if err := n.Run(own); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			_ = tr.Close()
		})
	}
	time.Sleep(time.Second)
	lose()
	first.Wait()
	left = func(open tinytest.OpenStore, ledger string) sdk.Config {
		store, err := open()
		if err != nil {
			t.Fatal(err)
		}
		l, err := state.OpenLedger(ledger)
		if err != nil {
			t.Fatal(err)
		}
		tr := at(0)
		t.Cleanup(func() { _ = errors.Join(l.Close(), tr.Close()) })
		c := sdk.Config{Fleet: f, Name: "a", Samples: samples[0], Oracle: oracle(0), Transport: tr, Store: store, Ledger: l,
			Recover: true, ResendAfter: 10 * time.Millisecond}
		if keys {
			sign(&c)
		}
		return c
	}
	return left, func() int { return lostNode.Status().Round }, func() { cancel(); others.Wait() }
}

func spareLedger(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "ledger")
	l, err := state.CreateLedger(path, "samples", nil, state.NeverUsed)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTakeoverFromLiars simulates a neighbor that makes unproven claims about itself or the lost device, or claims an
// impossible position. The replacement device must report that it waits for this neighbor, and must store and charge
// nothing. The device believes claims that only the neighbor can check. A false claim of this kind affects only the
// release after which the device enters the run, because the whole run is charged and no release of the device uses
// data.
func TestTakeoverFromLiars(t *testing.T) {
	t.Parallel()
	const works = "it works"
	for _, c := range []struct {
		name        string
		lie         func(f *admm.Message)
		keys, plain string // what the device waits for, or its error, with and without keys
		entry       int    // the release after which the device then enters the run, without keys
	}{
		{"truth", func(f *admm.Message) {}, works, works, 4},
		{"another place", func(f *admm.Message) { f.Grid[0] += 100 }, works, works, 4},
		{"its own signature", func(f *admm.Message) {
			if len(f.Signed.Proof) > 0 {
				r, _ := signed.Parse(f.Signed.Proof, signed.Release)
				r.Sign(memberKey("b"), signed.NewScope("test", privateHash(), "a"))
				f.Signed.Proof = r.Append(nil)
			}
		}, `"b" sent an invalid answer: trust: the sender claims to hold release 3 of this node, but the proof is not valid: ` +
			`signed: release 3: the signature matches none`, works, 4},
		{"devices that never were", func(f *admm.Message) { f.Epoch = 65535 },
			`"b" claims that this device was replaced 65535 times, but shows no signature that proves it`,
			`65535 devices of "a" were already replaced`, 0},
		{"a device that it cannot show", func(f *admm.Message) { f.Held, f.Epoch, f.Signed.Proof = 0, 1, nil },
			`"b" claims that this device was replaced 1 times, but shows no signature that proves it`, works, 4},
		{"a release that it cannot show", func(f *admm.Message) { f.Held = 6 },
			`the sender claims to hold release 6 of this node, but shows no signature of that release`, works, 7},
		{"no signature", func(f *admm.Message) { f.Signed.Proof = nil },
			`"b" sent an invalid answer: trust: the sender claims to hold release 3 of this node, but shows no signature`,
			works, 4},
		{"it is far ahead itself", func(f *admm.Message) { f.Round = 7 },
			`"b" claims to have made release 7, but has signed release 4`, works, 7},
		{"it is beyond the end", func(f *admm.Message) { f.Round = 99 }, "its own release 99", "its own release 99", 0},
		{"off the grid", func(f *admm.Message) { f.Grid[2] = 1<<31 - 1 },
			`coordinate 2 of the model after release 4 is step 2147483647`, `coordinate 2 of the model after release 4`, 0},
		{"too far", func(f *admm.Message) { f.Grid[0] = 1 << 28 }, "is step 268435456 of the grid, want -",
			"is step 268435456 of the grid, want -", 0},
		{"off the grid, in numbers", func(f *admm.Message) { f.Vector, f.Grid = make([]float32, len(f.Grid)), nil },
			"numbers and 0 grid steps", "numbers and 0 grid steps", 0},
	} {
		check := func(t *testing.T, keys bool) {
			ledger := spareLedger(t)
			synctest.Test(t, func(t *testing.T) {
				left, made, stop := triangle(t, 3, keys, c.lie)
				defer stop()
				cfg := left(tinytest.MemStore(), ledger)
				said := new(journal)
				cfg.Logger = slog.New(slog.NewTextHandler(said, nil))
				entered := -1
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var n *sdk.Node
				cfg.Observer.Released = func(round int, _ []float32) {
					entered = n.Status().Recovered
					cancel()
				}
				n, err := sdk.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				err = n.Run(ctx)
				charged := cfg.Ledger.Last(runID("test", cfg.Fleet.Hash(), "a"))
				saved, _ := cfg.Store.Load()
				want, entry := c.plain, c.entry
				if keys {
					want, entry = c.keys, 4
				}
				if want == works {
					if !errors.Is(err, context.Canceled) || entered != entry || made() != 3 || charged != cfg.Fleet.Method.Rounds ||
						len(saved) != 2 {
						t.Errorf("it entered after release %d, want %d (%d were made), charged %d, %d states, %v", entered, entry, made(),
							charged, len(saved), err)
					}
					return
				}
				text := fmt.Sprint(err, strings.ReplaceAll(said.String(), `\"`, `"`))
				if err == nil || !strings.Contains(text, want) {
					t.Errorf("%v, want it to say %s; it said:\n%s", err, want, said)
				}
				if charged != 0 || len(saved) != 0 || n.Spend().Rho != 0 {
					t.Errorf("charged %d, %d states, spent %v", charged, len(saved), n.Spend().Rho)
				}
			})
		}
		t.Run(c.name, func(t *testing.T) { check(t, true) })
		t.Run(c.name+", without keys", func(t *testing.T) { check(t, false) })
	}
}

var privateHash = sync.OnceValue(func() [32]byte {
	f := privateRing()
	f.Members = f.Members[:3]
	f.Edges = [][2]string{{"a", "b"}, {"a", "c"}, {"b", "c"}}
	return f.Hash()
})

// TestTakeoverChargesFirst checks that the run is charged before any release. If the store fails at its first save, the
// ledger keeps the charge, and a later takeover charges nothing.
func TestTakeoverChargesFirst(t *testing.T) {
	ledger := spareLedger(t)
	synctest.Test(t, func(t *testing.T) {
		left, _, stop := triangle(t, 3, true, func(f *admm.Message) {})
		defer stop()
		open := tinytest.MemStore()
		cfg := left(tinytest.CrashAt(open, 1), ledger)
		rounds := cfg.Fleet.Method.Rounds
		n, err := sdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Run(t.Context()); !errors.Is(err, tinytest.ErrCrashed) {
			t.Errorf("%v, want a crash", err)
		}
		last := func() (reserved, marked int) {
			return cfg.Ledger.Last(runID("test", cfg.Fleet.Hash(), "a")), cfg.Ledger.Marked(runID("test", cfg.Fleet.Hash(), "a"))
		}
		if reserved, marked := last(); reserved != rounds || marked != rounds {
			t.Errorf("charged %d releases and marked %d, want %d", reserved, marked, rounds)
		}
		if cfg.Store, err = open(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cfg.Observer.Released = func(int, []float32) { cancel() }
		if n, err = sdk.New(cfg); err != nil {
			t.Fatal(err)
		}
		if err := n.Run(ctx); !errors.Is(err, context.Canceled) || n.Status().Recovered != 4 {
			t.Errorf("it entered after release %d, %v", n.Status().Recovered, err)
		}
		if seq := cfg.Ledger.Head().Seq; seq != rounds || cfg.Ledger.Lifetime(1e-5).Rho != cfg.Fleet.Rho() {
			t.Errorf("the ledger has %d lines and a cost of %v, want %d and %v", seq, cfg.Ledger.Lifetime(1e-5).Rho, rounds,
				cfg.Fleet.Rho())
		}
	})
}

// TestTakeoverWaits checks that the replacement device waits for neighbors that do not answer, and reports their names.
// If it is stopped while it waits, nothing may be stored or charged.
func TestTakeoverWaits(t *testing.T) {
	ledger := spareLedger(t)
	synctest.Test(t, func(t *testing.T) {
		left, _, stop := triangle(t, 2, true, func(*admm.Message) {})
		stop() // b and c are not running
		cfg := left(tinytest.MemStore(), ledger)
		cfg.ResendAfter = 100 * time.Millisecond
		var told [][]string
		cfg.Observer.Waiting = func(round int, neighbors []string) {
			if round == 0 {
				told = append(told, slices.Clone(neighbors))
			}
		}
		n, err := sdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err = n.Run(ctx)
		saved, _ := cfg.Store.Load()
		if !errors.Is(err, context.DeadlineExceeded) || len(saved) > 0 || cfg.Ledger.Last(runID("test", cfg.Fleet.Hash(), "a")) > 0 {
			t.Errorf("%v, %d states", err, len(saved))
		}
		if want := []string{"b", "c"}; len(told) != 1 || !slices.Equal(told[0], want) ||
			!slices.Equal(n.Status().Waiting, want) {
			t.Errorf("told %v, status %+v", told, n.Status())
		}
	})
}

// TestTakeoverRefused checks that New returns an error with the reason if no device can be replaced.
func TestTakeoverRefused(t *testing.T) {
	store, err := tinytest.MemStore()()
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(c *sdk.Config){
		`payload is "message"`: func(c *sdk.Config) { c.Fleet.Wire.Payload = sdk.PayloadMessage },
		"Store is nil":         func(c *sdk.Config) { c.Store = nil },
		`"a" has no neighbors`: func(c *sdk.Config) { c.Fleet.Members, c.Fleet.Edges = c.Fleet.Members[:1], nil },
	} {
		f := privateRing()
		cfg := sdk.Config{Fleet: f, Name: "a", Samples: 1, Oracle: oracle(0), Transport: inMemory(t, f)[0], Store: store,
			Recover: true}
		change(&cfg)
		if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), "Recover is set, but") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %s", err, want)
		}
	}
}
