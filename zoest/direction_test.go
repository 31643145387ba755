package zoest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// sampler draws the i-th direction into u.
type sampler func(u []float32, i int)

// drawn is the sampler of the package: one direction an address.
func drawn(dist Distribution, d int) sampler {
	dir := newDirection(dist, d)
	return func(u []float32, i int) {
		dir.draw(rng.New(9, rng.Address{Purpose: rng.Table, Component: uint32(i)}))
		dir.scale(u, 0, 1)
	}
}

// lengthFault reports the first direction whose squared length is not d: exactly for signs, whose squares are 1, and up
// to 1e-5 of it on the sphere. There the float32 sum of squares is off by 71 half ulps at most, 71 * 2^-24 = 4.2e-6 of
// it, and each coordinate by one for the scale and one for the product, 2.4e-7 of its square.
func lengthFault(next sampler, dist Distribution, d, n int) error {
	u := make([]float32, d)
	for i := range n {
		next(u, i)
		var sum float64
		for j, x := range u {
			if dist == Rademacher && x != 1 && x != -1 {
				return fmt.Errorf("coordinate %d of direction %d is %v, want 1 or -1", j, i, x)
			}
			sum += float64(x) * float64(x)
		}
		if !(math.Abs(sum/float64(d)-1) <= 1e-5) {
			return fmt.Errorf("|u|^2 of direction %d is %v, want %d", i, sum, d)
		}
	}
	return nil
}

func TestDirectionLength(t *testing.T) {
	for _, dist := range []Distribution{Rademacher, Sphere} {
		for _, d := range []int{1, 2, 3, 10, 63, 64, 65, 1000, 10007} {
			if err := lengthFault(drawn(dist, d), dist, d, 1+20000/d); err != nil {
				t.Errorf("%v, d = %d: %v", dist, d, err)
			}
		}
	}
	// A radius that is off by a hundredth of a percent is seen.
	wrong := func(u []float32, i int) {
		drawn(Sphere, 10)(u, i)
		for j := range u {
			u[j] *= 1.0001
		}
	}
	if lengthFault(wrong, Sphere, 10, 1) == nil {
		t.Error("a wrong radius passes: the test has no power")
	}
}

// isotropyFault tests E u = 0 and E uu' = I on n directions, by three sums over squared deviations of the sample
// moments from theirs, each divided by its variance: of the d means (variance 1/n); of the d(d-1)/2 products of two
// coordinates (variance 1/n for signs; on the sphere d/(d+2)/n, and any two of these products are uncorrelated); of the
// d squares, which are 1 for signs and on the sphere have variance 2(d-1)/(d+2)/n under the constraint that they add up
// to d, which leaves d-1 degrees of freedom and asks for a factor of (d-1)/d. Each follows a chi-square law.
func isotropyFault(next sampler, dist Distribution, d, n int) error {
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
	dd := float64(d)
	if dist == Sphere {
		products *= (dd + 2) / dd
		squares *= float64(n) * (dd + 2) / (2 * (dd - 1)) * (dd - 1) / dd
	} else if squares != 0 {
		return fmt.Errorf("a square is not 1")
	}
	if limit := chiLimit(d); means > limit {
		return fmt.Errorf("means: chi-square %.1f, limit %.1f", means, limit)
	}
	if limit := chiLimit(d * (d - 1) / 2); products > limit {
		return fmt.Errorf("products: chi-square %.1f, limit %.1f", products, limit)
	}
	if limit := chiLimit(d - 1); squares > limit {
		return fmt.Errorf("squares: chi-square %.1f, limit %.1f", squares, limit)
	}
	return nil
}

// With d = 70 (more than one word of signs) and 30000 directions, 2.1e6 coordinates: signs that are +1 with probability
// 0.505 have mean 0.01 and add 30000 * 70 * 0.01^2 = 210 to a statistic of about 70 with a limit of 140. That, a
// coordinate that repeats another, one that is 5 % too large, and a cube in place of a sphere are shown to fail.
func TestDirectionIsotropy(t *testing.T) {
	if testing.Short() {
		t.Skip("two million coordinates twice are left out in short mode")
	}
	const d, n = 70, 30000
	for _, dist := range []Distribution{Rademacher, Sphere} {
		if err := isotropyFault(drawn(dist, d), dist, d, n); err != nil {
			t.Errorf("%v: %v", dist, err)
		}
	}

	r := rand.New(rand.NewPCG(1, 1))
	signs, sphere := drawn(Rademacher, d), drawn(Sphere, d)
	for _, c := range []struct {
		name string
		dist Distribution
		next sampler
	}{
		{"signs biased by 1 %", Rademacher, func(u []float32, _ int) {
			for j := range u {
				u[j] = 1
				if r.Float64() >= 0.505 {
					u[j] = -1
				}
			}
		}},
		{"the sign of coordinate 0 again at 64", Rademacher, func(u []float32, i int) { signs(u, i); u[64] = u[0] }},
		{"a long coordinate", Sphere, func(u []float32, i int) { sphere(u, i); u[3] *= 1.05 }},
		{"a normal vector that is not positive at 0", Sphere, func(u []float32, i int) {
			sphere(u, i)
			u[0] = -float32(math.Abs(float64(u[0])))
		}},
	} {
		if isotropyFault(c.next, c.dist, d, n) == nil {
			t.Errorf("%s passes: the test has no power", c.name)
		}
	}
}

