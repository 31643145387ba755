package sdk_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// BenchmarkRound measures the time of a round of two private nodes in one process, and the bytes that both nodes send,
// with and without signatures. The loss is cheap, so the difference is the cost of signatures.
func BenchmarkRound(b *testing.B) {
	for _, dim := range []int{10, 10000} {
		for _, keys := range []bool{false, true} {
			b.Run(fmt.Sprintf("d=%d/keys=%v", dim, keys), func(b *testing.B) {
				f := &sdk.Fleet{
					Run: "bench", Dim: dim, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
					Method:  sdk.Method{Rounds: b.N, Tau: 1, Batch: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.1}, Mu: []float64{0.5}},
					Privacy: sdk.Privacy{Clip: 0.1, Sigma: 1, Delta: 1e-5},
				}
				net := mem.New(f.Members...)
				var nodes []*sdk.Node
				for _, name := range f.Members {
					tr, err := net.Node(name)
					if err != nil {
						b.Fatal(err)
					}
					cfg := sdk.Config{Fleet: f, Name: name, Samples: 1, Transport: tr, ResendAfter: time.Minute,
						Oracle: sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 0.5, nil })}
					if keys {
						sign(&cfg)
					}
					n, err := sdk.New(cfg)
					if err != nil {
						b.Fatal(err)
					}
					nodes = append(nodes, n)
				}
				b.ResetTimer()
				var work sync.WaitGroup
				for _, n := range nodes {
					work.Go(func() {
						if err := n.Run(b.Context()); err != nil {
							b.Error(err)
						}
					})
				}
				work.Wait()
				b.StopTimer()
				sent := nodes[0].Status().BytesSent + nodes[1].Status().BytesSent
				b.ReportMetric(float64(sent)/float64(b.N), "bytes/round")
			})
		}
	}
}
