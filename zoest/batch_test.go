package zoest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func batchAt(step int) *rng.Stream {
	s := rng.New(3, rng.Address{Purpose: rng.Batch, Step: uint32(step)})
	return &s
}

func TestBatchIsASubset(t *testing.T) {
	for _, c := range []struct{ m, size int }{{1, 1}, {2, 1}, {5, 1}, {5, 4}, {5, 5}, {100, 17}, {100, 99}, {3000, 64}} {
		b := newBatch(c.m, c.size)
		for step := range 200 {
			got := b.draw(batchAt(step))
			if len(got) != c.size {
				t.Fatalf("%d of %d: drew %d", c.size, c.m, len(got))
			}
			seen := map[int]bool{}
			for _, h := range got {
				if h < 0 || h >= c.m || seen[h] {
					t.Fatalf("%d of %d: drew %v", c.size, c.m, got)
				}
				seen[h] = true
			}
		}
	}
}

// TestBatchDependsOnItsAddressAlone checks that a draw depends only on its address: a batch that has already drawn at
// other addresses must draw the same items as a new batch.
func TestBatchDependsOnItsAddressAlone(t *testing.T) {
	for _, c := range []struct{ m, size int }{{2, 1}, {6, 3}, {50, 49}, {1000, 10}} {
		b := newBatch(c.m, c.size)
		var differ bool
		first := slices.Clone(b.draw(batchAt(0)))
		for step := 1; step < 30; step++ {
			fresh := newBatch(c.m, c.size)
			other := slices.Clone(b.draw(batchAt(step)))
			if want := fresh.draw(batchAt(step)); !slices.Equal(other, want) {
				t.Errorf("%d of %d, draw %d, is %v after others and %v alone", c.size, c.m, step, other, want)
			}
			differ = differ || !slices.Equal(other, first)
			if again := b.draw(batchAt(0)); !slices.Equal(again, first) {
				t.Errorf("%d of %d: the draw is %v, and %v after draw %d", c.size, c.m, first, again, step)
			}
		}
		if !differ {
			t.Errorf("%d of %d: all draws are the same", c.size, c.m)
		}
	}
}

// TestFullBatch checks that a batch of all items is in ascending order and consumes nothing from its stream.
func TestFullBatch(t *testing.T) {
	b := newBatch(7, 7)
	for step := range 3 {
		if got := b.draw(batchAt(step)); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6}) {
			t.Errorf("draw %d is %v", step, got)
		}
	}
}

// TestBatchUniform checks that each of the C(6,3) = 20 subsets is equally likely, and also each of the 120 sequences of
// three different items. A shuffle that may draw an item twice would fail the test.
func TestBatchUniform(t *testing.T) {
	const draws = 120000
	count := func(next func(step int) []int) (subsets, orders float64) {
		bySet, byOrder := map[string]int{}, map[string]int{}
		for step := range draws {
			got := slices.Clone(next(step))
			byOrder[fmt.Sprint(got[0], got[1], got[2])]++
			slices.Sort(got)
			bySet[fmt.Sprint(got[0], got[1], got[2])]++
		}
		if len(bySet) != 20 || len(byOrder) != 120 {
			t.Fatalf("%d subsets in %d orders turned up, want 20 in 120", len(bySet), len(byOrder))
		}
		values := func(m map[string]int) []int {
			var c []int
			for _, n := range m {
				c = append(c, n)
			}
			return c
		}
		return chiSquare(values(bySet)), chiSquare(values(byOrder))
	}
	b := newBatch(6, 3)
	if s, o := count(func(step int) []int { return b.draw(batchAt(step)) }); s > chiLimit(19) || o > chiLimit(119) {
		t.Errorf("chi-square is %.1f for the subsets, limit %.1f, and %.1f for the orders, limit %.1f", s, chiLimit(19), o,
			chiLimit(119))
	}
	biased := func(step int) []int {
		s := batchAt(step)
		p := []int{0, 1, 2, 3, 4, 5}
		for i := range 3 {
			j := s.IntN(6)
			p[i], p[j] = p[j], p[i]
		}
		return p[:3]
	}
	if s, o := count(biased); s <= chiLimit(19) || o <= chiLimit(119) {
		t.Errorf("a biased draw passes with chi-square %.1f and %.1f: the test has no power", s, o)
	}
}
