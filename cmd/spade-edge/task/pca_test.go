package task

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/eigen"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func testStream(seed uint64) rng.Stream { return rng.New(seed, rng.Address{Purpose: rng.Fault}) }

func bruteCovariance(d *Data) [][]float64 {
	c := make([][]float64, d.Dim)
	mean := columnMeans(d)
	for j := range c {
		c[j] = make([]float64, d.Dim)
		for k := range c[j] {
			for i := range d.Y {
				c[j][k] += (float64(d.Row(i)[j]) - mean[j]) * (float64(d.Row(i)[k]) - mean[k]) / float64(d.Len())
			}
		}
	}
	return c
}

func times(m [][]float64, v []float64) []float64 {
	out := make([]float64, len(m))
	for i, row := range m {
		out[i] = eigen.Dot(row, v)
	}
	return out
}

// checkEigen fails the test unless the vectors are orthonormal eigenvectors of c whose eigenvalues are the given
// values, in decreasing order.
func checkEigen(t *testing.T, c, vectors [][]float64, values []float64, tolerance float64) {
	t.Helper()
	for i, v := range vectors {
		for k, w := range vectors[:i+1] {
			want := 0.0
			if k == i {
				want = 1
			}
			if math.Abs(eigen.Dot(v, w)-want) > 1e-12 {
				t.Errorf("product of components %d and %d: %v, want %v", k, i, eigen.Dot(v, w), want)
			}
		}
		for j, x := range times(c, v) {
			if diff := math.Abs(x - values[i]*v[j]); diff > tolerance*values[0] {
				t.Errorf("component %d: entry %d of Cv - λv is %v", i, j, diff)
			}
		}
		if i > 0 && values[i] > values[i-1] {
			t.Errorf("variances %v do not fall", values)
		}
	}
}

func TestSymmetric(t *testing.T) {
	values, vectors := eigen.Symmetric([][]float64{{2, 1}, {1, 2}}, 2)
	if math.Abs(values[0]-3) > 1e-15 || math.Abs(values[1]-1) > 1e-15 || math.Abs(vectors[0][0]-vectors[0][1]) > 1e-15 {
		t.Errorf("eigenvalues and vectors of a matrix of two rows: %v, %v", values, vectors)
	}
	const n = 40
	s := testStream(1)
	beside := func(i, j int) float64 {
		if i == j+1 {
			return 1
		}
		return 0
	}
	for name, entry := range map[string]func(i, j int) float64{
		"random":    func(i, j int) float64 { return s.Normal() },
		"diagonal":  func(i, j int) float64 { return float64((j + 1) / (i + 1) * i) },
		"zeros":     func(i, j int) float64 { return 0 },
		"rank one":  func(i, j int) float64 { return 1 },
		"graded":    func(i, j int) float64 { return math.Pow(0.1, float64(i+j)) },
		"path":      beside,
		"underflow": func(i, j int) float64 { return float64(1/(1+i+j)) + 1e-170*beside(i, j) },
	} {
		a, c := eigen.Matrix(n, n), eigen.Matrix(n, n)
		for i := range a {
			for j := range i + 1 {
				a[i][j] = entry(i, j)
				a[j][i], c[i][j], c[j][i] = a[i][j], a[i][j], a[i][j]
			}
		}
		t.Run(name, func(t *testing.T) {
			values, vectors := eigen.Symmetric(a, n)
			checkEigen(t, c, vectors, values, 1e-13)
		})
	}
	a := eigen.Matrix(n, n)
	a[3][4], a[4][3] = math.NaN(), math.NaN()
	eigen.Symmetric(a, n) // ends
}

