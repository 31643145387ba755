package task

import (
	"runtime"
	"slices"
	"testing"
)

// TestPCAShapes checks that components and projections of data of many shapes have the same bits whatever the number of
// processors. The digests come from an implementation that handles one row and one vector at a time.
func TestPCAShapes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i, c := range []struct {
		rows, dim, n int
		zeros        float64
		want         uint64
	}{
		{2, 1, 1, 0, 0xa6c80b0297c247d0}, {9, 5, 2, 0.5, 0xe74d4d3b46ac4783}, {50, 3, 3, 0, 0x5da9966bb07f4859}, {200, 30, 5, 0.3, 0x1133cca44cc263e3}, {60, 20, 20, 0.9, 0xb068e36ea6040052},
		{40, 90, 7, 0.2, 0x3a8700c63616dc13}, {700, 130, 10, 0.8, 0x7d76028de7d3b94f}, {5000, 7, 3, 0.4, 0x561273088f557e13},
	} {
		d, s := random(c.rows, c.dim, 2, uint64(i)), testStream(9)
		for k := range d.X {
			if s.Float64() < c.zeros {
				d.X[k] = 0
			}
		}
		for _, processors := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(processors)
			p, err := FitPCA(d, c.n)
			if err != nil {
				t.Fatal(err)
			}
			projected, err := p.Apply(d)
			if err != nil {
				t.Fatal(err)
			}
			got := digest(append(slices.Concat(p.Components...), p.Scale)...) ^ digest(p.variances...) ^ digest(projected.X...)
			if got != c.want {
				t.Errorf("%d x %d on %d processors: digest %#x, want %#x", c.rows, c.dim, processors, got, c.want)
			}
		}
	}
}
