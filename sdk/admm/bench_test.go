package admm_test

import (
	"fmt"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// BenchmarkQuery measures the cost of a query in a local step, without the loss itself: drawing the direction,
// computing the point, and updating the table, the estimate and the iterate. A batch has 8 of 64 samples.
//
//	go test -run xxx -bench Query ./sdk/admm
func BenchmarkQuery(b *testing.B) {
	for _, d := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			m, err := admm.New(admm.Config{
				Estimator: zoest.Config{Dim: d, Samples: 64, Batch: 8, Seed: 1, Window: 8},
				Rounds:    1, Tau: 1 << 30, Rho: 1, Beta: 1, Eta: admm.Schedule{1e-3}, Mu: admm.Schedule{0.1}, NonPrivate: true,
			})
			if err != nil {
				b.Fatal(err)
			}
			losses := make([]float64, 8)
			turn := func() {
				r, err := m.Ready()
				if err != nil {
					b.Fatal(err)
				}
				for i, q := range r.Queries {
					losses[i] = float64(q.Point[0]) + 1
				}
				if err := m.Answer(losses[:len(r.Queries)]...); err != nil {
					b.Fatal(err)
				}
			}
			for range 64 / 8 { // fill the table
				turn()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += 8 {
				turn()
			}
		})
	}
}
