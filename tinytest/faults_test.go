package tinytest_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestFaultsChangeNoBit checks that, whatever the network does to messages and however the clients sleep, a run that
// waits for its neighbors computes the same bits in more ticks.
func TestFaultsChangeNoBit(t *testing.T) {
	for name, change := range map[string]func(int, *admm.Config){
		"messages": nil,
		"private":  private,
		"releases on a grid": func(i int, c *admm.Config) {
			private(i, c)
			c.GridStep = 0.05 / 16
		},
		"witness": func(i int, c *admm.Config) { c.Probe = true },
	} {
		t.Run(name, func(t *testing.T) {
			want := finish(t, simOf(t, kite, 5, change))
			for fault, set := range map[string]func(*sim.Sim){
				"order":     func(s *sim.Sim) { s.Seed = 9 },
				"drop":      func(s *sim.Sim) { s.Faults = tinytest.Drop(1, 0.3) },
				"bursts":    func(s *sim.Sim) { s.Faults = tinytest.GilbertElliott(1, 0.1, 0.2, 0, 1) },
				"delay":     func(s *sim.Sim) { s.Faults = tinytest.Delay(1, 0.5, 4) },
				"reorder":   func(s *sim.Sim) { s.Faults = tinytest.Reorder(1, 6) },
				"duplicate": func(s *sim.Sim) { s.Faults = tinytest.Duplicate(1, 0.5) },
				"partition": func(s *sim.Sim) { s.Faults = tinytest.Partition(3, 20, 0, 1) },
				"sleep":     func(s *sim.Sim) { s.Asleep = tinytest.Markov(1, 0.2, 0.3) },
				"all": func(s *sim.Sim) {
					s.Seed, s.Faults, s.Asleep = 3, awful(2), tinytest.Markov(2, 0.1, 0.3)
				},
			} {
				network := simOf(t, kite, 5, change)
				set(network)
				if got := finish(t, network); got != want {
					t.Errorf("%s: transcript %s, want %s", fault, got, want)
				}
				slow := fault != "order" && fault != "duplicate"
				if slow && network.Ticks() <= 9 {
					t.Errorf("%s: over after %d ticks, nothing went wrong", fault, network.Ticks())
				}
			}
		})
	}
}

// TestCoresChangeNoBit checks that a run has the same result on one core and on several cores.
func TestCoresChangeNoBit(t *testing.T) {
	for _, change := range []func(int, *admm.Config){nil, private} {
		run := func() (string, int, []admm.Message) {
			network := simOf(t, ringOf(40), 7, change)
			network.Faults, network.Asleep, network.Seed = awful(4), tinytest.Markov(4, 0.1, 0.4), 8
			var sent []admm.Message
			network.OnSend = func(msg admm.Message) { msg.Vector = slices.Clone(msg.Vector); sent = append(sent, msg) }
			return finish(t, network), network.Ticks(), sent
		}
		want, ticks, sent := run()
		for _, cores := range []int{1, 2, 5} {
			onCores(cores, func() {
				got, n, s := run()
				same := slices.EqualFunc(s, sent, func(a, b admm.Message) bool {
					bits := slices.EqualFunc(a.Vector, b.Vector, func(x, y float32) bool {
						return math.Float32bits(x) == math.Float32bits(y)
					})
					a.Vector, b.Vector = nil, nil
					return bits && reflect.DeepEqual(a, b)
				})
				if got != want || n != ticks || !same {
					t.Errorf("private %v, %d cores: transcript %s after %d ticks, want %s after %d; same messages: %v", change != nil, cores,
						got, n, want, ticks, same)
				}
			})
		}
	}
}

// TestStandstill checks that a simulation that can make no more progress stops with an error instead of running
// indefinitely.
func TestStandstill(t *testing.T) {
	network := simOf(t, kite, 2, nil)
	network.Faults = tinytest.Partition(0, math.MaxInt, 4)
	err := network.Run(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "client 3 has made 1 of 8 releases and waits for the clients [4]") {
		t.Errorf("error %v, want one that names a client and whom it waits for", err)
	}
}

func share(n int, f func(k int) bool) float64 {
	count := 0
	for k := range n {
		if f(k) {
			count++
		}
	}
	return float64(count) / float64(n)
}

