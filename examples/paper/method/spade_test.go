package method

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// clinics returns a small world of generated patients: four clients with 20 samples each on a ring.
func clinics(t testing.TB) *World {
	g, err := topology.Parse("ring", 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := task.Clinical(80, 1)
	std, err := task.FitStandardizer(d)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = std.Apply(d); err != nil {
		t.Fatal(err)
	}
	w := &World{Graph: g, Dim: 5, Rounds: 12, Seed: 3, Queries: 3}
	for i := range 4 {
		part := make([]int, 20)
		for h := range part {
			part[h] = 20*i + h
		}
		w.Clients = append(w.Clients, Client{Oracle: task.NewSoftmax(d.Select(part)), Samples: 20})
	}
	return w
}

var plainSetting, privateSetting = Setting{"mu": 0.5, "gain": 0.5, "rate": 1, "decay": 0.1},
	Setting{"mu": 0.5, "gain": 0.5, "reach": 1, "slope": 0.1}

// spade runs a form of SPADE-DFL. It returns the models after every round and the cost of the run.
func spade(t *testing.T, m Spade, w *World, s Setting) ([][][]float32, Spent) {
	var all [][][]float32
	spent, err := m.Run(context.Background(), w, s, func(round int, models [][]float32) error {
		if round != len(all)+1 {
			return fmt.Errorf("round %d after %d others", round, len(all))
		}
		all = append(all, models)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, spent
}

// TestSpadeSpends checks the costs against the paper: 1+tau losses per sample and round, and 2|E|d numbers sent per
// round.
func TestSpadeSpends(t *testing.T) {
	w := clinics(t)
	all, spent := spade(t, Spade{}, w, plainSetting)
	if want := (Spent{Queries: 12 * 80 * 3, Scalars: 2 * 4 * 5 * 12}); spent != want {
		t.Errorf("spent %+v, want %+v", spent, want)
	}
	if len(all) != w.Rounds {
		t.Errorf("%d rounds, want %d", len(all), w.Rounds)
	}
	if again, _ := spade(t, Spade{}, w, plainSetting); !reflect.DeepEqual(again, all) {
		t.Error("the same world and setting give other models")
	}
}

// TestSpadeOptions checks that each option changes the result, and that a cool-down reduces the disagreement between
// the clients.
func TestSpadeOptions(t *testing.T) {
	w := clinics(t)
	plain, _ := spade(t, Spade{}, w, plainSetting)
	apart := func(models [][]float32) float64 {
		sum := 0.0
		for _, x := range models {
			for j, v := range x {
				sum += math.Abs(float64(v - models[0][j]))
			}
		}
		return sum
	}
	for _, m := range []Spade{{Centered: true}, {Averaged: true}} {
		if other, _ := spade(t, m, w, plainSetting); reflect.DeepEqual(other, plain) {
			t.Errorf("%s is the paper's form", m.Name())
		}
	}
	cooled, _ := spade(t, Spade{Cooldown: 30}, w, plainSetting)
	if !reflect.DeepEqual(cooled[:w.Rounds], plain) {
		t.Error("a cool-down changes the rounds before it")
	}
	if before, after := apart(plain[w.Rounds-1]), apart(cooled[len(cooled)-1]); !(after < before/100) {
		t.Errorf("30 rounds of pure consensus take the clients from %v to %v apart", before, after)
	}
}

// TestSpadeNoise checks that a larger epsilon means less noise, and that a run with a huge epsilon and almost no noise
// equals a run without privacy.
func TestSpadeNoise(t *testing.T) {
	w := clinics(t)
	last := func(epsilon float64) float64 {
		w.Privacy = &Privacy{Epsilon: epsilon, Delta: 1e-5}
		all, _ := spade(t, Spade{}, w, privateSetting)
		sum := 0.0
		for _, x := range all[len(all)-1] {
			sum += norm(x)
		}
		return sum
	}
	if few, many := last(1), last(1000); !(few > 3*many) {
		t.Errorf("models of size %v at epsilon 1 and %v at epsilon 1000, want much more noise in the first", few, many)
	}
}

func TestSpadeRefuses(t *testing.T) {
	w := clinics(t)
	w.Queries = 1.5
	if _, err := (Spade{}).Run(context.Background(), w, plainSetting, nil); err == nil {
		t.Error("a budget that does not cover one local step is taken")
	}
}

func ExampleSpade() {
	fmt.Println(Spade{Centered: true, Averaged: true, Cooldown: 20}.Name())
	// Output: SPADE-DFL+centered+averaged+cooled
}