// By a theorem of Archimedes any coordinate of a uniform point on the sphere in three dimensions is uniform, and so is
// the angle around that axis: 50 cells each. A cube blown up to the sphere, which has the same mean and covariance, is
// shown to fail.
func TestSphereLaw(t *testing.T) {
	n := 200000
	if brief() {
		n = 50000
	}
	const k = 50
	law := func(next sampler) (height, angle float64) {
		heights, angles := make([]int, k), make([]int, k)
		u := make([]float32, 3)
		for i := range n {
			next(u, i)
			h := (float64(u[2])/math.Sqrt(3) + 1) / 2
			heights[max(0, min(int(h*k), k-1))]++ // rounding may put a pole outside
			a := math.Atan2(float64(u[1]), float64(u[0]))/(2*math.Pi) + 0.5
			angles[max(0, min(int(a*k), k-1))]++
		}
		return chiSquare(heights), chiSquare(angles)
	}
	limit := chiLimit(k - 1)
	if h, a := law(drawn(Sphere, 3)); h > limit || a > limit {
		t.Errorf("chi-square is %.1f for the height and %.1f for the angle, limit %.1f", h, a, limit)
	}
	r := rand.New(rand.NewPCG(2, 2))
	cube := func(u []float32, _ int) {
		var sum float64
		for j := range u {
			u[j] = float32(2*r.Float64() - 1)
			sum += float64(u[j]) * float64(u[j])
		}
		for j := range u {
			u[j] *= float32(math.Sqrt(3 / sum))
		}
	}
	if h, a := law(cube); h <= limit || a <= limit {
		t.Errorf("a cube passes with chi-square %.1f and %.1f: the test has no power", h, a)
	}
}

// Directions at addresses that differ in one field are unrelated: the product of two has mean 0 and variance d (a bit
// less on the sphere), and five standard deviations are the limit. The same address gives the same direction.
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
	for _, dist := range []Distribution{Rademacher, Sphere} {
		dir := newDirection(dist, d)
		var us [][]float32
		for _, a := range append(addresses, base) {
			dir.draw(rng.New(5, a))
			u := make([]float32, d)
			dir.scale(u, 0, 1)
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
						t.Errorf("%v: the same address gives a direction with product %v, want %d", dist, dot, d)
					}
				} else if i < len(us)-1 && math.Abs(dot) > 5*math.Sqrt(d) {
					t.Errorf("%v: directions at %+v and %+v have product %.0f, limit %.0f", dist, addresses[i], addresses[j], dot,
						5*math.Sqrt(d))
				}
			}
		}
	}
}

// Whatever the form a direction is kept in, perturb is x + mu*u and scale is a*u, each rounded as two float32
// operations.
func TestDirectionArithmetic(t *testing.T) {
	const d = 131
	r := rand.New(rand.NewPCG(3, 3))
	for _, dist := range []Distribution{Rademacher, Sphere} {
		dir := newDirection(dist, d)
		dir.draw(rng.New(6, rng.Address{Purpose: rng.Step}))
		u, x, y := make([]float32, d), make([]float32, d), make([]float32, d)
		dir.scale(u, 0, 1)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		const mu, a = float32(0.1), float32(-0.7)
		dir.perturb(y, x, mu)
		for i := range y {
			step := float32(float64(mu) * float64(u[i]))
			if want := float32(float64(x[i]) + float64(step)); y[i] != want {
				t.Fatalf("%v: perturb gives %v at %d, want %v", dist, y[i], i, want)
			}
		}
		dir.scale(y, 0, a)
		for i := range y {
			if want := float32(float64(a) * float64(u[i])); y[i] != want {
				t.Fatalf("%v: scale gives %v at %d, want %v", dist, y[i], i, want)
			}
		}
	}
}

func TestDistributionText(t *testing.T) {
	for _, d := range []Distribution{Rademacher, Sphere, Walsh} {
		var got Distribution
		text, err := d.MarshalText()
		if err := errors.Join(err, got.UnmarshalText(text)); got != d || err != nil {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	unset := Sphere
	if err := unset.UnmarshalText(nil); unset != Rademacher || err != nil {
		t.Errorf("no name is read as %v, %v, want the default", unset, err)
	}
	if _, err := Distribution(7).MarshalText(); err == nil {
		t.Error("a distribution without a name was written")
	}
	for _, name := range []string{"Sphere", "gauss", Distribution(7).String()} {
		err := new(Distribution).UnmarshalText([]byte(name))
		if want := fmt.Sprintf("zoest: directions %q, want rademacher, walsh or sphere", name); err == nil || err.Error() != want {
			t.Errorf("%q gives the error %v, want %s", name, err, want)
		}
	}
}