// TestFateLaws checks that 20,000 draws have the documented probabilities within 6 standard deviations, and that draws
// of different seeds, edges and kinds are independent within the same bound.
func TestFateLaws(t *testing.T) {
	const n = 20_000
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 6*math.Sqrt(want*(1-want)/n)+1e-9 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	drop := func(seed uint64, from, to int) func(int) bool {
		f := tinytest.Drop(seed, 0.3)
		return func(k int) bool { return len(f(from, to, k)) == 0 }
	}
	a := drop(1, 2, 3)
	near("drop", share(n, a), 0.3)
	late, dup := tinytest.Delay(1, 0.3, 5), tinytest.Duplicate(1, 0.3)
	for what, b := range map[string]func(int) bool{
		"seed": drop(2, 2, 3), "sender": drop(1, 3, 3), "receiver": drop(1, 2,
			2), "next": func(k int) bool { return a(k + 1) },
		"delay":     func(k int) bool { return late(2, 3, k)[0] == 5 },
		"duplicate": func(k int) bool { return len(dup(2, 3, k)) == 2 },
	} {
		near(what, share(n, b), 0.3)
		near(what+" and drop", share(n, func(k int) bool { return a(k) && b(k) }), 0.09)
	}
	reorder := tinytest.Reorder(1, 3)
	for late := range 4 {
		near("reorder", share(n, func(k int) bool { return reorder(0, 1, k)[0] == late }), 0.25)
	}
	for _, never := range []float64{0, -1, math.NaN()} {
		near("never", share(n, func(k int) bool { return tinytest.Drop(1, never)(0, 1, k) == nil }), 0)
	}
	near("always", share(n, func(k int) bool { return tinytest.Drop(1, 2)(0, 1, k) == nil }), 1)
}

// TestChains checks how often channels become bad, how often they become good again, and how many start bad, even if a
// channel changes its state with most messages. The states must not depend on the order of queries.
func TestChains(t *testing.T) {
	for _, c := range []struct{ worsen, improve float64 }{{0.05, 0.2}, {0.01, 0.02}, {0.5, 0.5}, {0.9, 0.8}, {1, 1},
		{0, 0.5}, {0.5, 0}} {
		n := 40_000
		if c.worsen+c.improve == 2 {
			n = 200 // each query of a state goes back to the first message
		}
		f := tinytest.GilbertElliott(3, c.worsen, c.improve, 0, 1)
		lost := make([]bool, n)
		for k := n - 1; k >= 0; k-- {
			lost[k] = f(0, 1, k) == nil
		}
		count, falls, rises := 0, 0, 0
		for k := range n - 1 {
			if again := f(0, 1, k) == nil; again != lost[k] {
				t.Fatalf("message %d has two fates", k)
			}
			if lost[k] {
				count++
			}
			if !lost[k] && lost[k+1] {
				falls++
			}
			if lost[k] && !lost[k+1] {
				rises++
			}
		}
		rate := func(what string, k, of int, p float64) {
			if of > 0 && math.Abs(float64(k)/float64(of)-p) > 6*math.Sqrt(p*(1-p)/float64(of)) {
				t.Errorf("%+v: %s in %d of %d, want %v", c, what, k, of, p)
			}
		}
		rate("falls", falls, n-1-count, c.worsen)
		rate("rises", rises, count, c.improve)
		first := share(4000, func(k int) bool { return f(k, 0, 0) == nil })
		if want := c.worsen / (c.worsen + c.improve); math.Abs(first-want) > 6*math.Sqrt(want*(1-want)/4000) {
			t.Errorf("%+v: begins with a share of %v, want %v", c, first, want)
		}
	}
	asleep := tinytest.Markov(1, 0, 0)
	if asleep(0, 0) || asleep(3, 5000) {
		t.Error("a client that never falls asleep sleeps")
	}
}

// In a chain of schedules, copies multiply and delays add up.
func TestNest(t *testing.T) {
	late := func(ticks ...int) sim.FaultSchedule { return func(int, int, int) []int { return ticks } }
	for _, c := range []struct {
		fates []sim.FaultSchedule
		want  []int
	}{
		{nil, []int{0}},
		{[]sim.FaultSchedule{late(0, 2), late(1), late(0, 0)}, []int{1, 1, 3, 3}},
		{[]sim.FaultSchedule{late(0, 2), late()}, nil},
		{[]sim.FaultSchedule{late(), late(0, 0)}, nil},
		{[]sim.FaultSchedule{tinytest.Partition(2, 4, 0), late(5)}, []int{5}},
		{[]sim.FaultSchedule{tinytest.Partition(0, 4, 0), late(5)}, nil},
		{[]sim.FaultSchedule{tinytest.Partition(0, 4, 0, 1), late(5)}, []int{5}},
	} {
		if got := tinytest.Chain(c.fates...)(0, 1, 1); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
