package task

import (
	"runtime"
	"slices"
	"testing"
)

// TestPCAShapes checks that components and projections of data of many shapes have the same bits whatever the number of
// processors. Other tests compare components with those of the whole covariance matrix.
func TestPCAShapes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i, c := range []struct {
		rows, dim, n int
		zeros        float64
		want         uint64
	}{
		{2, 1, 1, 0, 0xa6c80b0297c247d0}, {9, 5, 2, 0.5, 0x362807793bcc5390}, {50, 3, 3, 0, 0x213331b1499a31fc}, {200, 30, 5, 0.3, 0x9edbe3881b622ff}, {60, 20, 20, 0.9, 0x3a63680ba1176f21},
		{40, 90, 7, 0.2, 0xb20d307c03b73451}, {700, 130, 10, 0.8, 0xf16762a1f7f35d05}, {5000, 7, 3, 0.4, 0x52d6533058010379},
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
