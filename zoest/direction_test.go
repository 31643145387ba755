package zoest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

func newDirection(d int) direction { return make(direction, vec.SignWords(d)) }

// draw sets u to the first direction drawn from the stream.
func (u direction) draw(s rng.Stream) { s.Fill(u) }

func (u direction) scale(y []float32, a float32) { vec.SignScale(y, a, u) }

// sampler sets u to the i-th direction.
type sampler func(u []float32, i int)

// drawn returns a sampler that draws directions with the code under test, each at its own address.
func drawn(d int) sampler {
	dir := newDirection(d)
	return func(u []float32, i int) {
		dir.draw(rng.New(9, rng.Address{Purpose: rng.Table, Component: uint32(i)}))
		dir.scale(u, 1)
	}
}

// TestDirectionLength checks that every coordinate is 1 or -1, so that |u| is sqrt(d).
func TestDirectionLength(t *testing.T) {
	for _, d := range []int{1, 2, 3, 10, 63, 64, 65, 1000, 10007} {
		u, next := make([]float32, d), drawn(d)
		for i := range 1 + 20000/d {
			next(u, i)
			for j, x := range u {
				if x != 1 && x != -1 {
					t.Fatalf("d = %d: coordinate %d of direction %d is %v, want 1 or -1", d, j, i, x)
				}
			}
		}
	}
}

// isotropyFault tests n directions for E u = 0 and E uu' = I. It sums the squared deviations of the sample moments from
// these values, each divided by its variance 1/n: one sum over the d means, and another over the products of the
// d(d-1)/2 pairs of coordinates. Each sum must be below the limit of a chi-square distribution. The square of each
// coordinate must be exactly 1.
func isotropyFault(next sampler, d, n int) error {
	u := make([]float32, d)
	first := make([]float64, d)
	second := make([]float64, d*d)
	for i := range n {
		next(u, i)
		for j, x := range u {
			first[j] += float64(x)
			for k, y := range u[:j+1] {
				second[j*d+k] += float64(x) * float64(y)
			}
		}
	}
	var means, products, squares float64
	for j := range d {
		means += first[j] * first[j] / float64(n)
		for k := range j {
			products += second[j*d+k] * second[j*d+k] / float64(n)
		}
		squares += math.Pow(second[j*d+j]/float64(n)-1, 2)
	}
	if squares != 0 {
		return fmt.Errorf("a square is not 1")
	}
	if limit := chiLimit(d); means > limit {
		return fmt.Errorf("means: chi-square %.1f, limit %.1f", means, limit)
	}
	if limit := chiLimit(d * (d - 1) / 2); products > limit {
		return fmt.Errorf("products: chi-square %.1f, limit %.1f", products, limit)
	}
	return nil
}

// TestDirectionIsotropy draws 30000 directions with d = 70, more than one word of signs. It also checks that the test
// fails for signs that are +1 with probability 0.505, for a repeated coordinate, and for a coordinate that is 5% too
// large. The biased signs have mean 0.01 and add 30000 * 70 * 0.01^2 = 210 to a statistic of about 70 with a limit of
// 140.
func TestDirectionIsotropy(t *testing.T) {
	if testing.Short() {
		t.Skip("two million coordinates twice are left out in short mode")
	}
	const d, n = 70, 30000
	signs := drawn(d)
	if err := isotropyFault(signs, d, n); err != nil {
		t.Error(err)
	}

	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name string
		next sampler
	}{
		{"signs biased by 1 %", func(u []float32, _ int) {
			for j := range u {
				u[j] = 1
				if r.Float64() >= 0.505 {
					u[j] = -1
				}
			}
		}},
		{"the sign of coordinate 0 again at 64", func(u []float32, i int) { signs(u, i); u[64] = u[0] }},
		{"a long coordinate", func(u []float32, i int) { signs(u, i); u[3] *= 1.05 }},
		{"a sign that is never positive", func(u []float32, i int) { signs(u, i); u[0] = -1 }},
	} {
		if isotropyFault(c.next, d, n) == nil {
			t.Errorf("%s passes: the test has no power", c.name)
		}
	}
}

