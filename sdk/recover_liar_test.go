package sdk_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// forger is a neighbor that says something else than it knows.
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
	if err == nil && f.Kind == admm.StateResponse {
		v.lie(&f)
		frame, err = v.codec.Append(nil, &f)
	}
	v.mu.Unlock()
	return errors.Join(err, v.Transport.Send(ctx, to, frame))
}

// triangle is a private fleet whose members all know each other, and which has stopped since the first of them is lost,
// with its disk. left returns a configuration for its successor; stop ends those that are left.
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
			ResendAfter: time.Millisecond}
		if keys {
			sign(&cfg)
		}
		if i == 0 {
			cfg.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
				if lostNode.Status().Round == 3 { // the others make their fourth release meanwhile
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
			Recover: true, ResendAfter: time.Millisecond}
		if keys {
			sign(&c)
		}
		return c
	}
	return left, func() int { return lostNode.Status().Round }, func() { cancel(); others.Wait() }
}

func spareLedger(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "ledger")
	l, err := state.CreateLedger(path, "samples", nil)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A neighbor that does not say what another one says is found out, with the name of the other; nothing is kept and
// nothing charged. What it alone knows is believed. In a fleet with keys a claim that shows no signature is refused,
// and costs nothing: the node goes on with what others can show, or waits and names the neighbor. Without keys a
// release that it claims to have held costs its price.
func TestRecoveryFromLiars(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		lie  func(f *admm.Message)
		want []string // of the error without keys; none: it works
		keys []string // of what is waited for in a fleet with keys; none: it is as without
	}{
		{"truth", func(f *admm.Message) {}, nil, nil},
		{"another release", func(f *admm.Message) {
			if f.Part == admm.SentRelease && len(f.Grid) > 0 {
				f.Grid[0]++
			}
		}, []string{`"b" and "c" disagree about release 3 of "a"`}, []string{works}},
		{"its own signature", func(f *admm.Message) {
			if len(f.Signed.Proof) > 0 {
				r, _ := signed.Parse(f.Signed.Proof)
				r.Sign(memberKey("b"), signed.NewScope("test", privateHash(), "a"))
				f.Signed.Proof = r.Append(nil)
			}
		}, nil, []string{`"b" gives no answer that counts: sdk: the sender says that it holds release 3 of this node: ` +
			`signed: release 3: the signature is by none`}},
		{"a device that never was", func(f *admm.Message) { f.Generation = 65535 },
			[]string{"neighbors have seen 65536 devices of this name"},
			[]string{`shows the signature of release 3 and generation 0`}},
		{"another place", func(f *admm.Message) {
			if f.Part == admm.RequesterBase && f.Round == 3 && len(f.Grid) > 0 {
				f.Grid[0]++
			}
		}, []string{`"b" and "c" disagree about the place of release 2 of "a"`}, nil},
		{"a release that it cannot show", func(f *admm.Message) { f.Held = 4 }, nil,
			[]string{`"b" gives no answer that counts: recovery: the sender speaks of release 4 and generation 0, and shows ` +
				`the signature of release 3 and generation 0`}},
		{"a release far ahead", func(f *admm.Message) { f.Held = 9 },
			[]string{`"c" has made release 4, and "b" holds release 9`, "never more than one round apart"},
			[]string{`"b" gives no answer that counts: recovery: the sender speaks of release 9`}},
		{"no signature", func(f *admm.Message) { f.Signed.Proof = nil }, nil,
			[]string{`"b" gives no answer that counts: sdk: the sender says that it holds release 3 of this node, and shows ` +
				`no signature of it`}},
		{"it is far ahead itself", func(f *admm.Message) {
			if f.Part == admm.Progress {
				f.Round = 7
			}
		}, []string{`"b" has made release 7`},
			[]string{`"b" gives no answer that counts: recovery: the sender says that it has made release 7, and has signed ` +
				`release 4`}},
		{"it has forgotten its z", func(f *admm.Message) {
			if f.Part == admm.RequesterZ {
				f.Vector = nil
			}
		}, []string{`"b" has no state of its own release 3`}, nil},
		{"it has forgotten where the grid stood", func(f *admm.Message) {
			if f.Part == admm.RequesterBase {
				f.Grid = nil
			}
		}, []string{`"b" has no state of its own release 3`}, nil},
		{"a z beyond all measure", func(f *admm.Message) {
			if f.Part == admm.RequesterZ && len(f.Vector) > 0 {
				f.Vector[0] = 3e38
			}
		}, []string{"what neighbors have told of release 3 could take coordinate 0 of the model to", "due to neighbor 1"}, nil},
		{"its own place at the end of the grid", func(f *admm.Message) {
			if f.Part == admm.ResponderBase && len(f.Grid) > 0 {
				f.Grid[2] = 1<<30 - 1
			}
		}, []string{"could take coordinate 2 of the model to", "due to neighbor 1"}, nil},
	} {
		check := func(t *testing.T, keys bool) {
			ledger := spareLedger(t)
			synctest.Test(t, func(t *testing.T) {
				left, made, stop := triangle(t, 3, keys, c.lie)
				defer stop()
				open := tinytest.MemStore()
				cfg := left(open, ledger)
				said := new(journal)
				cfg.Logger = slog.New(slog.NewTextHandler(said, nil))
				recovered := -1
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var n *sdk.Node
				cfg.Observer.Released = func(round int, _ []float32) {
					if round == 4 {
						recovered = n.Status().Recovered
						cancel()
					}
				}
				n, err := sdk.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				err = n.Run(ctx)
				charged := cfg.Ledger.Last("test", cfg.Fleet.Hash(), "a")
				saved, _ := cfg.Store.Load()
				if keys && len(c.keys) > 0 && c.keys[0] != works {
					if text := strings.ReplaceAll(said.String(), `\"`, `"`); !errors.Is(err, context.DeadlineExceeded) ||
						!strings.Contains(text, c.keys[0]) {
						t.Errorf("%v, want it to wait and say %s; it said:\n%s", err, c.keys[0], text)
					}
					if charged != 0 || len(saved) != 0 || n.Spend().Rho != 0 {
						t.Errorf("charged %d, %d states, spent %v", charged, len(saved), n.Spend().Rho)
					}
					return
				}
				if c.want == nil || keys && len(c.keys) > 0 {
					if !errors.Is(err, context.Canceled) || recovered != 3 || made() != 3 || charged < 4 || len(saved) != 2 {
						t.Errorf("recovered after release %d of %d, charged %d, %d states, %v", recovered, made(), charged, len(saved),
							err)
					}
					return
				}
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v, want it to say %s", err, want)
					}
				}
				if !errors.Is(err, sdk.ErrRecovery) || charged != 0 || len(saved) != 0 || n.Spend().Rho != 0 {
					t.Errorf("%v, charged %d, %d states, spent %v", err, charged, len(saved), n.Spend().Rho)
				}
			})
		}
		t.Run(c.name, func(t *testing.T) { check(t, true) })
		t.Run(c.name+", without keys", func(t *testing.T) { check(t, false) })
	}
}

