package sdk_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
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
		return sim.PairSecret(f.Method.Seed, i, slices.Index(f.Members, neighbor))
	}
}

// filed gives each member of a fleet a file with one-time keys in a folder, and lists the next key of each in the fleet.
func filed(t *testing.T, dir string, f *sdk.Fleet) (files []state.PairKeys) {
	t.Helper()
	f.PairKeys = nil
	for _, name := range f.Members {
		file := state.PairKeys(filepath.Join(dir, name+".pairs"))
		keys := must(file.Add(name, 1))(t)
		files, f.PairKeys = append(files, file), append(f.PairKeys, keys[0])
	}
	return files
}

// TestNodesShareSecretsWithoutAWord checks that fleets of two devices without signing keys and of five with such keys share
// the secrets that follow from the fleet, and end with the models of a simulation that uses the same secrets. No log contains
// a secret. After the run no private half is on a disk, and a restarted device still gets answers. No later run gets a key of the first one,
// not even from a disk on which an old copy of the private halves was restored.
func TestNodesShareSecretsWithoutAWord(t *testing.T) {
	for _, f := range []*sdk.Fleet{sharedPair(), sharedRing()} {
		t.Run(fmt.Sprint(len(f.Members)), func(t *testing.T) {
			dir := newLedgers(t, f)
			files := filed(t, dir, f)
			old := must(os.ReadFile(string(files[0])))(t)
			trs, log := inMemory(t, f), new(journal)
			config := func(i int, f *sdk.Fleet) sdk.Config {
				cfg := sdk.Config{Fleet: f, Name: f.Members[i], Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
					ResendAfter: 50 * time.Millisecond, Linger: 10 * time.Second}
				if len(f.Members) > 2 {
					sign(&cfg)
				}
				cfg.PairKeys, cfg.Logger = files[i], slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				return cfg
			}
			book := newKeyBook()
			sdk.OnKey(book.note)
			defer sdk.OnKey(nil)
			run := func() []*sdk.Node {
				var all []*sdk.Node
				for i := range f.Members {
					n, release, err := kept(t, dir, config(i, f))
					ok(t, err)
					defer release()
					all = append(all, n)
				}
				mustRun(t, all)
				return all
			}
			all := run()
			sameModels(t, all, book.models(t, f))
			for i, file := range files {
				if key, err := file.Find(f.PairKeys[i], f.Hash()); key != nil || err != nil {
					t.Errorf("a private half of %s is left: %v", f.Members[i], err)
				}
			}
			for key := range book.of {
				if text := log.String(); strings.Contains(text, string(key.key[:8])) || strings.Contains(text, fmt.Sprintf("%x", key.key[:4])) {
					t.Errorf("a key is in the log:\n%s", text)
				}
			}
			uses := len(book.of)
			sameModels(t, run(), book.models(t, f))
			if len(book.of) != uses {
				t.Error("a finished run has used more keys")
			}
			again := *f
			again.Run = "another"
			if _, err := sdk.New(config(0, &again)); !errors.Is(err, pair.ErrUsed) {
				t.Errorf("the same key in another run: %v", err)
			}
			ok(t, os.WriteFile(string(files[0]), old, 0o600))
			ok(t, os.RemoveAll(filepath.Join(dir, "a"))) // the state folder of another run is another one
			_, _, err := kept(t, dir, config(0, &again))
			if !errors.Is(err, certificate.ErrPairKey) || !strings.Contains(err.Error(), `run "test" used the one-time key`) {
				t.Errorf("the same key from an old copy of the file: %v", err)
			}
		})
	}
}

// failing is a pair.Keys of a process that crashes before or after the nth change of its keys.
type failing struct {
	pair.Keys
	changes *int // counted across processes
	nth     int
	before  bool
}

func (k failing) change(change func() error) error {
	*k.changes++
	if *k.changes == k.nth && k.before {
		return tinytest.ErrCrashed
	}
	err := change()
	if *k.changes == k.nth && err == nil {
		err = tinytest.ErrCrashed
	}
	return err
}

func (k failing) Bind(p pair.Public, fleet [32]byte) error {
	return k.change(func() error { return k.Keys.Bind(p, fleet) })
}

func (k failing) Delete(p pair.Public, fleet [32]byte) error {
	return k.change(func() error { return k.Keys.Delete(p, fleet) })
}

