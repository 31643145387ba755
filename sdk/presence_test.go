package sdk_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// graphOf changes a fleet to the given graph and returns it. members holds one-letter names, and each edge is a pair of
// letters.
func graphOf(f *sdk.Fleet, members string, edges ...string) *sdk.Fleet {
	f.Members, f.Edges = strings.Split(members, ""), nil
	for _, e := range edges {
		f.Edges = append(f.Edges, [2]string{e[:1], e[1:]})
	}
	return f
}

// ten gives a fleet ten members on a ring, each with an edge to the member three further on, but none of those left out.
func ten(f *sdk.Fleet, without string) *sdk.Fleet {
	const all = "abcdefghij"
	f.Members, f.Edges = nil, nil
	for i, a := range strings.Split(all, "") {
		if !strings.Contains(without, a) {
			f.Members = append(f.Members, a)
		}
		for _, step := range []int{1, 3} {
			if b := all[(i+step)%10:][:1]; !strings.ContainsAny(a+b, without) {
				f.Edges = append(f.Edges, [2]string{a, b})
			}
		}
	}
	return f
}

// patient creates nodes without keys that give up on a silent neighbor after five minutes.
func patient(t *testing.T, f *sdk.Fleet, trs []transport.Transport, change func(i int, c *sdk.Config)) []*sdk.Node {
	t.Helper()
	return nodes(t, f, trs, func(i int, c *sdk.Config) {
		c.Key, c.Keys, c.PairKeys, f.PairKeys = nil, nil, nil, nil
		c.Samples, c.Patience, c.ResendAfter, c.Linger = 3, 5*time.Minute, 0, 0
		if f.Privacy.PairSigma > 0 {
			c.Secret = func(neighbor string) pair.Secret { return sim.PairSecret(5, i, slices.Index(f.Members, neighbor)) }
		}
		c.Events.Released = func(int, []float32) { time.Sleep(10 * time.Millisecond) } // slow enough for leave to see each release
		if change != nil {
			change(i, c)
		}
	})
}

func given(all []*sdk.Node) (up []string) {
	for _, n := range all {
		names := ""
		for _, of := range n.Status().Neighbors {
			if of.Quarantine.Release > 0 {
				names += of.Name
			}
		}
		up = append(up, names)
	}
	return up
}

// leave runs all nodes and returns their errors. Some nodes, whose indices are in who, stop for good once they have
// made a given number of releases (after).
func leave(ctx context.Context, all []*sdk.Node, after int, who ...int) []error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if slices.Contains(who, i) {
			wg.Go(func() {
				for n.Status().Round < after {
					time.Sleep(5 * time.Millisecond)
				}
				cancel()
			})
		}
		wg.Go(func() { errs[i] = n.Run(ctx) })
	}
	wg.Wait()
	return errs
}

// TestOnlyTheNeighborsOfTheDeadGiveUp simulates a chain a, b, c, d in which the last member dies. Only c may give up on
// a neighbor, even if c has twice the patience of the other members. If c sent no heartbeats, b would give up on c.
func TestOnlyTheNeighborsOfTheDeadGiveUp(t *testing.T) {
	for _, beats := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := graphOf(privateRing(), "abcd", "ab", "bc", "cd")
			trs := inMemory(t, f)
			if !beats {
				trs[2] = linked(f, trs, 2, func(p tinytest.Packet) []tinytest.Packet {
					if wire.IsHeartbeat(p.Frame) {
						return nil
					}
					return []tinytest.Packet{p}
				})
			}
			all := patient(t, f, trs, func(i int, c *sdk.Config) {
				if i == 2 {
					c.Patience = 10 * time.Minute
				}
			})
			began := time.Now()
			errs := leave(day(t), all, 3, 3)
			took, got := time.Since(began), given(all)
			if !beats {
				if got[1] != "c" {
					t.Errorf("given up: %q: the test has no power", got)
				}
				return
			}
			if err := errors.Join(errs[:3]...); err != nil || took < 10*time.Minute || took > 12*time.Minute {
				t.Errorf("the run took %v: %v", took, err)
			}
			if want := []string{"", "", "d", ""}; !slices.Equal(got, want) {
				t.Errorf("given up: %q, want %q", got, want)
			}
		})
	}
}

// TestWorkIsNotSilence lets two nodes each work for an hour on one query, at different times. No node may give up on a
// neighbor, and the models must equal the models of a run with instant queries.
func TestWorkIsNotSilence(t *testing.T) {
	f := privateRing()
	var want [][]float32
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			all := patient(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
				asked, inner := 0, c.Oracle
				c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
					if asked++; slow && (i == 1 && asked == 20 || i == 4 && asked == 60) {
						time.Sleep(time.Hour)
					}
					return inner.Loss(ctx, x, sample)
				})
			})
			began := time.Now()
			ok(t, runAll(day(t), all)...)
			if took := time.Since(began); slow && took < 2*time.Hour {
				t.Errorf("the run took %v: nobody worked", took)
			}
			if got := given(all); strings.Join(got, "") != "" {
				t.Errorf("given up: %q", got)
			}
			if slow {
				sameModels(t, all, want)
				return
			}
			for _, n := range all {
				want = append(want, n.Model())
			}
		})
	}
}

