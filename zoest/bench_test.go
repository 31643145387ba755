package zoest

import (
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// BenchmarkLocalStep reports the time of one local step of the estimator, divided by the time of plain copies of the
// same number of bytes. The loss costs nothing, because queries are answered immediately. Copies between rows of the
// table represent the step's accesses to the table, and copies between vectors represent all other accesses.
//
//	go test -run xxx -bench LocalStep ./zoest
func BenchmarkLocalStep(b *testing.B) {
	const d, m, batch = 10_000, 1_000, 8
	for _, c := range []struct {
		name string
		kind Kind
		law  Distribution
	}{
		{"paper", Paper, Rademacher},
		{"tracking", Tracking, Rademacher}, {"tracking-walsh", Tracking, Walsh},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := newTest(b, Config{Dim: d, Samples: m, Batch: batch, Seed: 1, Kind: c.kind, Directions: c.law})
			x := make([]float32, d)
			one := func(Query) float64 { return 1 }
			e.Fill(0, x, 0.1)
			drive(b, e, one)
			// Count the vectors that a step reads or writes. The copies between rows represent reading and writing a
			// row of the table for each query. The copies between vectors represent, for each query, x and the point
			// (2), the fresh row (written and read: 2), and v and abar (read and written: 4), and for each step, adding
			// abar and v (2). A copy reads one vector and writes one, so the count is divided by two. The tracking kind
			// reads the row of the table once more but has no fresh row.
			rows, vectors := batch, (batch*8+2)/2
			if c.kind == Tracking {
				vectors = (batch*7 + 2) / 2
			}
			flat, from, to := make([]float32, m*d), make([]float32, d), make([]float32, d)
			s := rng.New(1, rng.Address{Purpose: rng.Generate})
			var step, plain time.Duration
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				e.Step(x)
				drive(b, e, one)
				middle := time.Now()
				for range rows {
					g, h := s.IntN(m), s.IntN(m)
					copy(flat[g*d:(g+1)*d], flat[h*d:(h+1)*d])
				}
				for range vectors {
					copy(to, from)
				}
				step += middle.Sub(start)
				plain += time.Since(middle)
			}
			b.ReportMetric(float64(step)/float64(plain), "copies")
			b.ReportMetric(float64(step.Nanoseconds())/float64(b.N), "ns/step")
		})
	}
}
