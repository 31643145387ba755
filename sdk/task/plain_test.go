package task

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sort"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// This file is the original implementation of principal components, which handles one row and one vector at a time. The
// implementation in this package must produce the same bits, because recipes fitted earlier remain in use.

func TestPCAAgainstPlainOne(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i, c := range []struct {
		rows, dim, n int
		zeros        float64
	}{
		{2, 1, 1, 0}, {9, 5, 2, 0.5}, {50, 3, 3, 0}, {200, 30, 5, 0.3}, {60, 20, 20, 0.9},
		{40, 90, 7, 0.2}, {700, 130, 10, 0.8}, {5000, 7, 3, 0.4},
	} {
		d, s := random(c.rows, c.dim, 2, uint64(i)), testStream(9)
		for k := range d.X {
			if s.Float64() < c.zeros {
				d.X[k] = 0
			}
		}
		want, err := plainPCA(d, c.n)
		for _, processors := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(processors)
			got, err2 := FitPCA(d, c.n)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if digest(got.variances...) != digest(want.variances...) || digest(got.Scale) != digest(want.Scale) ||
				digest(slices.Concat(got.Components...)...) != digest(slices.Concat(want.Components...)...) {
				t.Errorf("%+v on %d processors: other bits than the plain one", c, processors)
			}
			projected, err := got.Apply(d)
			if err != nil || digest(projected.X...) != digest(plainApply(want, d)...) {
				t.Errorf("%+v on %d processors: projection has other bits than the plain one (%v)", c, processors, err)
			}
		}
	}
}

func plainPCA(d *Data, n int) (*PCA, error) {
	p := &PCA{Mean: columnMeans(d)}
	product := func(vectors [][]float64) [][]float64 { return plainProduct(d, p.Mean, vectors) }
	p.Components, p.variances = plainTopEigen(product, d.Dim, n)
	total := 0.0
	for k, v := range p.Components {
		orient(v)
		p.variances[k] = max(p.variances[k], 0)
		total += p.variances[k]
	}
	if !(total > 0) {
		return nil, errors.New("no variance")
	}
	p.Scale = math.Sqrt(float64(n) / total)
	return p, nil
}

func plainApply(p *PCA, d *Data) (x []float32) {
	pr := newPlainProjector(p.Mean, p.Components)
	for i := range d.Y {
		for _, z := range pr.project(d.Row(i)) {
			x = append(x, float32(p.Scale*z))
		}
	}
	return x
}

// plainProduct returns the products of the covariance matrix of a data set with vectors, without forming the matrix.
// mean holds the column means. Pixels that are zero take no time.
func plainProduct(d *Data, mean []float64, vectors [][]float64) [][]float64 {
	n, k := d.Dim, len(vectors)
	p := newPlainProjector(mean, vectors)
	out := make([]float64, n*k) // laid out like p.rows
	sum := make([]float64, k)   // sum of the projections of all rows; zero up to rounding
	for i := range d.Y {
		row := d.Row(i)
		z := p.project(row)
		for j, x := range row {
			if x != 0 {
				addMultiple(out[j*k:][:k], float64(x), z)
			}
		}
		addMultiple(sum, 1, z)
	}
	products := make([][]float64, k)
	for l := range products {
		products[l] = make([]float64, n)
		for j := range n {
			products[l][j] = (out[j*k+l] - float64(mean[j]*sum[l])) / float64(d.Len())
		}
	}
	return products
}

// plainProjector computes the scalar products of a row, minus the column means, with a few vectors.
type plainProjector struct {
	rows   []float64 // for each column of the data, the entries of all vectors for this column
	offset []float64 // scalar product of the column means with each vector
	z      []float64 // scalar product of the row that was projected last with each vector
}

func newPlainProjector(mean []float64, vectors [][]float64) *plainProjector {
	k := len(vectors)
	p := &plainProjector{rows: make([]float64, len(mean)*k), offset: make([]float64, k), z: make([]float64, k)}
	for l, v := range vectors {
		p.offset[l] = dot(mean, v)
		for j, x := range v {
			p.rows[j*k+l] = x
		}
	}
	return p
}

