package vec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

type row = [vec.GatherLanes]float64

// Every variant gives the bits of the sums as the comment of Gather writes them, also of infinities and negative zeros.
func TestGather(t *testing.T) {
	defer vec.Choose(vec.Chosen())
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 97)
	for i := range rows {
		for l := range rows[i] {
			rows[i][l] = float64(fills[(i+l)%len(fills)].next(r)) / 3
		}
	}
	for _, variant := range vec.Variants() {
		vec.Choose(variant.Name)
		for n := range 200 {
			all := make([]vec.Entry, n+2)
			for i := range all {
				all[i] = vec.Entry{At: uint32(r.IntN(len(rows))), X: fills[n%len(fills)].next(r)}
			}
			entries, z := all[1:n+1], [3]row{{1}, rows[n%len(rows)], {2}}
			want := z[1]
			for _, e := range entries {
				for l, x := range rows[e.At] {
					want[l] += float64(float64(e.X) * x)
				}
			}
			inGo := z[1]
			vec.GatherGo(&inGo, entries, rows)
			vec.Gather(&z[1], entries, rows)
			for l, x := range z[1] {
				if !same64(x, want[l]) || !same64(inGo[l], want[l]) {
					t.Fatalf("%s, %d entries: sum %d is %v, want %v", variant.Name, n, l, x, want[l])
				}
			}
			if z[0] != (row{1}) || z[2] != (row{2}) {
				t.Fatalf("%s, %d entries: wrote beside the sums", variant.Name, n)
			}
		}
	}
}

// A row that is not there is never read, and the sums stay as they were.
func TestGatherWithoutTheRow(t *testing.T) {
	defer vec.Choose(vec.Chosen())
	for _, variant := range vec.Variants() {
		vec.Choose(variant.Name)
		for _, at := range []uint32{3, 4, 1 << 31, 1<<32 - 1} {
			z := row{5, 6}
			found := func() (found any) {
				defer func() { found = recover() }()
				vec.Gather(&z, []vec.Entry{{At: 1, X: 1}, {At: at, X: 1}, {At: 2, X: 1}}, []row{{1}, {2}, {3}, {4}}[:3])
				return nil
			}()
			if fmt.Sprint(found) != "vec: Gather of a row that is not there" || z != (row{5, 6}) {
				t.Errorf("%s: row %d of 3: panic %v, sums %v", variant.Name, at, found, z)
			}
		}
	}
}

func BenchmarkGather(b *testing.B) {
	rows, entries := make([]row, 784), make([]vec.Entry, 150)
	for i := range entries {
		entries[i] = vec.Entry{At: uint32(5 * i), X: 1}
	}
	for b.Loop() {
		var z row
		vec.Gather(&z, entries, rows)
	}
}
