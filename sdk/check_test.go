package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// TestCheck checks that Check reports every error that New or Run would return, each in the right field of the result
// and in no other field, without querying the oracle.
func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	own := must(state.CreateLedger(path, "data", dpmech.Client, nil, state.NeverUsed))(t)
	f := privateRing()
	mixed, negative := *f, *f // of mixed, releases 1 and 4 use data
	mixed.Method.Mixing, negative.Method.Mixing = 2, -1
	g := dpmech.Gaussian{Clip: f.Privacy.Clip, Sigma: f.Privacy.Sigma}
	for _, f := range []*sdk.Fleet{f, &mixed} {
		run := runID(f.Run, f.Hash(), "a")
		ok(t, own.Reserve(run, 1, g), own.Reserve(run, 2, g), own.Mark(run, 2))
	}
	ok(t, own.Close())
	ledger := must(state.ReadLedger(path))(t)
	small := must(state.CreateLedger(path+".small", "data", dpmech.Client, &dpmech.Limit{Epsilon: 1e-3, Delta: 1e-5}, state.NeverUsed))(t)
	defer small.Close()
	over := state.NeverUsed
	over.Ends = "2020-02-29"
	ended := must(state.CreateLedger(path+".ended", "data", dpmech.Client, nil, over))(t)
	defer ended.Close()
	if _, err := sdk.New(sdk.Config{Fleet: f, Name: "a", Samples: 7, Oracle: oracle(0), Transport: inMemory(t, f)[0], Ledger: ended}); err == nil ||
		!strings.Contains(err.Error(), "ended with 2020-02-29") {
		t.Errorf("New with a ledger that has ended: %v", err)
	}
	build := "spade-edge arithmetic 2"
	nothing := func() (*wire.Snapshot, error) { return nil, fmt.Errorf("no state: %w", fs.ErrNotExist) }
	kept := func(k wire.Snapshot) func() (*wire.Snapshot, error) {
		return func() (*wire.Snapshot, error) { return &k, nil }
	}
	here := wire.Snapshot{Member: "a", Fleet: f.Hash(), Build: build, State: admm.State{Round: 2}}
	behind, level := here, here
	behind.Fleet, behind.State.Round, level.Fleet, level.State.Round = mixed.Hash(), 3, mixed.Hash(), 4
	oracle := sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { panic("asked") })
	for name, c := range map[string]struct {
		change  func(c *sdk.Config)
		read    func() (*wire.Snapshot, error)
		subject string
		want    string
	}{
		"sound, fresh":           {func(c *sdk.Config) { c.Ledger = nil }, nothing, "", ""},
		"sound, kept":            {func(*sdk.Config) {}, kept(here), "", ""},
		"not a member":           {func(c *sdk.Config) { c.Name = "z"; c.Ledger = nil }, nothing, "Config", `Name is "z"`},
		"ledger ended":           {func(c *sdk.Config) { c.Ledger = ended }, nothing, "Ledger", "ended with 2020-02-29, as its owner declared"},
		"state missing":          {func(*sdk.Config) {}, nothing, "Ledger", "but this device has lost its state of the run"},
		"mixing, state set back": {func(c *sdk.Config) { c.Fleet = &mixed }, kept(behind), "Ledger", "but the stored state ends with release 1"},
		"mixing, kept":           {func(c *sdk.Config) { c.Fleet = &mixed }, kept(level), "", ""},
		"mixing, negative":       {func(c *sdk.Config) { c.Fleet = &negative }, nothing, "Config", "mixing"},
		"state unread": {func(c *sdk.Config) { c.Ledger = nil },
			func() (*wire.Snapshot, error) { return nil, errors.New("torn") }, "State", "torn"},
		"another fleet": {func(c *sdk.Config) { c.Ledger = nil }, kept(wire.Snapshot{Member: "a", Build: build}), "State",
			"sdk: stored state of release 0: it belongs to a fleet with hash 0000000000000000"},
		"another's state": {func(c *sdk.Config) { c.Ledger = nil },
			kept(wire.Snapshot{Member: "b", Fleet: f.Hash(), Build: build}),
			"State", `member "b", want`},
		"another program": {func(c *sdk.Config) { c.Ledger = nil },
			kept(wire.Snapshot{Member: "a", Fleet: f.Hash(), Build: "x"}), "State", `"x"`},
		"limit": {func(c *sdk.Config) {
			limited := *f
			limited.Privacy.EpsilonLimit = 1e-3
			c.Fleet, c.Ledger = &limited, nil
		}, nothing, "Privacy", "covers only 0"},
		"spent ledger": {func(c *sdk.Config) { c.Ledger = small }, kept(here), "Ledger", "budget"},
		"ledger set back": {func(*sdk.Config) {}, func() (*wire.Snapshot, error) {
			k := here
			k.Ledger = `{"id":"0123456789abcdef0123456789abcdef","seq":9,"hash":"00"}`
			return &k, nil
		}, "Ledger", "ledger"},
	} {
		cfg := sdk.Config{Fleet: f, Name: "a", Samples: 5, Oracle: oracle, Ledger: ledger}
		c.change(&cfg)
		r := cfg.Check(c.read)
		for subject, err := range map[string]error{
			"Config": r.Config, "State": r.State, "Privacy": r.Privacy, "Ledger": r.Ledger,
		} {
			if (err != nil) != (subject == c.subject) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v", name, subject, err)
			}
		}
		if strings.HasSuffix(name, ", kept") != (r.Kept != nil && c.subject == "") {
			t.Errorf("%s: kept %+v", name, r.Kept)
		}
	}
	// Without a function, Check reads the Store.
	mine := must(state.Open(filepath.Join(t.TempDir(), "mine")))(t)
	defer mine.Close()
	other := *f
	other.Members, other.Edges, other.Run = f.Members[:1], nil, "other"
	if r := (sdk.Config{Fleet: &other, Name: "a"}).Check(nil); r.State != nil || r.Kept != nil {
		t.Errorf("without a store: %+v", r)
	}
	if r := (sdk.Config{Fleet: &other, Name: "a", Store: mine}).Check(nil); r.State != nil || r.Kept != nil {
		t.Errorf("with an empty store: %+v", r)
	}
	mustRun(t, nodes(t, &other, inMemory(t, &other), func(_ int, c *sdk.Config) { c.Store = mine }))
	if r := (sdk.Config{Fleet: &other, Name: "a", Store: mine}).Check(nil); r.State != nil || r.Kept == nil || r.Kept.State.Round != other.Method.Last() {
		t.Errorf("with a store: %+v", r)
	}
	another := (sdk.Config{Fleet: f, Name: "a", Store: mine}).Check(nil).State
	_, refused := sdk.New(sdk.Config{Fleet: f, Name: "a", Samples: 5, Oracle: oracle, Transport: inMemory(t, f)[0], Store: mine})
	for _, err := range []error{another, refused} {
		if err == nil || !strings.Contains(err.Error(), "sdk: "+mine.String()+": stored state of release ") || !strings.Contains(err.Error(), ": give each run a state of its own") {
			t.Errorf("state of another run: %v", err)
		}
	}
	// A running node may save its state and mark a release between Check's two reads of the state.
	reads := 0
	later := func() (*wire.Snapshot, error) {
		k := here
		k.State.Round = reads
		reads++
		return &k, nil
	}
	reads = 1
	if r := (sdk.Config{Fleet: f, Name: "a", Ledger: ledger}).Check(later); r.Ledger != nil ||
		reads != 3 {
		t.Errorf("%v after %d looks", r.Ledger, reads-1)
	}
}