func TestPCAAgainstBruteForce(t *testing.T) {
	// Compared with the number of vectors in a Krylov basis, the cases have fewer columns, about as many, or more. One
	// case has more columns than rows. Many entries are zero. In the flat case, all eigenvalues are nearly equal.
	for _, c := range []struct {
		rows, dim, n int
		flat         bool
	}{{50, 3, 3, false}, {200, 30, 5, false}, {150, 100, 4, false}, {40, 90, 7, false}, {60, 20, 20, false}, {150, 100, 3, true}} {
		d, s := random(c.rows, c.dim, 2, 7), testStream(5)
		for i := range d.X {
			if c.flat {
				d.X[i] = float32(s.Normal())
			} else if i%3 == 0 {
				d.X[i] = 0
			}
		}
		p := must(FitPCA(d, c.n))(t)
		matrix := bruteCovariance(d)
		checkEigen(t, matrix, p.Components, p.variances, 1e-9)
		values, _ := eigen.Symmetric(matrix, c.n)
		for k, v := range p.variances {
			if math.Abs(v-values[k]) > 1e-9*values[0] {
				t.Errorf("%+v: variance %d is %v, brute force says %v", c, k, v, values[k])
			}
		}
		for k, v := range p.Components {
			if largest := slices.MaxFunc(v, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }); largest <= 0 {
				t.Errorf("%+v: component %d has the largest entry %v", c, k, largest)
			}
		}
	}
}

// TestPCAApplyBits checks that projections equal directly computed sums bit for bit, including the sign of zeros.
func TestPCAApplyBits(t *testing.T) {
	s := testStream(9)
	for _, n := range []int{1, 6, 13} {
		d := random(70, 25, 2, uint64(n))
		p := &PCA{Mean: make([]float64, d.Dim), Scale: 1.5}
		for i := range d.X {
			if s.IntN(3) == 0 {
				d.X[i] = float32(math.Copysign(0, float64(d.X[i])))
			}
		}
		clear(d.X[:2*d.Dim])
		for range n {
			p.Components = append(p.Components, make([]float64, d.Dim))
		}
		for k := 1; k < n; k++ { // entry 0 is zero
			for j := range d.Dim {
				p.Components[k][j], p.Mean[j] = s.Normal(), s.Normal()
			}
		}
		out := must(p.Apply(d))(t)
		for i := range d.Len() {
			for k, v := range p.Components {
				z := 0.0
				for j, m := range p.Mean {
					z += float64(m * v[j])
				}
				z = -z
				for j, x := range d.Row(i) {
					if x != 0 {
						z += float64(float64(x) * v[j])
					}
				}
				if got, want := out.Row(i)[k], float32(p.Scale*z); math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%d components: row %d has %v in component %d, want %v", n, i, got, k, want)
				}
			}
		}
	}
}

func TestPCAEdges(t *testing.T) {
	// The data has two directions of exactly equal variance, a direction without variance, and a large mean.
	d := &Data{Dim: 4, Classes: 2}
	for i, s := range []float32{1, -1, 1, -1} {
		c := []float32{1000, 1000, 1000, 5}
		c[i/2] += s
		d.X, d.Y = append(d.X, c...), append(d.Y, i%2)
	}
	p := must(FitPCA(d, 4))(t)
	checkEigen(t, bruteCovariance(d), p.Components, p.variances, 1e-12)
	for k, want := range []float64{0.5, 0.5, 0, 0} {
		if math.Abs(p.variances[k]-want) > 1e-12 || p.variances[k] < 0 {
			t.Errorf("variance %d is %v, want %v", k, p.variances[k], want)
		}
	}
	out, _ := p.Apply(d)
	for i := range out.Y {
		if r := out.Row(i); math.Abs(float64(r[2])) > 1e-9 || math.Abs(float64(r[3])) > 1e-9 {
			t.Errorf("row %d says %v in directions without variance", i, r[2:])
		}
	}

	for i := range d.X {
		d.X[i] = 3
	}
	if _, err := FitPCA(d, 1); err == nil {
		t.Error("took rows that are all alike")
	}
	for _, n := range []int{0, -1, 5} {
		if _, err := FitPCA(random(10, 4, 2, 1), n); err == nil {
			t.Errorf("took %d components of 4 columns", n)
		}
	}
	if _, err := p.Apply(random(10, 3, 2, 1)); err == nil {
		t.Error("applied to 3 columns, fitted to 4")
	}
}

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
			p := must(FitPCA(d, c.n))(t)
			projected := must(p.Apply(d))(t)
			got := digest(append(slices.Concat(p.Components...), p.Scale)...) ^ digest(p.variances...) ^ digest(projected.X...)
			if got != c.want {
				t.Errorf("%d x %d on %d processors: digest %#x, want %#x", c.rows, c.dim, processors, got, c.want)
			}
		}
	}
}
