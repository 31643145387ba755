package admm

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
)

// perRecord returns a function that makes a fleet private, with record-level privacy. Its members have 4, 5 and 6
// records.
func perRecord(g dpmech.Gaussian, change func(i int, c *Config)) func(i int, c *Config) {
	return func(i int, c *Config) {
		g.Unit = dpmech.Record
		private(g)(i, c)
		c.Estimator.Batch, c.Estimator.Records = 0, true
		c.Records = Records{Mean: 5, Most: 6}
		c.Tau, c.GridStep = 3, g.Sigma/16
		if change != nil {
			change(i, c)
		}
	}
}

// recordForms calls run for each estimator and each distribution of directions.
func recordForms(run func(name string, change func(c *Config))) {
	for kind := zoest.Paper; kind <= zoest.Tracking; kind++ {
		for _, law := range []zoest.Distribution{zoest.Rademacher, zoest.Walsh} {
			run(kind.String()+" "+law.String(), func(c *Config) { c.Estimator.Kind, c.Estimator.Directions = kind, law })
		}
	}
}

// clippedSum computes a release's sum directly in float64.
func clippedSum(m *Machine) []float64 {
	rows, slope := m.est.Rows()
	sum := make([]float64, len(m.x))
	for row := range slices.Chunk(rows, len(m.x)) {
		scale, square := -slope*m.cfg.Eta.At(m.k())/m.cfg.Records.Mean, 0.0
		for _, v := range row {
			square += scale * float64(v) * scale * float64(v)
		}
		if norm := math.Sqrt(square); norm > m.cfg.Privacy.Clip {
			scale *= m.cfg.Privacy.Clip / norm
		}
		for i, v := range row {
			sum[i] += scale * float64(v)
		}
	}
	return sum
}

// TestRecordsReleaseTheSum checks that a release is the public center plus the sum of clipped rows plus noise, with and
// without a grid, and that all queries are made around x.
func TestRecordsReleaseTheSum(t *testing.T) {
	for _, step := range []float64{0, 1.0 / 16} {
		recordForms(func(name string, change func(c *Config)) {
			const radius = 0.002
			g := dpmech.Gaussian{Clip: radius, Sigma: radius * 0x1p-16}
			net := newNetwork(t, configs(4, kite, perRecord(g, func(i int, c *Config) {
				c.GridStep = g.Sigma * step
				change(c)
			})))
			sums, clipped := map[int][]float64{}, false
			net.reserved = func(i int) {
				sums[i] = clippedSum(net.machines[i])
				clipped = clipped || math.Abs(sums[i][0]) > radius
			}
			net.loss = func(client int, x []float32, sample int) float64 {
				off, mu := 0.0, net.machines[client].cfg.Mu.At(0)
				for i, v := range x {
					off = max(off, math.Abs(math.Abs(float64(v)-float64(net.machines[client].x[i]))-mu))
				}
				if off > 1e-6 {
					t.Fatalf("%s: a query is asked %v from where queries at x are", name, off)
				}
				return lossFunc(client, x, sample)
			}
			net.released = func(i, round int) {
				m := net.machines[i]
				if !m.cfg.NonPrivate && m.cfg.Data(round) == m.cfg.Data(round-1) {
					return
				}
				for c, want := range sums[i] {
					if got := float64(m.x[c]) - float64(m.center[c]); math.Abs(got-want) > 1e-6+8*g.Sigma {
						t.Fatalf("%s: client %d, release %d, coordinate %d: %v, want %v", name, i, round, c, got, want)
					}
				}
			}
			must(t, net.run())
			if !clipped {
				t.Errorf("%s: no row was clipped: this test shows less than it says", name)
			}
		})
	}
}

// TestReplacedRecordMovesNoOtherRow gives one record hostile losses. As long as the releases are the same, no other row
// and nothing stored about another record may change.
func TestReplacedRecordMovesNoOtherRow(t *testing.T) {
	recordForms(func(name string, change func(c *Config)) {
		const replaced = 2
		make2 := func() *network {
			return newNetwork(t, configs(1, nil, perRecord(dpmech.Gaussian{Clip: 0.01, Sigma: 0.1}, func(i int, c *Config) {
				c.Estimator.Samples, c.Rounds, c.Records.Mean = 6, 8, 4.5
				change(c)
			})))
		}
		a, b := make2(), make2()
		asked := 0
		b.loss = func(client int, x []float32, sample int) float64 {
			if sample == replaced {
				asked++
				return []float64{math.NaN(), 1e30, math.Inf(1), -1e30, 3}[asked%5]
			}
			return lossFunc(client, x, sample)
		}
		one, other := a.machines[0], b.machines[0]
		compare := func() {
			x, _ := one.est.Rows()
			y, _ := other.est.Rows()
			for h := range 6 {
				if same := slices.Equal(x[5*h:5*h+5], y[5*h:5*h+5]); same == (h == replaced) {
					t.Fatalf("%s: round %d: row %d is the same: %v", name, one.round+1, h, same)
				}
			}
		}
		b.reserved = func(int) { compare() }
		for range 8 {
			if _, err := a.drive(0); err != nil {
				t.Fatal(err)
			}
			if _, err := b.drive(0); err != nil {
				t.Fatal(err)
			}
			copy(other.x, one.x) // the same history
			copy(other.grid, one.grid)
		}
		if other.counts.failed == 0 {
			t.Errorf("%s: no loss has failed", name)
		}
	})
}