const works = "it works"

func privateHash() [32]byte {
	f := privateRing()
	f.Members = f.Members[:3]
	f.Edges = [][2]string{{"a", "b"}, {"a", "c"}, {"b", "c"}}
	return f.Hash()
}

// What was seen is charged before anything is made: with a store that fails at its first save, the ledger has it all
// the same.
func TestRecoveryChargesFirst(t *testing.T) {
	ledger := spareLedger(t)
	synctest.Test(t, func(t *testing.T) {
		left, _, stop := triangle(t, 3, true, func(f *admm.Message) {})
		defer stop()
		cfg := left(tinytest.CrashAt(tinytest.MemStore(), 1), ledger)
		n, err := sdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Run(t.Context()); !errors.Is(err, tinytest.ErrCrashed) {
			t.Errorf("%v, want a crash", err)
		}
		if charged := cfg.Ledger.Last("test", cfg.Fleet.Hash(), "a"); charged != 3 {
			t.Errorf("charged %d releases, want 3", charged)
		}
		if marked := cfg.Ledger.Marked("test", cfg.Fleet.Hash(), "a"); marked != 3 {
			t.Errorf("release %d is marked, want 3: a neighbor has seen it", marked)
		}
	})
}

// A ledger that was saved from the lost device knows more than neighbors who were set back, all of them. They hold
// release 3, so it can have sent releases 4 and 5, which are made anew without data, and have reserved a sixth.
func TestRecoveryAgainstLedger(t *testing.T) {
	for in, fine := range map[[2]int]bool{{6, 5}: true, {5, 5}: true, {6, 0}: true, {7, 5}: false, {6, 6}: false} {
		reserved, marked := in[0], in[1]
		ledger := spareLedger(t)
		synctest.Test(t, func(t *testing.T) {
			left, _, stop := triangle(t, 3, true, func(*admm.Message) {})
			defer stop()
			cfg := left(tinytest.MemStore(), ledger)
			g := dpmech.Gaussian{Clip: cfg.Fleet.Privacy.Clip, Sigma: cfg.Fleet.Privacy.Sigma}
			for round := 1; round <= reserved; round++ {
				if err := cfg.Ledger.Reserve("test", cfg.Fleet.Hash(), "a", round, g); err != nil {
					t.Fatal(err)
				}
			}
			if marked > 0 {
				if err := cfg.Ledger.Mark("test", cfg.Fleet.Hash(), "a", marked); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			cfg.Observer.Released = func(int, []float32) { cancel() }
			n, err := sdk.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := n.Run(ctx); errors.Is(err, sdk.ErrRecovery) == fine {
				t.Errorf("the ledger has %d releases, %d of them marked: %v", reserved, marked, err)
			}
		})
	}
}

// A neighbor that does not answer is waited for and named; an end of the wait leaves no trace.
func TestRecoveryWaits(t *testing.T) {
	ledger := spareLedger(t)
	synctest.Test(t, func(t *testing.T) {
		left, _, stop := triangle(t, 2, true, func(*admm.Message) {})
		stop() // b and c are away
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
		if !errors.Is(err, context.DeadlineExceeded) || len(saved) > 0 || cfg.Ledger.Last("test", cfg.Fleet.Hash(), "a") > 0 {
			t.Errorf("%v, %d states", err, len(saved))
		}
		if want := []string{"b", "c"}; len(told) != 1 || !slices.Equal(told[0], want) ||
			!slices.Equal(n.Status().Waiting, want) {
			t.Errorf("told %v, status %+v", told, n.Status())
		}
	})
}

// Where nothing can be recovered, New says so, and why.
func TestRecoveryRefused(t *testing.T) {
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
		if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), "Recover is set, and") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %s", err, want)
		}
	}
}
