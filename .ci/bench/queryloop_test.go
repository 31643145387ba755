package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestLoopsAgree checks that the C loop makes the same random draws and updates as the state machine, so that the two
// models are bit-identical. The cases include a run that is long enough to recompute the mean of the table of gradient
// estimates, and a batch of all samples.
func TestLoopsAgree(t *testing.T) {
	bits := func(x []float32) (b []uint32) {
		for _, x := range x {
			b = append(b, math.Float32bits(x))
		}
		return b
	}
	for _, c := range []struct{ d, m, b, steps int }{
		{1, 3, 1, 20}, {10, 64, 8, 40}, {10, 64, 8, 2500}, {33, 7, 7, 30}, {64, 5, 2, 30}, {129, 9, 4, 30}, {1000, 20, 8, 20},
		{5000, 11, 3, 10},
	} {
		model, _, err := machineQueries(c.d, c.m, c.b, c.steps, 8)
		if err != nil {
			t.Fatal(err)
		}
		loop, _ := loopQueries(c.d, c.m, c.b, c.steps)
		if loop == nil {
			t.Skip("no C compiler")
		}
		if !slices.Equal(bits(model), bits(loop)) {
			t.Errorf("%+v: the machine's model is %v, the loop's %v", c, model[:1], loop[:1])
		}
	}
}

// TestHazardLoopsAgree checks that the loops compute the same losses, up to rounding.
func TestHazardLoopsAgree(t *testing.T) {
	for _, columns := range []int{1, 39} {
		h := newHazards(50, columns)
		if err := h.ours(1); err != nil {
			t.Fatal(err)
		}
		for name, loop := range map[string]func(int) bool{"C": h.inC, "Go": func(n int) bool { h.inGo(n); return true }} {
			if !loop(1) {
				continue
			}
			for i, loss := range h.losses {
				if !near(loss, h.plain[i]) {
					t.Errorf("%s, %d columns, query %d: %v, want %v", name, columns, i, h.plain[i], loss)
				}
			}
		}
	}
}

// BenchmarkQuery measures the time per query in a local step, and its ratio to the time of the C loop.
func BenchmarkQuery(b *testing.B) {
	for _, d := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			steps := max(1, 2_000_000/(d+100))
			var machine, loop []float64
			for b.Loop() {
				_, ns, err := machineQueries(d, 64, 8, steps, 8)
				if err != nil {
					b.Fatal(err)
				}
				machine = append(machine, ns)
				_, ns = loopQueries(d, 64, 8, steps)
				loop = append(loop, ns)
			}
			m, l := slices.Min(machine), slices.Min(loop)
			b.ReportMetric(m, "ns/query")
			b.ReportMetric(l, "ns/loop")
			b.ReportMetric(m/l, "loops")
		})
	}
}
