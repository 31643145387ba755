package sdk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// brief formats a saved state without its vectors, for failure messages.
func brief(k *wire.Snapshot) string {
	if k == nil {
		return "nothing"
	}
	return fmt.Sprintf("release %d of %q", k.State.Round, k.Member)
}

// TestReadSnapshot checks that the saved state of a running node can be read and equals what the node released.
// Constant reading neither disturbs the node nor yields a partial state.
func TestReadSnapshot(t *testing.T) {
	t.Parallel()
	f := only(1, ring())
	f.Dim, f.Method.Rounds = 2000, 40 // many saves, so that some are read half written
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := state.ReadSnapshot(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	store := must(state.Open(dir))(t)
	if _, err := state.ReadSnapshot(dir); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "slot-0 holds nothing yet") {
		t.Errorf("nothing saved: %v", err)
	}
	if used, err := state.InUse(dir); !used || err != nil {
		t.Errorf("an open store is in use: %v, %v", used, err)
	}
	stop, busy := make(chan struct{}), sync.WaitGroup{}
	busy.Go(func() {
		for last := 0; ; {
			select {
			case <-stop:
				return
			default:
			}
			k, err := state.ReadSnapshot(dir)
			if errors.Is(err, fs.ErrNotExist) && last == 0 {
				continue
			}
			if err != nil || k.State.Round < last {
				t.Errorf("after round %d: %s, error %v", last, brief(k), err)
				return
			}
			last = k.State.Round
		}
	})
	n := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) {
		c.Store = store
		c.Events.Released = func(round int, x []float32) {
			k, err := state.ReadSnapshot(dir)
			if err != nil || k.State.Round != round || !slices.Equal(k.State.X, x) || k.Member != "a" || k.Fleet != f.Hash() ||
				k.Build == "" {
				t.Errorf("round %d: kept %s, error %v", round, brief(k), err)
			}
		}
	})[0]
	ok(t, n.Run(t.Context()))
	close(stop)
	busy.Wait()
	ok(t, store.Close())
	if used, err := state.InUse(dir); used || err != nil {
		t.Errorf("a closed store is in use: %v, %v", used, err)
	}
	k, err := state.ReadSnapshot(dir)
	if err != nil || sdk.ModelHash(k.State.X) != sdk.ModelHash(n.Model()) {
		t.Errorf("at the end: %s, error %v", brief(k), err)
	}
	if report, err := state.Inspect(dir); err != nil || report.Round != k.State.Round {
		t.Errorf("found %+v, error %v", report, err)
	}

	if used, err := state.InUse(t.TempDir()); used || err != nil {
		t.Errorf("a folder without a store: %v, %v", used, err)
	}
}

// TestNodeReservesItsState checks that before a node makes a release, it reserves enough disk space for its largest
// state, so that saving a state never lengthens a file.
func TestNodeReservesItsState(t *testing.T) {
	f := only(1, ring())
	f.Dim = 4000
	dir := t.TempDir()
	store := must(state.Open(dir))(t)
	defer store.Close()
	all := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) { c.Store = store })
	size := func() (both int64) {
		for _, name := range []string{"slot-0", "slot-1"} {
			if st, err := os.Stat(filepath.Join(dir, name)); err == nil {
				both += st.Size()
			}
		}
		return both
	}
	before := size()
	mustRun(t, all)
	if after := size(); before < int64(2*4*f.Dim) || after != before {
		t.Errorf("the slots have %d bytes before the first release, and %d after the last", before, after)
	}
}
