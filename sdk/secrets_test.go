package sdk_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// sharedRing returns a private fleet with pairwise noise between neighbors.
func sharedRing() *sdk.Fleet {
	f := privateRing()
	p := &f.Privacy
	p.PairSigma, p.EffectiveSigma, p.Colluders = 4*p.Sigma, 1.1*p.Sigma, 1
	f.Method.Mixing = 1
	return f
}

// simulatedSecret returns the Config.Secret with which node i uses the same secrets as machine i of a simulation, or
// nil if the fleet has no pairwise noise.
func simulatedSecret(f *sdk.Fleet, i int) func(neighbor string) pair.Secret {
	if f.Privacy.PairSigma == 0 {
		return nil
	}
	return func(neighbor string) pair.Secret {
		return pair.Simulated(f.Method.Seed, i, slices.Index(f.Members, neighbor))
	}
}

// TestSharedNoiseOverTransports runs nodes with the secrets of a simulation, in memory and over websockets. Their
// models must equal those of the simulation, bit for bit.
func TestSharedNoiseOverTransports(t *testing.T) {
	f := sharedRing()
	want := simulated(t, f)
	secret := func(i int, c *sdk.Config) { c.Secret = simulatedSecret(f, i) }
	over := nodes(t, f, overTLS(t, []*sdk.Fleet{f, f, f, f, f}, nil), secret)
	mustRun(t, over)
	sameModels(t, over, want)
	memory := nodes(t, f, inMemory(t, f), secret)
	mustRun(t, memory)
	sameModels(t, memory, want)
}

// agreement records the secrets that a fleet's devices store during a run.
type agreement struct {
	mu   sync.Mutex
	kept map[string]*pair.Kept
}

func (a *agreement) look(t *testing.T, name, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, state.SecretsName))
	if errors.Is(err, fs.ErrNotExist) {
		return // the run is over
	}
	k, err := pair.ParseKept(text)
	if err != nil {
		t.Error(err)
		return
	}
	if k.Private == nil {
		return // no longer needed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[string]*pair.Kept{}
	}
	a.kept[name] = k
}

// models simulates the fleet with the agreed secrets and returns the models.
func (a *agreement) models(t *testing.T, f *sdk.Fleet) [][]float32 {
	t.Helper()
	cfgs, err := f.Machines(samples[:len(f.Members)], noise)
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	hash := f.Hash()
	for i, c := range cfgs {
		c.PairKey = func(peer, release int) (key [32]byte, ok bool) {
			s, ok := a.kept[f.Members[i]].Secret(f.Members[peer], release)
			if back, _ := a.kept[f.Members[peer]].Secret(f.Members[i], release); back != s || !ok {
				t.Errorf("%d and %d do not agree on release %d", i, peer, release)
			}
			return s.Key(hash, release), ok
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

// TestNodesAgreeOnSecrets checks that fleets of two and of five devices agree on secrets, with and without signing
// keys, and end with the models of a simulation that uses the same secrets. After the run no secret remains on a disk,
// and a restarted device still gets answers.
func TestNodesAgreeOnSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		members int
		signed  bool
		tls     bool
	}{"two": {2, true, false}, "five": {5, true, false}, "five without keys": {5, false, false},
		"five over websockets": {5, true, true}} {
		t.Run(name, func(t *testing.T) {
			f := sharedRing()
			if c.members == 2 {
				f.Members, f.Edges = f.Members[:2], f.Edges[:1]
				f.Privacy.Colluders = 0 // with one colluder among two members, no noise would be shared
			}
			trs := inMemory(t, f)
			if c.tls {
				trs = overTLS(t, []*sdk.Fleet{f, f, f, f, f}, nil)
			}
			dir := newLedgers(t, f)
			a := &agreement{}
			run := func() []*sdk.Node {
				var all []*sdk.Node
				for i, name := range f.Members {
					cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
						ResendAfter: 50 * time.Millisecond, Linger: 10 * time.Second,
						Observer: sdk.Observer{Released: func(int, []float32) { a.look(t, name, filepath.Join(dir, name)) }}}
					if c.signed {
						sign(&cfg)
					}
					n, release, err := kept(t, dir, cfg)
					if err != nil {
						t.Fatal(err)
					}
					defer release()
					all = append(all, n)
				}
				mustRun(t, all)
				return all
			}
			all := run()
			sameModels(t, all, a.models(t, f))
			for _, name := range f.Members {
				if _, err := os.Stat(filepath.Join(dir, name, state.SecretsName)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("secrets of %s are left: %v", name, err)
				}
			}
			sameModels(t, run(), a.models(t, f))
		})
	}
}

// TestSharedNoiseSurvivesRestarts restarts all nodes at every release and replaces their signing keys. The models must
// equal those of an uninterrupted run, bit for bit, and no key may be used for two releases.
func TestSharedNoiseSurvivesRestarts(t *testing.T) {
	for name, f := range map[string]*sdk.Fleet{"neighbors": sharedRing(), "partners": partnered(t, 6, 5, 2)} {
		t.Run(name, func(t *testing.T) { survivesRestarts(t, f) })
	}
}

func survivesRestarts(t *testing.T, f *sdk.Fleet) {
	a := &agreement{}
	dir, trs := newLedgers(t, f), inMemory(t, f)
	var mu sync.Mutex
	used := map[[32]byte]map[string]int{} // by key and member: the release
	sdk.OnKey(func(member, neighbor string, _ uint64, release int, key [32]byte) {
		mu.Lock()
		defer mu.Unlock()
		if used[key] == nil {
			used[key] = map[string]int{}
		}
		if before, ok := used[key][member]; ok && before != release {
			t.Errorf("%s uses the key with %s of release %d in release %d", member, neighbor, before, release)
		}
		used[key][member] = release
	})
	defer sdk.OnKey(nil)
	models := make([][]float32, len(f.Members))
	most := len(f.Members)*f.Method.Last() + 20 // a restart is sure of one release of one member; 20 may add none
	for incarnation, left := 0, len(f.Members); left > 0; incarnation++ {
		if incarnation > most {
			t.Fatal("no end")
		}
		ctx, stop := context.WithCancel(t.Context())
		var all []*sdk.Node
		var releases []func()
		for i, name := range f.Members {
			cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
				ResendAfter: 5 * time.Millisecond,
				Observer: sdk.Observer{Released: func(int, []float32) {
					a.look(t, name, filepath.Join(dir, name))
					if i == incarnation%len(trs) { // before the node sends its next release
						stop()
					}
				}},
				Keys: func(name string) []ed25519.PublicKey { return append(memberKeys(name), memberKeys("new "+name)...) }}
			if cfg.Key = memberKey(name); incarnation > i+3 { // members replace their keys one after the other
				cfg.Key = memberKey("new " + name)
			}
			n, release, err := kept(t, dir, cfg)
			if err != nil {
				t.Fatalf("incarnation %d, %s: %v", incarnation, name, err)
			}
			all, releases = append(all, n), append(releases, release)
		}
		for i, err := range runAll(ctx, all) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("incarnation %d, node %d: %v", incarnation, i, err)
			}
			if all[i].Status().Done && models[i] == nil {
				models[i] = all[i].Model()
				left--
			}
			releases[i]()
		}
		stop()
	}
	want := a.models(t, f)
	for i, m := range models {
		if !slices.Equal(m, want[i]) {
			t.Errorf("node %d has another model than in the quiet run", i)
		}
	}
	for key, by := range used {
		if len(by) != 2 {
			t.Errorf("key %x is used by %v, want by the two ends of an edge", key[:4], by)
		}
	}
}
