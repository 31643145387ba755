package zoest

import (
	"fmt"
	"testing"
	"time"
)

// One local step of the estimator, queries answered at once so that the loss costs nothing, and beside it a plain copy of as
// many bytes as the step moves, in pieces of a row between places of the same size: so-and-so-many-copies is their ratio.
//
//	go test -run xxx -bench LocalStep ./zoest
func BenchmarkLocalStep(b *testing.B) {
	const d, m, batch = 10_000, 1_000, 8
	for _, seeded := range []bool{false, true} {
		b.Run(fmt.Sprintf("seeded=%v", seeded), func(b *testing.B) {
			e := newTest(b, Config{Dim: d, Samples: m, Batch: batch, Seed: 1, Seeded: seeded})
			x := make([]float32, d)
			one := func(Query) float64 { return 1 }
			e.Fill(0, x, 0.1)
			drive(b, e, one)
			// Numbers moved: for each query x and the point (2), the fresh row (1), and for the update row, v and abar read
			// and written, and the fresh row read (7); for the step v set to abar (2).
			moved := d * (batch*10 + 2)
			from, to := make([]float32, m*d), make([]float32, d)
			var step, plain time.Duration
			at := 0
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				e.Step(x)
				drive(b, e, one)
				middle := time.Now()
				for k := 0; k < moved; k += 2 * d { // a copy reads and writes
					copy(to, from[at*d:(at+1)*d])
					at = (at + 7) % m
				}
				step += middle.Sub(start)
				plain += time.Since(middle)
			}
			b.ReportMetric(float64(step)/float64(plain), "copies")
			b.ReportMetric(float64(step.Nanoseconds())/float64(b.N), "ns/step")
		})
	}
}