// reserving is a store that records how many bytes a new node reserves for a state, and then refuses.
type reserving struct {
	state.Store
	size int
}

func (r *reserving) Reserve(size int) error { r.size = size; return errors.New("reserved") }

// TestCheckSpace checks that the space that Check reports is that of the two slots that a new node reserves and of its
// logs, and for a node with slots that of its logs.
func TestCheckSpace(t *testing.T) {
	f, store := privateRing(), new(reserving)
	cfg := sdk.Config{Fleet: f, Name: "a", Samples: 5, Oracle: oracle(0), Transport: inMemory(t, f)[0], Store: store}
	if _, err := sdk.New(cfg); store.size == 0 {
		t.Fatal(err)
	}
	for round, want := range map[int]int64{0: 1024*int64(f.Method.Last()) + 2*int64(store.size), 2: 1024 * int64(f.Method.Last()-2)} {
		got := cfg.Check(func() (*wire.Snapshot, error) {
			if round == 0 {
				return nil, fs.ErrNotExist
			}
			return &wire.Snapshot{Member: "a", Fleet: f.Hash(), Build: "spade-edge arithmetic 2", State: admm.State{Round: round}}, nil
		}).Space
		if got != want {
			t.Errorf("after round %d: %d bytes, want %d", round, got, want)
		}
	}
}
