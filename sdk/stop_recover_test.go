package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// TestStopReachesRecoveredDevices loses a device with its disk in a run that ends early. It repeats this for every
// release with SPADE_LONG, and for every second release otherwise. The device belongs to the member that requests the
// stop, or to a different member. The replacement device must learn of the end from its neighbors, and all members must
// end with the same round.
func TestStopReachesRecoveredDevices(t *testing.T) {
	t.Parallel()
	f := stoppable(privateRing(), 1)
	const asksAfter, last = 2, 5
	recovered := 0
	for _, victim := range []int{0, 1, 3} {
		for release := 1; release <= f.Method.EndedAt(last).Last(); release++ {
			if !long && (victim+release)%2 == 0 {
				continue
			}
			all, took := playLoss(t, f, victim, release, func(n *sdk.Node, made int) {
				if made == asksAfter {
					if _, err := n.Stop(last); err != nil {
						t.Error(err)
					}
				}
			})
			recovered += took
			want := last
			// The request is sent with the next release, after that release is stored. Until then the request may be
			// lost with the device.
			if victim == 0 && release <= asksAfter+1 {
				want = all[1].Status().End
			}
			for i, n := range all {
				if st := n.Status(); !st.Done || st.End != want || st.Refused != 0 || st.Round != f.Method.EndedAt(want).Last() {
					t.Errorf("node %d: %+v, want the end after round %d", i, st, want)
				}
			}
			if t.Failed() {
				t.Fatalf("device %d was lost at release %d", victim, release)
			}
		}
	}
	if recovered < 10 || long && recovered < 20 {
		t.Errorf("%d devices have taken over: nothing was tested", recovered)
	}
}

// playLoss runs a fleet in which the device of member victim is lost right after it stores the given release. The first
// member requests the stop.
func playLoss(t *testing.T, f *sdk.Fleet, victim, release int, ask func(n *sdk.Node, made int)) (all []*sdk.Node, took int) {
	t.Helper()
	trs := inMemory(t, f)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	all = make([]*sdk.Node, len(f.Members))
	var wg sync.WaitGroup
	for i, name := range f.Members {
		life := func(spare bool) error {
			ctx, die := context.WithCancel(ctx)
			defer die()
			dir := filepath.Join(t.TempDir(), fmt.Sprint(name, spare))
			store, err := state.Open(dir)
			if err != nil {
				return err
			}
			defer store.Close()
			cfg := sdk.Config{Fleet: f, Name: name, Samples: samples[i], Oracle: oracle(i), Transport: trs[i], Store: store,
				ResendAfter: 3 * time.Millisecond, Recover: spare,
				Observer: sdk.Observer{Released: func(made int, _ []float32) {
					if i == 0 && !spare {
						ask(all[0], made)
					}
					if i == victim && !spare && made == release {
						die()
					}
				}}}
			sign(&cfg)
			if all[i], err = sdk.New(cfg); err != nil {
				return err
			}
			err = all[i].Run(ctx)
			if i == victim && !spare && errors.Is(err, context.Canceled) {
				return errDead
			}
			return err
		}
		wg.Go(func() {
			err := life(false)
			if errors.Is(err, errDead) {
				took++
				err = life(true)
			}
			if err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	return all, took
}

// TestReplacementInAShortRunHasACertificate checks that a replacement device has a certificate even if the run ends
// early. The certificate counts all planned rounds.
func TestReplacementInAShortRunHasACertificate(t *testing.T) {
	f := stoppable(privateRing(), 1)
	all, _ := playLoss(t, f, 3, 4, func(n *sdk.Node, made int) {
		if made == 2 {
			if _, err := n.Stop(5); err != nil {
				t.Error(err)
			}
		}
	})
	for i, n := range all {
		c, err := n.Certificate()
		if err != nil || (c.TookOverAfter > 0) != (i == 3) || i == 3 && c.Rounds != f.Method.Rounds {
			t.Errorf("node %d: %+v, %v", i, c, err)
		}
	}
}