// TestPairKeysSurviveCrashes simulates crashes of one of three devices before and after it binds its one-time key,
// deletes the private half, and saves each state. After each crash the device continues from its store. The models must
// equal, bit for bit, the models of an undisturbed run with the same secrets, no key may be used twice, and no private
// half may be left.
func TestPairKeysSurviveCrashes(t *testing.T) {
	type fault struct {
		name   string
		nth    int
		before bool
	}
	var faults []fault
	for _, before := range []bool{true, false} {
		faults = append(faults, fault{"keys", 1, before}, fault{"keys", 2, before})
		for nth := 1; nth <= 5; nth++ {
			faults = append(faults, fault{"save", nth, before})
		}
	}
	happened := map[string]int{}
	for _, what := range faults {
		f := sharedRing()
		f.Members, f.Edges = f.Members[:3], [][2]string{{"a", "b"}, {"b", "c"}}
		f.Privacy.Colluders = 0
		f.Method.Rounds, f.Method.Cooldown = 2, 1
		book, open, changes := newKeyBook(), tinytest.MemStore(), 0
		sdk.OnKey(book.note)
		if what.name == "save" && what.before {
			open = tinytest.TornWrite(open, what.nth)
		} else if what.name == "save" {
			open = tinytest.CrashAt(open, what.nth)
		}
		pairUp(&sdk.Config{Fleet: f})
		w := &tinytest.World{Fleet: f, Samples: samples[:3], Disks: map[string]tinytest.OpenStore{"b": open},
			Oracle: func(client int) zoest.Oracle { return oracle(client) }}
		starts := 0
		w.Change = func(i int, c *sdk.Config) {
			sign(c)
			c.Secret, c.Noise, c.ResendAfter = nil, noiseAfter(t, c), 3*time.Millisecond
			if i == 1 {
				starts++
				if what.name == "keys" {
					c.PairKeys = failing{c.PairKeys, &changes, what.nth, what.before}
				}
			}
		}
		got, err := w.Run(t.Context())
		if err != nil {
			t.Fatalf("%+v: %v", what, err)
		}
		happened[what.name] += starts - 1
		sdk.OnKey(nil)
		for i, want := range book.models(t, f) {
			if !slices.Equal(got.Models[i], want) {
				t.Errorf("%+v: node %d has another model than in the quiet run", what, i)
			}
			if key, err := oneTime.Find(f.PairKeys[i], f.Hash()); key != nil || err != nil {
				t.Errorf("%+v: the private half of node %d is left: %v", what, i, err)
			}
		}
		if len(book.twice) > 0 {
			t.Errorf("%+v: %q have used a key twice", what, book.twice)
		}
	}
	if happened["save"] < 10 || happened["keys"] < 4 {
		t.Errorf("%v crashes: nothing was tested", happened)
	}
}

// TestRunNeedsItsPairKeys checks that a run with pairwise noise does not begin without a usable one-time key of each
// member, and that each error says what to do.
func TestRunNeedsItsPairKeys(t *testing.T) {
	config := func(change func(f *sdk.Fleet, c *sdk.Config)) error {
		f := sharedRing()
		cfg := sdk.Config{Fleet: f, Name: "a", Samples: samples[0], Oracle: oracle(0), Transport: inMemory(t, f)[0]}
		sign(&cfg)
		change(f, &cfg)
		_, err := sdk.New(cfg)
		return err
	}
	ok(t, config(func(*sdk.Fleet, *sdk.Config) {}))
	for want, change := range map[string]func(f *sdk.Fleet, c *sdk.Config){
		`Fleet.PairKeys is nil, want a one-time key of each member`:  func(f *sdk.Fleet, _ *sdk.Config) { f.PairKeys = nil },
		`PairKeys is nil, want the private halves`:                   func(_ *sdk.Fleet, c *sdk.Config) { c.PairKeys = nil },
		`members.pair_key is a list of 4 keys, want one key of each`: func(f *sdk.Fleet, _ *sdk.Config) { f.PairKeys = f.PairKeys[:4] },
		`members[3].pair_key is "x25519:`:                            func(f *sdk.Fleet, _ *sdk.Config) { f.PairKeys[3] = f.PairKeys[1] },
		`but that of members[1] is the same`:                         func(f *sdk.Fleet, _ *sdk.Config) { f.PairKeys[3] = f.PairKeys[1] },
		`is a point of low order`:                                    func(f *sdk.Fleet, _ *sdk.Config) { f.PairKeys[2] = pair.Public{1} },
		`is not reduced`:                                             func(f *sdk.Fleet, _ *sdk.Config) { f.PairKeys[2][31] |= 0x80 },
		`does not have this one-time key`:                            func(_ *sdk.Fleet, c *sdk.Config) { c.PairKeys = new(memoryKeys) },
		`was deleted, as after the last release with noise`: func(f *sdk.Fleet, _ *sdk.Config) {
			ok(t, oneTime.Delete(f.PairKeys[0], f.Hash()))
		},
		`none, because pair_sigma is 0`: func(f *sdk.Fleet, _ *sdk.Config) {
			f.Privacy.PairSigma, f.Privacy.EffectiveSigma, f.Privacy.Colluders = 0, 0, 0
		},
	} {
		if err := config(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	own := config(func(f *sdk.Fleet, c *sdk.Config) { f.PairKeys, c.PairKeys, c.Secret = nil, nil, simulatedSecret(f, 0) })
	if own != nil {
		t.Errorf("with secrets of one's own: %v", own)
	}
}
