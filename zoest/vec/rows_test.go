package vec_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// The rows kernels do what the kernels for one row do, one row after the other, with or without spare words of signs.
func TestRowsAreRowAfterRow(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32() - 0.5
		}
		return x
	}
	for _, d := range []int{1, 3, 8, 10, 16, 17, 63, 64, 65, 200} {
		for stride := vec.SignWords(d); stride <= vec.SignWords(d)+2; stride++ {
			for n := range 5 {
				signs, x, got := make([]uint64, n*stride), numbers(d), numbers(n*d)
				for i := range signs {
					signs[i] = r.Uint64()
				}
				want := slices.Clone(got)
				vec.SignPerturbRows(got, x, 0.3, signs)
				for i := range n {
					vec.SignPerturb(want[i*d:][:d], x, 0.3, signs[i*stride:])
				}
				if !slices.Equal(got, want) {
					t.Fatalf("d = %d, %d rows of %d words: perturbed %v, want %v", d, n, stride, got, want)
				}
				rows, c := r.Perm(n + 2)[:n], numbers(n)
				table, v, abar := numbers((n+2)*d), numbers(d), numbers(d)
				wantTable, wantV, wantAbar := slices.Clone(table), slices.Clone(v), slices.Clone(abar)
				vec.SignReplaceRows(table, rows, v, abar, c, signs, 0.25, 0.125)
				for i, row := range rows {
					vec.SignReplace(wantTable[row*d:][:d], wantV, wantAbar, c[i], signs[i*stride:], 0.25, 0.125)
				}
				if !slices.Equal(table, wantTable) || !slices.Equal(v, wantV) || !slices.Equal(abar, wantAbar) {
					t.Fatalf("d = %d, %d rows of %d words: replaced %v %v %v, want %v %v %v", d, n, stride, table, v, abar, wantTable,
						wantV, wantAbar)
				}
			}
		}
	}
}

// Rows that do not fit, or overlap with what is read, end in a panic before anything is written behind a slice.
func TestRowsRefuse(t *testing.T) {
	x, signs := make([]float32, 12), make([]uint64, 4)
	for name, f := range map[string]func(){
		"perturbed rows over x":   func() { vec.SignPerturbRows(x[:8], x[6:10], 1, signs) },
		"x inside perturbed rows": func() { vec.SignPerturbRows(x[:8], x[2:6], 1, signs) },
		"half a row":              func() { vec.SignPerturbRows(make([]float32, 6), make([]float32, 4), 1, signs) },
		"too few signs":           func() { vec.SignPerturbRows(make([]float32, 12), make([]float32, 4), 1, signs[:2]) },
		"v inside the table":      func() { vec.SignReplaceRows(x[:8], []int{0}, x[4:8], make([]float32, 4), x[:1], signs, 1, 1) },
		"v over abar":             func() { vec.SignReplaceRows(make([]float32, 8), []int{0}, x[:4], x[2:6], x[:1], signs, 1, 1) },
		"a row behind the table": func() {
			vec.SignReplaceRows(x[:4], []int{1}, make([]float32, 4), make([]float32, 4), make([]float32, 1), signs, 1, 1)
		},
		"too few coefficients": func() { vec.SignReplaceRows(make([]float32, 8), []int{0, 1}, x[:4], x[4:8], x[8:9:9], signs, 1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
