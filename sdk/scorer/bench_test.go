package scorer_test

import (
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/zoest"
)

// BenchmarkStream measures the cost of a query apart from the computation of its loss. The program, which is this test
// binary, only reads 1,000 parameters and adds them up.
func BenchmarkStream(b *testing.B) {
	for _, format := range []scorer.Format{scorer.CBOR, scorer.JSON} {
		for _, size := range []int{1, 16, 64} {
			name := map[int]string{1: "/one at a time", 16: "/16 in flight", 64: "/64 in flight"}[size]
			b.Run(string(format)+name, func(b *testing.B) {
				s := open(b, config(b, format, "wide"))
				queries := make([]zoest.Query, size)
				losses := make([]float64, size)
				for i := range queries {
					x := make([]float32, s.Dim())
					for k := range x {
						x[k] = float32(i+k) / 7
					}
					queries[i] = zoest.Query{Point: x, Sample: i % samples}
				}
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if err := s.Losses(b.Context(), queries, losses); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "us/query")
			})
		}
	}
}