// project returns the scalar products of row - mean with the vectors. The slice is valid until the next call.
func (p *plainProjector) project(row []float32) []float64 {
	k := len(p.z)
	for l, o := range p.offset {
		p.z[l] = -o
	}
	for j, x := range row {
		if x != 0 {
			addMultiple(p.z, float64(x), p.rows[j*k:][:k])
		}
	}
	return p.z
}

// plainTopEigen is the original implementation of topEigen.
func plainTopEigen(mul func([][]float64) [][]float64, dim, n int) (vectors [][]float64, values []float64) {
	block := min(n+eigenSpare, dim)
	start := make([][]float64, block)
	for l := range start {
		s := rng.New(0, rng.Address{Purpose: rng.Spectrum, Component: uint32(l)})
		start[l] = make([]float64, dim)
		for j := range start[l] {
			start[l][j] = s.Normal()
		}
	}
	for round := 1; ; round++ {
		basis := plainExtend(nil, start)
		fresh := basis
		var images [][]float64 // the matrix times the basis
		for {
			product := mul(fresh)
			images = append(images, product...)
			if len(images) >= eigenDepth*block {
				break
			}
			grown := plainExtend(basis, product)
			if len(grown) == len(basis) { // the matrix maps the space into itself
				break
			}
			basis, fresh = grown, grown[len(basis):]
		}

		small := make([][]float64, len(basis))
		for i, b := range basis {
			small[i] = make([]float64, len(basis))
			for j := range i + 1 {
				small[i][j] = dot(b, images[j])
				small[j][i] = small[i][j]
			}
		}
		eigenvalues, mix := plainJacobi(small)
		start = combine(basis, mix[:min(block, len(mix))])
		top := combine(images, mix[:n])
		worst := 0.0
		for l, image := range top {
			addMultiple(image, -eigenvalues[l], start[l])
			worst = max(worst, norm(image))
		}
		if worst <= float64(eigenTol*eigenvalues[0]) || round == eigenRounds {
			return start[:n], eigenvalues[:n]
		}
	}
}

// plainExtend is the original implementation of extend.
func plainExtend(basis, vectors [][]float64) [][]float64 {
	for _, v := range vectors {
		v = slices.Clone(v)
		before := norm(v)
		for range 2 {
			for _, b := range basis {
				addMultiple(v, -dot(v, b), b)
			}
		}
		if after := norm(v); after > float64(1e-10*before) {
			for j := range v {
				v[j] /= after
			}
			basis = append(basis, v)
		}
	}
	return basis
}

// plainJacobi is the original implementation of jacobi.
func plainJacobi(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	v := make([][]float64, n)
	size := 0.0
	for i := range v {
		v[i] = make([]float64, n)
		v[i][i] = 1
		for _, x := range a[i] {
			size = max(size, math.Abs(x))
		}
	}
	for rotated, sweep := true, 0; rotated && sweep < 50; sweep++ {
		rotated = false
		for p := range n {
			for q := p + 1; q < n; q++ {
				if math.Abs(a[p][q]) <= float64(1e-17*size) {
					continue
				}
				rotated = true
				theta := (a[q][q] - a[p][p]) / float64(2*a[p][q])
				t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(float64(t*t)+1)
				s := float64(t * c)
				// See the comment in jacobi.
				rotate(a[p], a[q], c, s)
				for i, row := range a {
					if i == p || i == q {
						row[p], row[q] = float64(c*row[p])-float64(s*row[q]), float64(s*row[p])+float64(c*row[q])
					} else {
						row[p], row[q] = a[p][i], a[q][i]
					}
				}
				a[p][q], a[q][p] = 0, 0
				rotate(v[p], v[q], c, s)
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(x, y int) bool { return a[order[x]][order[x]] > a[order[y]][order[y]] })
	for _, i := range order {
		values = append(values, a[i][i])
		vectors = append(vectors, v[i])
	}
	return values, vectors
}