// TestDirectionsApart checks that directions whose addresses differ in one field are uncorrelated: their inner
// product has mean 0 and variance d, and must be within five standard deviations. The same address must produce the
// same direction.
func TestDirectionsApart(t *testing.T) {
	const d = 4000
	base := rng.Address{Purpose: rng.Table, Client: 1, Round: 2, Step: 3, Component: 4}
	addresses := []rng.Address{base}
	for _, change := range []func(a *rng.Address){
		func(a *rng.Address) { a.Purpose = rng.Step },
		func(a *rng.Address) { a.Client++ },
		func(a *rng.Address) { a.Round++ },
		func(a *rng.Address) { a.Step++ },
		func(a *rng.Address) { a.Component++ },
	} {
		a := base
		change(&a)
		addresses = append(addresses, a)
	}
	dir := newDirection(d)
	var us [][]float32
	for _, a := range append(addresses, base) {
		dir.draw(rng.New(5, a))
		u := make([]float32, d)
		dir.scale(u, 1)
		us = append(us, u)
	}
	for i := range us {
		for j := range i {
			var dot float64
			for k := range d {
				dot += float64(us[i][k]) * float64(us[j][k])
			}
			if i == len(us)-1 && j == 0 { // base again
				if math.Abs(dot-d) > 1e-5*d {
					t.Errorf("the same address gives a direction with product %v, want %d", dot, d)
				}
			} else if i < len(us)-1 && math.Abs(dot) > 5*math.Sqrt(d) {
				t.Errorf("directions at %+v and %+v have product %.0f, limit %.0f", addresses[i], addresses[j], dot,
					5*math.Sqrt(d))
			}
		}
	}
}

// TestDirectionArithmetic checks that the methods add and scale compute x + mu*u and a*u, with each float32 operation
// rounded separately.
func TestDirectionArithmetic(t *testing.T) {
	const d = 131
	r := rand.New(rand.NewPCG(3, 3))
	dir := newDirection(d)
	dir.draw(rng.New(6, rng.Address{Purpose: rng.Step}))
	u, x, y := make([]float32, d), make([]float32, d), make([]float32, d)
	dir.scale(u, 1)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	const mu, a = float32(0.1), float32(-0.7)
	copy(y, x)
	dir.add(y, 0, mu)
	for i := range y {
		step := float32(float64(mu) * float64(u[i]))
		if want := float32(float64(x[i]) + float64(step)); y[i] != want {
			t.Fatalf("add gives %v at %d, want %v", y[i], i, want)
		}
	}
	dir.scale(y, a)
	for i := range y {
		if want := float32(float64(a) * float64(u[i])); y[i] != want {
			t.Fatalf("scale gives %v at %d, want %v", y[i], i, want)
		}
	}
}

func TestDistributionText(t *testing.T) {
	for _, d := range []Distribution{Rademacher, Walsh} {
		var got Distribution
		text, err := d.MarshalText()
		if err := errors.Join(err, got.UnmarshalText(text)); got != d || err != nil {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	unset := Walsh
	if err := unset.UnmarshalText(nil); unset != Rademacher || err != nil {
		t.Errorf("no name is read as %v, %v, want the default", unset, err)
	}
	if _, err := Distribution(7).MarshalText(); err == nil {
		t.Error("a distribution without a name was written")
	}
	for _, name := range []string{"Walsh", "sphere", Distribution(7).String()} {
		err := new(Distribution).UnmarshalText([]byte(name))
		if want := fmt.Sprintf("zoest: directions %q, want rademacher or walsh", name); err == nil || err.Error() != want {
			t.Errorf("%q gives the error %v, want %s", name, err, want)
		}
	}
}
