package method

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestCounts checks the numbers of losses and of sent values against a manual count, and that no client is asked for
// more losses than its budget allows.
func TestCounts(t *testing.T) {
	sizes := []int{10, 7, 12, 9}
	const d, edges, rounds = 6, 4, 5
	for _, c := range []struct {
		m       Method
		queries float64
		s       Setting                // if it has a clip, the world is private
		want    func(m, round int) int // losses of a client with m samples in a round
		scalars int64
	}{
		{LTADMMDP{}, 3, Setting{"tau": 2}, func(m, _ int) int { return 2 * 2 * (3 * m / 4) }, 2 * edges * d * rounds},
		{LTADMMDP{PerSample: true}, 2.5, Setting{"tau": 3}, func(m, _ int) int { return 2 * 3 * (m * 5 / 2 / 6) },
			2 * edges * d * rounds},
		{LTADMMDP{}, 0, Setting{"tau": 3}, func(m, _ int) int { return 2 * 3 * m }, 2 * edges * d * rounds},
		{LTADMMVR{}, 3, Setting{"tau": 2, "reset": 1}, func(m, _ int) int { return 2*m + 2*(m/2) }, 2 * edges * d * rounds},
		{LTADMMVR{}, 3, Setting{"tau": 2, "reset": 1, "paired": 1}, func(m, _ int) int { return 2*m + 4*(m/4) },
			2 * edges * d * rounds},
		{LTADMMVR{}, 3, Setting{"tau": 2}, func(m, round int) int {
			if round == 1 {
				return 2*m + 2*(m/2)
			}
			return 2 * 2 * (3 * m / 4)
		}, 2 * edges * d * rounds},
		{LTADMMVR{}, 2, Setting{"tau": 2, "paired": 1}, func(m, round int) int {
			if round == 1 {
				return 2 * m // the first step takes the whole budget
			}
			return 2 * 4 * (2 * m / 8)
		}, 2 * edges * d * rounds},
		{LTADMMVR{}, 0, Setting{"tau": 3, "reset": 1, "paired": 1}, func(m, _ int) int { return 2*m + 2*4*m },
			2 * edges * d * rounds},
		{LTADMMDP{PerSample: true}, 5, Setting{"tau": 2, "dirs": 3, "clip": 1},
			func(m, _ int) int { return 2 * 2 * 3 * (5 * m / 4 / 3) }, 2 * edges * d * rounds},
		{DPSGD{}, 3, Setting{"tau": 2}, func(m, _ int) int { return 2 * 2 * (3 * m / 4) }, 0},
		{DPSGD{}, 3, Setting{"tau": 1}, func(m, _ int) int { return 2 * (3 * m / 2) }, 0},
		{DPSGD{}, 3, Setting{"tau": 1, "dirs": 1, "clip": 1}, func(m, _ int) int { return 2 * (3 * m / 2) }, 0},
		{DPSGD{}, 3, Setting{"tau": 1, "dirs": 4, "clip": 1}, func(m, _ int) int { return 2 * 4 * (3 * m / 2 / 4) }, 0},
		{DPSGD{}, 0, Setting{"tau": 3, "dirs": 4, "clip": 1}, func(m, _ int) int { return 2 * 3 * 4 * m }, 0},
		{DPSGD{OneClient: true}, 3, Setting{"tau": 5, "dirs": 64, "clip": 1},
			func(m, _ int) int { return 2 * 5 * (3 * m / 10) }, 0},
		{DPFedAvg{}, 3, Setting{"tau": 2}, func(m, _ int) int { return 2 * 2 * (3 * m / 4) }, 2 * 4 * d * rounds},
		{DPFedAvg{Central: true}, 9, Setting{"tau": 1}, func(m, _ int) int { return 2 * (9 * m / 2) }, 2 * 4 * d * rounds},
		{OnePointDSG{}, 3, nil, func(m, _ int) int { return 3 * m }, 2 * edges * d * rounds},
		{OnePointDSG{}, 0, nil, func(m, _ int) int { return m }, 2 * edges * d * rounds},
		{OnePointDSGT{}, 1.1, nil, func(m, _ int) int { return 11 * m / 10 }, 2 * 2 * edges * d * rounds},
	} {
		t.Run(fmt.Sprintf("%s/%v/%v", c.m.Name(), c.queries, c.s), func(t *testing.T) {
			asked := make([]int, len(sizes))
			w := worldOf(t, d, sizes, func(i, h int, _ []float32) float64 {
				if h < 0 || h >= sizes[i] {
					t.Fatalf("client %d is asked for sample %d of %d", i, h, sizes[i])
				}
				asked[i]++
				return 0.5
			})
			w.Rounds, w.Queries = rounds, c.queries
			if c.s["clip"] > 0 {
				w.Privacy = &Privacy{Epsilon: 8, Delta: 1e-5}
			}
			total := int64(0)
			spent, err := c.m.Run(context.Background(), w, with(c.m, w, c.s), func(round int, _ [][]float32) error {
				for i, n := range asked {
					if want := c.want(sizes[i], round); n != want {
						t.Errorf("round %d: client %d with %d samples is asked for %d losses, want %d", round, i, sizes[i], n, want)
					}
					if c.queries > 0 && float64(n) > c.queries*float64(sizes[i])+1e-6 {
						t.Errorf("round %d: client %d is asked for %d losses, more than %v times %d", round, i, n, c.queries, sizes[i])
					}
					total += int64(n)
				}
				clear(asked)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if spent.Queries != total || spent.Scalars != c.scalars {
				t.Errorf("spent %+v, want %d losses and %d numbers", spent, total, c.scalars)
			}
		})
	}
}

// TestBudgetRefusal checks that a run that would exceed the budget fails before it queries any loss.
func TestBudgetRefusal(t *testing.T) {
	for _, c := range []struct {
		m       Method
		queries float64
		s       Setting
		want    string
	}{
		{LTADMMDP{}, 3, Setting{"tau": 8}, "at least 16 losses, but client 1 with 5 samples may query only 15"},
		{DPFedAvg{}, 3, Setting{"tau": 8}, "at least 16 losses, but client 1 with 5 samples may query only 15"},
		{DPSGD{}, 0.2, Setting{"tau": 1}, "at least 2 losses, but client 1 with 5 samples may query only 1"},
		{LTADMMVR{}, 1.9, Setting{"tau": 1}, "at least 20 losses, but client 0 with 10 samples may query only 19"},
		{LTADMMVR{}, 2, Setting{"tau": 2, "reset": 1}, "at least 22 losses, but client 0 with 10 samples may query only 20"},
		{LTADMMVR{}, 2, Setting{"tau": 6, "reset": 0}, "at least 12 losses, but client 1 with 5 samples may query only 10"},
		{OnePointDSG{}, 0.1, nil, "at least 1 losses, but client 1 with 5 samples may query only 0"},
		{OnePointDSGT{}, 0.1, nil, "at least 1 losses, but client 1 with 5 samples may query only 0"},
	} {
		w := worldOf(t, 2, []int{10, 5, 10}, func(int, int, []float32) float64 { panic("asked") })
		w.Queries = c.queries
		s := with(c.m, w, Setting{"reset": 0, "paired": 0})
		for name, v := range c.s {
			s[name] = v
		}
		_, err := c.m.Run(context.Background(), w, s, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, budget %v, %v: %v, want %q", c.m.Name(), c.queries, c.s, err, c.want)
		}
	}
}

// TestBatch checks that batches contain each sample equally often where possible, that subsets are uniform, and that
// each draw depends only on its stream.
func TestBatch(t *testing.T) {
	d := newDeal(7)
	hits := make([]int, 7)
	const draws = 20000
	for k := range draws {
		s := rng.New(3, rng.Address{Purpose: rng.Batch, Round: uint32(k)})
		seen := map[int]bool{}
		for _, h := range d.draw(&s, 3) {
			hits[h]++
			seen[h] = true
		}
		if len(seen) != 3 {
			t.Fatalf("draw %d has %d different items, want 3", k, len(seen))
		}
	}
	chi := 0.0
	for _, n := range hits {
		chi += math.Pow(float64(n)-draws*3.0/7, 2) / (draws * 3.0 / 7)
	}
	if chi > 22.5 { // 99.9 % quantile of chi-square with 6 degrees of freedom
		t.Errorf("items are drawn %v times, chi-square %.1f", hits, chi)
	}
	s := rng.New(3, rng.Address{Purpose: rng.Batch, Round: 17})
	fresh := newDeal(7)
	first := slices.Clone(fresh.draw(&s, 3))
	s = rng.New(3, rng.Address{Purpose: rng.Batch, Round: 17})
	if again := d.draw(&s, 3); !slices.Equal(first, again) {
		t.Errorf("the same stream draws %v, and after %d other draws %v", first, draws, again)
	}
}

// TestAllowance checks that rounding errors in the product of budget and number of samples do not reduce a client's
// allowance by one loss query.
func TestAllowance(t *testing.T) {
	for _, c := range []struct {
		queries       float64
		samples, want int
	}{{3, 400, 1200}, {1.15, 100, 115}, {0.29, 100, 29}, {1.1, 10, 11}, {2.5, 3, 7}, {0.1, 9, 0}, {1e300, 5, 1 << 30}} {
		w := World{Queries: c.queries, Clients: []Client{{Samples: c.samples}}}
		if got := w.allowance(0); got != c.want {
			t.Errorf("%v times %d samples is %d losses, want %d", c.queries, c.samples, got, c.want)
		}
	}
}
