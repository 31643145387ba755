package vec_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TestRowsAreRowAfterRow checks that, in every variant, each rows kernel gives the same results as its definition
// applied to one row after another. This must hold with or without padding words of signs and for any alignment of
// rows. The kernels must write nothing outside the rows.
func TestRowsAreRowAfterRow(t *testing.T) {
	defer vec.Choose(vec.Chosen())
	r := rand.New(rand.NewPCG(3, 4))
	var bufs, kept [][]float32 // the buffers, and the numbers in them
	numbers := func(n, kind int) []float32 {
		buf, x := guarded(r, n, fills[kind].next)
		bufs, kept = append(bufs, buf), append(kept, x)
		return x
	}
	equal := func(got, want []float32) bool { return slices.EqualFunc(got, want, same) }
	var lens []int
	for d := 1; d < 700; d++ {
		if d < 140 || d%16 < 2 && d < 210 || d > 508 && d < 516 || d == 699 {
			lens = append(lens, d)
		}
	}
	for _, variant := range vec.Variants() {
		vec.Choose(variant.Name)
		for trial := range 4 * len(lens) {
			d, kind := lens[trial/4], trial%4
			n, stride := r.IntN(20), vec.SignWords(d)+r.IntN(3)
			signs, x, mu := make([]uint64, n*stride), numbers(d, kind), numbers(1, kind)[0]
			for i := range signs {
				signs[i] = r.Uint64()
			}
			got, want := numbers(n*d, kind), make([]float32, n*d)
			vec.SignPerturbRows(got, x, mu, signs)
			for i := range n {
				vec.Reference.SignPerturb(want[i*d:][:d], x, mu, signs[i*stride:])
			}
			if !equal(got, want) {
				t.Fatalf("%s, d = %d, %d rows of %d words: perturbed %v, want %v", variant.Name, d, n, stride, got, want)
			}

			rows, c := r.Perm(n + 2)[:n], numbers(n, kind)
			if n > 1 {
				rows[n-1] = rows[n-2]
			}
			table, v, abar, byB, byM := numbers((n+2)*d, kind), numbers(d, kind), numbers(d, kind), r.Float32(), r.Float32()
			wantTable, wantV, wantAbar := slices.Clone(table), slices.Clone(v), slices.Clone(abar)
			vec.SignReplaceRows(table, rows, v, abar, c, signs, byB, byM)
			for i, row := range rows {
				vec.Reference.SignReplace(wantTable[row*d:][:d], wantV, wantAbar, c[i], signs[i*stride:], byB, byM)
			}
			if !equal(table, wantTable) || !equal(v, wantV) || !equal(abar, wantAbar) {
				t.Fatalf("%s, d = %d, rows %v of %d words: replaced %v %v %v, want %v %v %v", variant.Name, d, rows, stride, table, v,
					abar, wantTable, wantV, wantAbar)
			}

			vec.SignFillRows(table, rows, v, c, signs)
			for i, row := range rows {
				vec.Reference.SignScale(wantTable[row*d:][:d], c[i], signs[i*stride:])
				vec.Reference.SignAxpy(wantV, c[i], signs[i*stride:])
			}
			if !equal(table, wantTable) || !equal(v, wantV) {
				t.Fatalf("%s, d = %d, rows %v of %d words: filled %v %v, want %v %v", variant.Name, d, rows, stride, table, v,
					wantTable, wantV)
			}

			for j, x := range kept {
				for i := range x {
					x[i] = canary
				}
				if !untouched(bufs[j]) {
					t.Fatalf("%s, d = %d, %d rows: wrote outside the rows", variant.Name, d, n)
				}
			}
			bufs, kept = bufs[:0], kept[:0]
		}
	}
}

// TestRowsRefuse checks that rows that do not fit, or that overlap with a source, cause a panic before anything is
// written outside a slice.
func TestRowsRefuse(t *testing.T) {
	defer vec.Choose(vec.Chosen())
	for _, variant := range vec.Variants() {
		vec.Choose(variant.Name)
		rowsRefuse(t)
	}
}

func rowsRefuse(t *testing.T) {
	t.Helper()
	x, signs := make([]float32, 12), make([]uint64, 4)
	for name, f := range map[string]func(){
		"perturbed rows over x":   func() { vec.SignPerturbRows(x[:8], x[6:10], 1, signs) },
		"x inside perturbed rows": func() { vec.SignPerturbRows(x[:8], x[2:6], 1, signs) },
		"half a row":              func() { vec.SignPerturbRows(make([]float32, 6), make([]float32, 4), 1, signs) },
		"too few signs":           func() { vec.SignPerturbRows(make([]float32, 12), make([]float32, 4), 1, signs[:2]) },
		"v inside the table":      func() { vec.SignReplaceRows(x[:8], []int{0}, x[4:8], make([]float32, 4), x[:1], signs, 1, 1) },
		"v over abar":             func() { vec.SignReplaceRows(make([]float32, 8), []int{0}, x[:4], x[2:6], x[:1], signs, 1, 1) },
		"a row before the table": func() {
			vec.SignReplaceRows(x[:4], []int{-1}, make([]float32, 4), make([]float32, 4), make([]float32, 1), signs, 1, 1)
		},
		"a row behind the table": func() {
			vec.SignReplaceRows(x[:4], []int{1}, make([]float32, 4), make([]float32, 4), make([]float32, 1), signs, 1, 1)
		},
		"sum inside the table": func() { vec.SignFillRows(x[:8], []int{0}, x[4:8], x[:1], signs) },
		"a row to fill behind the table": func() {
			vec.SignFillRows(x[:7], []int{1}, make([]float32, 4), make([]float32, 1), signs)
		},
		"too few signs to fill with": func() { vec.SignFillRows(x[:8], []int{1, 0}, make([]float32, 4), x[8:10], signs[:1]) },
		"too few coefficients":       func() { vec.SignReplaceRows(make([]float32, 8), []int{0, 1}, x[:4], x[4:8], x[8:9:9], signs, 1, 1) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}
