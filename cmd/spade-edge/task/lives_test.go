package task

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/survival"
)

// observed returns random samples of a survival task with four intervals.
func observed(n, dim int, seed uint64) *Data {
	d, s := random(n, dim, 2, seed), testStream(seed)
	d.Horizon = &survival.Horizon{Time: "t", Unit: "d", Intervals: "100d,200d,400d", Rate: 0.05}
	for range n {
		d.Time = append(d.Time, math.Floor(600*s.Float64()))
	}
	return d
}

// TestLivesOfPersons checks that a record changes no loss but its own, also at a place of its person.
func TestLivesOfPersons(t *testing.T) {
	d := observed(6, 3, 1)
	d.Person = []int{0, 1, 0, 2, 1, 0}
	spec := ModelSpec{Name: HazardsModel}
	other := d.Select([]int{0, 1, 2, 3, 4, 5})
	other.Time[4], other.Y[4] = 599, 1-other.Y[4]
	other.Row(4)[1] = 7
	a, b := spec.New(d).InPlaces(2), spec.New(other).InPlaces(2)
	x := parameters(7, 1, 1)
	for i, changed := range []bool{false, false, false, true, false, false} { // record 4 is the second of person 1
		one, _ := a.Loss(context.Background(), x, i)
		two, _ := b.Loss(context.Background(), x, i)
		if (one != two) != changed || i == 5 && one != 0 {
			t.Errorf("place %d: loss %v, and %v after record 4 changed", i, one, two)
		}
	}
	if a.Digest() == b.Digest() {
		t.Error("equal digests of different times")
	}
}

// TestEventLabels checks which labels mean that the event happened.
func TestEventLabels(t *testing.T) {
	for _, c := range []struct{ cells, labels, want string }{
		{"0 1 1", "", "0,1"}, {"1.0 0.0", "", "0.0,1.0"}, {"no YES", "", "no,YES"}, {"1 1", "", "0,1"}, {"dead alive", "", "alive,dead"},
		{"died lives", "lives,died", "lives,died"}, {"died died", "lives,died", "lives,died"},
		{"0 0", "", "no row of .* has the event (\"1\")"}, {"died lives", "", `column "e" has "died", "lives", want 0 and 1, no and yes, or their names in labels`},
		{"1 2", "", `column "e" has "1", "2"`}, {"a b c", "a,b", `column "e" has "c", want only these two`}, {"a a", "a,b", `has the event ("b")`},
	} {
		s := Spec{Survival: "t,e"}
		if c.labels != "" {
			s.Labels = strings.Split(c.labels, ",")
		}
		got, err := s.events(&table{name: ".*", labels: strings.Fields(c.cells)})
		if text := strings.Join(got, ","); err != nil && !strings.Contains(err.Error(), c.want) || err == nil && text != c.want {
			t.Errorf("%s: %s, %v, want %s", c.cells, text, err, c.want)
		}
	}
}
