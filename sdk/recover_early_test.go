package sdk_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestReplacementBeforeTheLostRelease simulates a ring of four that tolerates one colluder. a and c run without b, and
// then a is lost with its disk. Only d has a's last release, and d restarts without a store. The replacement device
// enters the run before a's last release and makes some releases again, but none with data. The whole run must be
// charged.
func TestReplacementBeforeTheLostRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := privateRing()
		f.Members, f.Edges = f.Members[:4], [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "d"}}
		f.Privacy = sharedRing().Privacy
		f.Privacy.Colluders = 1
		f.Privacy.EffectiveSigma = f.Privacy.Sigma
		trs := inMemory(t, f)
		const reached = 6
		start := func(i int, c sdk.Config) *sdk.Node {
			c.Fleet, c.Name, c.Samples, c.Transport, c.ResendAfter = f, f.Members[i], samples[i], trs[i], time.Millisecond
			c.Secret = simulatedSecret(f, i)
			if c.Oracle == nil {
				c.Oracle = oracle(i)
			}
			n, err := sdk.New(c)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		open := func() sdk.Config {
			store, err := tinytest.MemStore()()
			if err != nil {
				t.Fatal(err)
			}
			return sdk.Config{Store: store, Without: []string{"b"}}
		}
		run, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		lost := open()
		lost.Observer.Released = func(round int, _ []float32) {
			if round == reached {
				stop()
			}
		}
		first := []*sdk.Node{start(0, lost), start(2, open()), start(3, sdk.Config{})}
		for _, err := range runAll(run, first) {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}

		again, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		var looked atomic.Int64
		spare := open()
		spare.Recover = true
		spare.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
			looked.Add(1)
			return oracle(0)(ctx, x, sample)
		})
		a, d := start(0, spare), start(3, sdk.Config{Without: []string{"c"}})
		if err := errors.Join(runAll(again, []*sdk.Node{a, d})...); err != nil {
			t.Fatalf("%v: %+v", err, a.Status())
		}
		st := a.Status()
		if !st.Done || st.Recovered < 1 || st.Recovered >= reached {
			t.Errorf("it takes over after release %d, and the lost device had made %d: nothing was tested: %+v", st.Recovered,
				reached, st)
		}
		if n := looked.Load(); n > 0 {
			t.Errorf("the replacement looks at the data %d times", n)
		}
		if got, want := a.Spend(), f.Total(f.Method.Rounds); got != want {
			t.Errorf("it has spent %v, want %v", got, want)
		}
	})
}
