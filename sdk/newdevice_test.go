package sdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

func pairOf(shared bool) *sdk.Fleet {
	f := sharedRing()
	f.Members, f.Edges, f.Privacy.Colluders = f.Members[:2], f.Edges[:1], 0
	if !shared {
		f.Privacy.PairSigma, f.Privacy.EffectiveSigma = 0, 0
	}
	return f
}

// TestNewDeviceInOldRun simulates a device that lost its state and its ledger during a run and starts with new ones. A
// neighbor shows releases that the device made before the loss. The device must stop with an error that says what to
// do, and these releases must be charged, with and without pairwise noise.
func TestNewDeviceInOldRun(t *testing.T) {
	for _, shared := range []bool{true, false} {
		for _, signing := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := pairOf(shared)
				trs, ledgers := inMemory(t, f), newLedgers(t, f)
				node := func(i int, dir string, seen func(round int)) (*sdk.Node, func()) {
					cfg := sdk.Config{Fleet: f, Name: f.Members[i], Samples: samples[i], Oracle: oracle(i), Transport: trs[i],
						ResendAfter: time.Second, Linger: time.Hour,
						Events: sdk.Events{Released: func(round int, _ []float32) { seen(round) }}}
					if signing {
						sign(&cfg)
					}
					n, release, err := kept(t, dir, cfg)
					if err != nil {
						t.Fatal(err)
					}
					return n, release
				}
				a, releaseA := node(0, ledgers, func(int) {})
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan error, 2)
				go func() { over <- a.Run(ctx) }()
				ctxB, stopB := context.WithCancel(t.Context())
				b, releaseB := node(1, ledgers, func(round int) {
					if round == 4 {
						stopB()
					}
				})
				if err := b.Run(ctxB); err == nil {
					t.Fatal("the run was over at release 4")
				}
				releaseB()

				b, releaseB = node(1, newLedgers(t, f), func(round int) { t.Errorf("release %d of a device that has lost its state", round) })
				ended := make(chan error, 1)
				go func() { ended <- b.Run(t.Context()) }()
				select {
				case err := <-ended:
					for _, want := range []string{`"a" holds release`, "but this device has lost its state of the run", "the others continue without it"} {
						if !errors.Is(err, state.ErrRollback) || !strings.Contains(err.Error(), want) {
							t.Errorf("shared %v, signed %v: %v", shared, signing, err)
						}
					}
				case <-time.After(time.Hour):
					t.Errorf("shared %v, signed %v: the device waits, and nobody says why: %+v", shared, signing, b.Status())
				}
				if spent := b.Spend().Rho; (spent > 0) != signing {
					t.Errorf("shared %v, signed %v: rho %v is charged", shared, signing, spent)
				}
				stop()
				<-over
				releaseA()
				releaseB()
			})
		}
	}
}
