package tabular_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec/tabular"
)

// TestGather checks that every variant returns the bits of the formula in Gather's comment, also for infinities and
// negative zeros, and writes nothing beside the sums.
func TestGather(t *testing.T) {
	defer tabular.Choose(tabular.Chosen())
	r := rand.New(rand.NewPCG(1, 2))
	for width := 0; width <= 5*tabular.GatherLanes; width += tabular.GatherLanes {
		rows := make([]float64, 97*width)
		for i := range rows {
			rows[i] = float64(some(r, i)) / 3
		}
		for _, variant := range tabular.Variants() {
			tabular.Choose(variant)
			for n := range 60 {
				all := make([]tabular.Entry, n+2)
				for i := range all {
					all[i] = tabular.Entry{At: uint32(r.IntN(97)), X: some(r, n)}
				}
				entries, room := all[1:n+1], slices.Concat([]float64{1}, rows[n*width:(n+1)*width], []float64{2})
				z := room[1 : width+1]
				want, inGo := slices.Clone(z), slices.Clone(z)
				for _, e := range entries {
					for l := range want {
						want[l] += float64(float64(e.X) * rows[int(e.At)*width+l])
					}
				}
				tabular.GatherGo(inGo, entries, rows)
				tabular.Gather(z, entries, rows)
				for l, x := range z {
					if !same64(x, want[l]) || !same64(inGo[l], want[l]) {
						t.Fatalf("variant %d, %d entries: sum %d of %d is %v, want %v", variant, n, l, width, x, want[l])
					}
				}
				if room[0] != 1 || room[width+1] != 2 {
					t.Fatalf("variant %d, %d entries, %d sums: wrote beside the sums", variant, n, width)
				}
			}
		}
	}
}

// TestGatherWithoutTheRow checks that an entry without a complete row causes a panic that leaves the sums unchanged.
func TestGatherWithoutTheRow(t *testing.T) {
	defer tabular.Choose(tabular.Chosen())
	missing := "tabular: Gather: an entry has no row"
	for _, variant := range tabular.Variants() {
		tabular.Choose(variant)
		for _, width := range []int{12, 24, 36, 60} {
			rows := make([]float64, 4*width)
			for _, c := range []struct {
				at     uint32
				rows   []float64
				width  int
				panics any
			}{
				{2, rows[:3*width], width, nil}, {3, rows[:3*width], width, missing}, {3, rows[:4*width-1], width, missing},
				{4, rows[:3*width], width, missing}, {1 << 31, rows, width, missing}, {1<<32 - 1, rows, width, missing},
				{0, rows[:width-1], width, missing}, {0, rows[:3], width, missing}, {0, nil, width, missing},
				{0, rows, width - 1, "tabular: Gather: the width is not a multiple of 12"},
			} {
				z := make([]float64, c.width)
				z[0], z[c.width-1] = 5, 6
				found := func() (found any) {
					defer func() { found = recover() }()
					tabular.Gather(z, []tabular.Entry{{At: 0, X: 1}, {At: c.at, X: 1}, {At: 0, X: 1}}, c.rows)
					return nil
				}()
				if found != c.panics || z[0] != 5 || z[c.width-1] != 6 {
					t.Errorf("variant %d: row %d of %d numbers: panic %v, want %v; sums %v", variant, c.at, len(c.rows), found,
						c.panics, z)
				}
			}
		}
	}
}
