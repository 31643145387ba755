package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
)

// dying is the transport of a process that dies before or after it sends the nth probe or reply.
type dying struct {
	transport.Transport
	nth    int
	before bool
	die    context.CancelFunc
	dim    int
	probes *atomic.Int32 // counted across processes
}

func (d *dying) Send(ctx context.Context, to string, frame []byte) error {
	if wire.IsHeartbeat(frame) {
		return d.Transport.Send(ctx, to, frame)
	}
	var m admm.Message
	codec, err := wire.NewCodec(d.dim)
	if err == nil {
		err = codec.Decode(frame, &m)
	}
	if err != nil {
		return err
	}
	if m.Kind != admm.Probe && m.Kind != admm.ProbeReply {
		return d.Transport.Send(ctx, to, frame)
	}
	probe := int(d.probes.Add(1))
	if probe == d.nth && d.before {
		d.die()
		return context.Canceled
	}
	err = d.Transport.Send(ctx, to, frame)
	if probe == d.nth {
		d.die()
	}
	return err
}

// crashing is the store of a process that crashes right before or right after it stores or removes secrets for the nth
// time.
type crashing struct {
	state.Store
	kept   *int // counted across processes
	nth    int
	before bool
}

func (c crashing) Keep(name string, data []byte) error {
	if name != state.SecretsName {
		return c.Store.Keep(name, data)
	}
	*c.kept++
	if *c.kept == c.nth && c.before {
		return tinytest.ErrCrashed
	}
	err := c.Store.Keep(name, data)
	if *c.kept == c.nth && err == nil {
		err = tinytest.ErrCrashed
	}
	return err
}

func crashAtSecrets(open tinytest.OpenStore, nth int, before bool) tinytest.OpenStore {
	kept := 0
	return func() (state.Store, error) {
		s, err := open()
		if err != nil {
			return nil, err
		}
		return crashing{s, &kept, nth, before}, nil
	}
}

// models returns the models of a simulation with the recorded keys.
func (b *keyBook) models(t *testing.T, f *sdk.Fleet) [][]float32 {
	t.Helper()
	cfgs, err := f.Machines(samples[:len(f.Members)], noise)
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	for i, c := range cfgs {
		c.PairKey = func(peer, release int) (key [32]byte, ok bool) {
			key, ok = b.last[keyUse{member: f.Members[i], neighbor: f.Members[peer], release: release}]
			if back := b.last[keyUse{member: f.Members[peer], neighbor: f.Members[i], release: release}]; back != key || !ok {
				t.Errorf("%d and %d do not agree on release %d", i, peer, release)
			}
			return key, ok
		}
		clients = append(clients, sim.Client{Config: c, Oracle: oracle(i)})
	}
	network, err := sim.New(clients)
	if err == nil {
		err = network.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return network.Models()
}

// TestAgreementSurvivesCrashes simulates crashes of one of three devices before and after each write of its secrets,
// each save of its state, each probe and each reply. After each crash the device continues from its store. The models
// must equal, bit for bit, the models of an undisturbed run with the same secrets.
func TestAgreementSurvivesCrashes(t *testing.T) {
	f := sharedRing()
	f.Members, f.Edges = f.Members[:3], [][2]string{{"a", "b"}, {"b", "c"}}
	f.Privacy.Colluders = 0
	f.Method.Rounds, f.Method.Cooldown = 3, 1
	type fault struct {
		name   string
		nth    int
		before bool
	}
	var faults []fault
	for nth := 1; nth <= 8; nth++ {
		for _, name := range []string{"secrets", "save", "probe"} {
			faults = append(faults, fault{name, nth, true}, fault{name, nth, false})
		}
	}
	happened := map[string]int{}
	for _, what := range faults {
		name := fmt.Sprintf("%s %d before %v", what.name, what.nth, what.before)
		book := newKeyBook()
		sdk.OnKey(book.note)
		crashes := playAgreement(t, f, func(open tinytest.OpenStore) tinytest.OpenStore {
			switch {
			case what.name == "secrets":
				return crashAtSecrets(open, what.nth, what.before)
			case what.name == "save" && what.before:
				return tinytest.TornWrite(open, what.nth)
			case what.name == "save":
				return tinytest.CrashAt(open, what.nth)
			}
			return open
		}, func(tr *dying) {
			if what.name == "probe" {
				tr.nth, tr.before = what.nth, what.before
			}
		}, book)
		sdk.OnKey(nil)
		happened[what.name] += crashes
		if len(book.twice) > 0 {
			t.Errorf("%s: %q have used a key twice", name, book.twice)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
	t.Logf("crashes: %v", happened)
	for _, name := range []string{"secrets", "save", "probe"} {
		if happened[name] < 4 {
			t.Errorf("%d crashes at %s: nothing was tested", happened[name], name)
		}
	}
}

// playAgreement runs a fleet whose second member has a faulty store and transport. It checks the models and returns the
// number of crashes.
func playAgreement(t *testing.T, f *sdk.Fleet, faulty func(tinytest.OpenStore) tinytest.OpenStore, mortal func(*dying),
	book *keyBook) (crashes int) {
	t.Helper()
	trs := inMemory(t, f)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	models, errs, over := make([][]float32, 3), make([]error, 3), make(chan int, 3)
	for i, name := range f.Members {
		open, probes := tinytest.MemStore(), new(atomic.Int32)
		if i == 1 {
			open = faulty(open)
		}
		process := func() (bool, error) {
			store, err := open()
			if err != nil {
				return false, err
			}
			defer store.Close()
			ctx, die := context.WithCancel(ctx)
			defer die()
			tr := &dying{Transport: trs[i], die: die, dim: f.Dim, probes: probes}
			if i == 1 {
				mortal(tr)
			}
			random := &resumed{client: i, made: f.Method.Data}
			cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: tr, Store: store,
				Noise: random, ResendAfter: 3 * time.Millisecond}
			sign(&cfg)
			n, err := sdk.New(cfg)
			if err != nil {
				return errors.Is(err, tinytest.ErrCrashed), err
			}
			random.node = n
			err = n.Run(ctx)
			models[i] = n.Model()
			return errors.Is(err, tinytest.ErrCrashed) || err != nil && ctx.Err() != nil, err
		}
		go func() {
			for again := true; again && ctx.Err() == nil; {
				if again, errs[i] = process(); again && i == 1 {
					crashes++
				}
			}
			over <- i
		}()
	}
	for range f.Members {
		<-over
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
		return crashes
	}
	for i, want := range book.models(t, f) {
		if !slices.Equal(models[i], want) {
			t.Errorf("node %d has another model than in the quiet run", i)
		}
	}
	return crashes
}
