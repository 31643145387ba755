package dpmech

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// referenceLimit returns floor((r/gamma)^2), computed with rational arithmetic.
func referenceLimit(r, gamma float64) *big.Int {
	q := new(big.Rat).Quo(new(big.Rat).SetFloat64(r), new(big.Rat).SetFloat64(gamma))
	q.Mul(q, q)
	return new(big.Int).Quo(q.Num(), q.Denom())
}

// squaredNorm returns the sum of the squares of the integers that onGrid returns for s.
func squaredNorm(s []float32, scale float64) *big.Int {
	row := make([]int64, len(s))
	for i, x := range s {
		row[i] = onGrid(x, scale)
	}
	return squareOf(row)
}

// norm returns the Euclidean norm of s. Each square is exact, because the square of a float32 fits in a float64.
func norm(s []float32) float64 {
	var sum float64
	for _, x := range s {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// TestBallIsExact compares newBall with rational arithmetic, in particular where (R/gamma)^2 is an integer or close to
// an integer.
func TestBallIsExact(t *testing.T) {
	t.Parallel()
	check := func(r, gamma float64) {
		t.Helper()
		got := newBall(r, gamma)
		limit := new(big.Int).SetUint64(got.hi)
		limit.Lsh(limit, 64).Add(limit, new(big.Int).SetUint64(got.lo))
		want := referenceLimit(r, gamma)
		if limit.Cmp(want) != 0 || got.radius != new(big.Int).Sqrt(want).Uint64() {
			t.Fatalf("r %v, gamma %v: squared limit %v, radius %d, want %v and its root", r, gamma, limit, got.radius, want)
		}
	}
	s := stream(31)
	for range 1000 {
		g := Gaussian{Clip: math.Exp(40 * (2*s.Float64() - 1))}
		g.Sigma = g.Clip * math.Exp2(40*s.Float64()-20)
		gamma := math.Ldexp(g.Sigma, -gridBits(g, 1+s.IntN(1<<20)))
		check(g.Clip, gamma)
		n := math.Floor(g.Clip / gamma)
		for _, r := range []float64{n, n - 1, n + 1} { // whole multiples of gamma, and their neighbors
			for _, r := range []float64{r * gamma, math.Nextafter(r*gamma, 0), math.Nextafter(r*gamma, math.Inf(1))} {
				check(r, gamma)
			}
		}
	}
	for _, r := range []float64{1, 1 << 24, 1 << 48, 1<<48 - 1, math.Nextafter(1<<48, 0), math.Sqrt2, 1<<47 + 0.5,
		1<<26 + 0x1p-26} {
		check(r, 1)
		check(3*r, 3)
		check(0x1p-99*r, 0x1p-99)
	}
}

// hostile fills s with a vector that is difficult to clip. kind selects one of several kinds of vectors; size is the
// approximate norm.
func hostile(s []float32, kind int, size float64, random *rng.Stream) {
	each := size / math.Sqrt(float64(len(s)))
	for i := range s {
		switch kind {
		case 0:
			s[i] = float32(random.Normal() * each)
		case 1: // all equal: rounding errors add up
			s[i] = float32(each)
		case 2: // small values, with one large value at the end
			s[i] = math.SmallestNonzeroFloat32
		case 3:
			s[i] = math.MaxFloat32 * float32(1-2*(i%2))
		case 4: // all magnitudes, including subnormal ones
			s[i] = math.Float32frombits(random.Uint32() &^ (1 << 30))
		case 5: // one coordinate only
			s[i] = 0
		case 6: // random bits: a NaN or an infinity in one of 256
			s[i] = math.Float32frombits(random.Uint32())
		}
	}
	switch i := random.IntN(len(s)); kind {
	case 2:
		s[i] = math.MaxFloat32
	case 5:
		s[i] = float32(size)
	case 6:
		s[i] = math.Float32frombits(0x7f800000 | random.Uint32()&0x80400000)
	}
}

// plainClip clips s to radius r with the norm and the factor computed in float32, as most code does.
func plainClip(s []float32, r float32) {
	var sum float32
	for _, x := range s {
		sum += x * x
	}
	if norm := float32(math.Sqrt(float64(sum))); norm > r {
		for i := range s {
			s[i] *= r / norm
		}
	}
}

// TestClipStaysInBall clips random and hostile vectors (1e5 with SPADE_LONG, otherwise 7,000). It checks that the
// integer norm never exceeds R/gamma, that no coordinate grows, that a vector longer than the radius has nearly the
// length R/gamma afterwards, and that a shorter vector is only truncated. To show that the test has power, it also
// clips the vectors in plain float32 and truncates them to the same grid, which can only shorten them: of the vectors
// longer than the radius, at least a tenth must then still be too long.
func TestClipStaysInBall(t *testing.T) {
	t.Parallel()
	trials, large := 7_000, 100_000
	if long {
		trials, large = 100_000, 1_000_000
	}
	s := stream(32)
	var retries, plainOut, clipped int
	buf, copied := make([]float32, large), make([]float32, large)
	for trial := range trials {
		kind := trial % 7
		dim := 1 + s.IntN(40)
		switch {
		case trial < 7:
			dim = large
		case trial%1000 < 7:
			dim = 5000
		}
		g := Gaussian{Clip: math.Exp(4 * s.Normal())}
		g.Sigma = g.Clip * math.Exp2(40*s.Float64()-20)
		switch s.IntN(4) {
		case 0: // a radius that a float32 vector can match exactly
			g.Clip = float64(float32(g.Clip))
		case 1: // a radius slightly below a whole number of grid steps, where truncation makes almost no room
			gamma := math.Ldexp(g.Sigma, -gridBits(g, dim))
			g.Clip = math.Nextafter(math.Floor(g.Clip/gamma)*gamma, 0)
		case 2: // parameters with the finest grid relative to the clip
			g.Sigma = g.Clip * 0x1p-20
		}
		size := g.Clip // on or near the boundary
		if trial%2 == 0 {
			size *= math.Exp(3 * s.Normal())
		}
		update := buf[:dim]
		hostile(update, kind, size, s)
		plain := copied[:dim]
		copy(plain, update)

		gamma := math.Ldexp(g.Sigma, -gridBits(g, dim))
		limit := referenceLimit(g.Clip, gamma)
		length := norm(update)
		ball := newBall(g.Clip, gamma)
		scale := ball.clip(update, 1)
		if kind == 6 {
			if scale != 0 {
				t.Fatalf("trial %d: a vector with a NaN or an infinity was scaled by %v", trial, scale)
			}
			continue
		}
		sum := squaredNorm(update, scale)
		if sum.Cmp(limit) > 0 {
			t.Fatalf("trial %d, d %d, %+v: squared norm %v is above %v", trial, dim, g, sum, limit)
		}
		short := length < g.Clip*(1-0x1p-30)
		if short && scale != 1/gamma || scale > 1/gamma {
			t.Fatalf("trial %d: a vector of length %v, clip %v, was scaled by %v, not by 1/%v", trial, length, g.Clip, scale,
				gamma)
		}
		for _, x := range update {
			// A coordinate can grow only by the rounding errors of 1/gamma and of the product.
			q := float64(onGrid(x, scale))
			if q*float64(x) < 0 || math.Abs(q)*gamma > math.Abs(float64(x))*(1+0x1p-51) {
				t.Fatalf("trial %d: coordinate %v became %v of %v: away from zero", trial, x, q, gamma)
			}
		}
		first := 1 / gamma
		if length > g.Clip {
			first *= g.Clip / length
		}
		if scale != first {
			retries++
		}
		if short {
			continue
		}
		clipped++
		if f, _ := new(big.Float).SetInt(sum).Float64(); math.Sqrt(f)*gamma < g.Clip*(1-0x1p-15) {
			t.Fatalf("trial %d, d %d, kind %d: a vector of length %v, clip %v, came out with %v", trial, dim, kind, length,
				g.Clip, math.Sqrt(f)*gamma)
		}
		if plainClip(plain, float32(g.Clip)); norm(plain) < 2*g.Clip && squaredNorm(plain, 1/gamma).Cmp(limit) > 0 {
			plainOut++
		}
	}
	t.Logf("of %d vectors at the edge of the ball or beyond, %d took a second try; a float32 clip left %d outside",
		clipped, retries, plainOut)
	if retries == 0 {
		t.Error("no vector took the second try: it has not been tested")
	}
	if plainOut < clipped/10 {
		t.Errorf("a plain float32 clip leaves %d of %d vectors outside: the test has no power", plainOut, clipped)
	}
}

// TestPlainClipFailsLarge checks that a float32 sum significantly underestimates the norm of a large vector.
func TestPlainClipFailsLarge(t *testing.T) {
	update := make([]float32, 1_000_000)
	hostile(update, 0, 10, stream(33))
	plain := slices.Clone(update)
	plainClip(plain, 1)
	if excess := norm(plain) - 1; excess < 1e-4 {
		t.Errorf("the plain clip is only %v too long: the test has no power", excess)
	}
	const gamma = 0x1p-28
	ball := newBall(1, gamma)
	if sum := squaredNorm(update, ball.clip(update, 1)); sum.Cmp(referenceLimit(1, gamma)) > 0 {
		t.Errorf("squared norm is %v", sum)
	}
}

// TestFineGridIsInvisible checks that the fine grid has no noticeable effect: for parameters at both ends of their
// ranges, the released update differs from exact arithmetic by at most 2^-15 of the clip.
func TestFineGridIsInvisible(t *testing.T) {
	s := stream(35)
	for _, dim := range []int{1, 10, 7850, 60_000} {
		for _, ratio := range []float64{0x1p-20, 0.01, 1, 8.489, 69.3, 5000, 0x1p20} {
			g := Gaussian{Clip: 0.3, Sigma: 0.3 * ratio}
			shift := gridBits(g, dim)
			gamma := math.Ldexp(g.Sigma, -shift)
			if shift < 28 || gamma*math.Sqrt(float64(dim)) > 0x1p-16*g.Clip {
				t.Fatalf("d %d, sigma/R %v: M is %d", dim, ratio, shift)
			}
			update := make([]float32, dim)
			hostile(update, 0, 3*g.Clip, s)
			shrink := min(1, g.Clip/norm(update))
			ball := newBall(g.Clip, gamma)
			scale := ball.clip(update, 1)
			var change float64
			for _, x := range update {
				diff := float64(x)*shrink - float64(onGrid(x, scale))*gamma
				change += diff * diff
			}
			if math.Sqrt(change) > 0x1p-15*g.Clip {
				t.Errorf("d %d, sigma/R %v: the grid moves the update by %v of the clip", dim, ratio, math.Sqrt(change)/g.Clip)
			}
		}
	}
	// With 2^28-1 coordinates, the grid is sufficiently fine even for the largest ratio of sigma to clip.
	g := Gaussian{Clip: 1, Sigma: 1 << 20}
	if gamma := math.Ldexp(g.Sigma, -gridBits(g, 1<<28-1)); gamma*0x1p14 > 0x1p-16 {
		t.Errorf("d 2^28: gamma is %v", gamma)
	}
}

func TestClipGolden(t *testing.T) {
	h := fnv.New64a()
	for kind := range 6 {
		update := make([]float32, 1000)
		hostile(update, kind, 2, stream(37))
		ball := newBall(1, 8.489/(1<<28))
		scale := ball.clip(update, 1)
		for _, x := range update {
			fmt.Fprintln(h, onGrid(x, scale))
		}
	}
	const want = 0xf4821d58ab26415b
	if got := h.Sum64(); got != want {
		t.Errorf("digest is %#x, want %#x", got, uint64(want))
	}
}