// TestWhoWasGivenUpComesBack simulates a member that returns after its neighbor gave up on it, while the other members
// still run. The returning member must learn of this, and stop.
func TestWhoWasGivenUpComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := graphOf(privateRing(), "abcd", "ab", "bc", "cd")
		all := patient(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
			inner := c.Oracle
			c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
				time.Sleep(20 * time.Second)
				return inner.Loss(ctx, x, sample)
			})
		})
		var rest sync.WaitGroup
		errs := make([]error, 3)
		for i, n := range all[:3] {
			rest.Go(func() { errs[i] = n.Run(day(t)) })
		}
		leave(day(t), all[3:], 2, 0)
		time.Sleep(20 * time.Minute)
		if err := all[3].Run(day(t)); !errors.Is(err, trust.ErrQuarantine) ||
			!strings.Contains(err.Error(), "no message arrived from it for longer than the patience") {
			t.Errorf("back again: %v", err)
		}
		rest.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
}

// TestWhoHearsNobodyGivesNobodyUp checks that a node that is cut off from all neighbors gives up on none of them, and
// continues when the network returns.
func TestWhoHearsNobodyGivesNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := ring()
		trs := inMemory(t, f)
		back := time.Now().Add(time.Hour)
		for i := range trs {
			trs[i] = linked(f, trs, i, func(p tinytest.Packet) []tinytest.Packet { // as with the cable unplugged
				if time.Now().Before(back) {
					return nil
				}
				return []tinytest.Packet{p}
			})
		}
		all := patient(t, f, trs, nil)
		ok(t, runAll(day(t), all)...)
		if got := given(all); strings.Join(got, "") != "" {
			t.Errorf("given up: %q", got)
		}
	})
}

// eight are the indices in a fleet of [ten] of all members but c and g.
var eight = []int{0, 1, 3, 4, 5, 7, 8, 9}

// vanish runs a fleet of ten members, of which c and g stop for good after their third release. It returns the nodes of the
// others, which must finish without an operator, and give up on c and g only.
func vanish(t *testing.T, f *sdk.Fleet, change func(i int, c *sdk.Config)) (left []*sdk.Node) {
	t.Helper()
	all := patient(t, f, inMemory(t, f), change)
	errs := leave(day(t), all, 3, 2, 6)
	for _, i := range eight {
		if left = append(left, all[i]); errs[i] != nil || !all[i].Status().Done {
			t.Errorf("node %d: %v", i, errs[i])
		}
		for _, of := range all[i].Status().Neighbors {
			if (of.Quarantine.Release > 0) != strings.Contains("cg", of.Name) {
				t.Errorf("node %d has %+v of %s", i, of.Quarantine, of.Name)
			}
		}
	}
	return left
}

// TestTwoOfTenVanish simulates a run in which two of ten members vanish. The models must be as good as in a run of only the
// other eight members.
func TestTwoOfTenVanish(t *testing.T) {
	var start, vanished, never float64
	loss := func(n *sdk.Node) (sum float64) { // on the data of the eight
		for _, i := range eight {
			for s := range 3 {
				sum += must(oracle(i)(t.Context(), n.Model(), s))(t) / float64(3*len(eight))
			}
		}
		return sum
	}
	learning := func(without string) *sdk.Fleet {
		f := ten(ring(), without)
		f.Method.Rounds, f.Method.Cooldown, f.Method.Estimator, f.Method.Directions = 100, 20, zoest.Tracking, zoest.Walsh
		f.Method.Eta, f.Method.Mu, f.X0 = admm.Schedule{0.9}, admm.Schedule{0.1}, []float32{1, 1, 1, 1, 1, 1}
		return f
	}
	synctest.Test(t, func(t *testing.T) { vanished = loss(vanish(t, learning(""), nil)[0]) })
	synctest.Test(t, func(t *testing.T) {
		f := learning("cg")
		all := patient(t, f, inMemory(t, f), func(i int, c *sdk.Config) { c.Oracle = oracle(eight[i]) })
		start = loss(all[0])
		ok(t, runAll(day(t), all)...)
		never = loss(all[0])
	})
	if !(start-never > 0.01) || math.Abs(vanished-never) > (start-never)/70 {
		t.Errorf("loss %.5f at the start, %.5f where two vanished, %.5f without the two", start, vanished, never)
	}
}

// TestNoiseOfTheVanished checks that pairwise noise cancels in the mean of the members that remain if the fleet is planned for
// as many absent members. Otherwise, the noise that the vanished members' neighbors shared with others stays in the models.
// Nobody learns here, so that the mean is that of the noise: of 60 releases of eight members or, where two have vanished
// unplanned, about ten times as much.
func TestNoiseOfTheVanished(t *testing.T) {
	for absent, planned := range map[int]bool{2: true, 0: false} {
		synctest.Test(t, func(t *testing.T) {
			f := ten(privateRing(), "")
			g, p := must(f.Plan())(t).Graph(), &f.Privacy
			f.Method.Rounds, f.Method.Cooldown = 60, 40
			p.PairSigma, p.Colluders, p.Absent = 8*p.Sigma, 1, absent
			p.EffectiveSigma = must(plan.Effective(*p, g))(t)
			left := vanish(t, f, func(_ int, c *sdk.Config) {
				c.Oracle = sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0, nil })
			})
			square := 0.0 // of the mean, over the coordinates, in units of sigma
			for k := range f.Dim {
				mean := 0.0
				for _, n := range left {
					mean += float64(n.Model()[k]) / float64(len(left)) / p.Sigma
				}
				square += mean * mean / float64(f.Dim)
			}
			if (math.Sqrt(square) < 9) != planned {
				t.Errorf("%d absent planned for: the mean's noise is %.1f sigma", absent, math.Sqrt(square))
			}
		})
	}
}

// day returns a context that ends after a day, so that a run that waits indefinitely fails.
func day(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	t.Cleanup(cancel)
	return ctx
}
