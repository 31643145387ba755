package zoest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// TestGoldenTranscript compares a hash of all bits of the estimates of 200 steps in ten rounds. Each step is taken at
// the point that the previous steps reached, so a one-bit difference in any draw, query or sum changes the hash. The
// loss uses only operations that have the same result on every processor.
func TestGoldenTranscript(t *testing.T) {
	const d, m, b, rounds, steps = 130, 9, 4, 10, 20
	for _, c := range []struct {
		kind Kind
		dist Distribution
		want string
	}{
		{Paper, Rademacher, "4d5ba88cd1d80a95d31b36e4f2d932d1f94abb67ffdcaafe1e8c95702fedd170"},
		{Paper, Walsh, "41f25531fe9e9038a0ceff75a2d75e1ddf9b77454fc6a3559c7276b36b0c900e"},
		{Tracking, Rademacher, "b3e746c839e50ccd181df849727eef011eac46651340e12f05c67b9ce46fee17"},
		{Tracking, Walsh, "b3694dc04854535750cb2b18790206bc615a735794f889b99665facf6734b2d7"},
	} {
		e := newTest(t, Config{Dim: d, Samples: m, Batch: b, Directions: c.dist, Kind: c.kind, Seed: 2024, Client: 3})
		feature := make([][]float32, m)
		for h := range feature {
			feature[h] = make([]float32, d)
			for i := range feature[h] {
				feature[h][i] = float32((h*31+i*17)%23-11) / 16 // exact
			}
		}
		loss := func(q Query) float64 {
			r := 1/(1+vec.Exp(-vec.Dot(q.Point, feature[q.Sample]))) - float64(q.Sample%2)
			return r * r
		}
		phi := make([]float32, d)
		hash := sha256.New()
		for round := range rounds {
			e.Fill(round, phi, 0.05)
			drive(t, e, loss)
			for range steps {
				e.Step(phi)
				drive(t, e, loss)
				for _, v := range e.Estimate() {
					hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
				}
				vec.Axpy(phi, -0.02, e.Estimate())
			}
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != c.want {
			t.Errorf("kind %v, %v: hash %s, want %s", c.kind, c.dist, got, c.want)
		}
	}
}
