package dpmech

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func rowsOf(units, places, d int, random *rng.Stream) []float32 {
	values := make([]float32, units*places*d)
	for h := range units * places {
		hostile(values[h*d:(h+1)*d], random.IntN(6), math.Exp(10*random.Normal()), random)
	}
	for range units / 8 {
		bad := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32}
		values[random.IntN(len(values))] = bad[random.IntN(len(bad))]
	}
	return values
}

// integers returns the clipped rows of a release, without noise, and their sum.
func integers(d int, rows Rows, g Gaussian) (each [][]int64, sum []int64) {
	ball, unit := newBall(g.Clip, math.Ldexp(g.Sigma, -gridBits(g, d))), make([]float32, d)
	sum = make([]int64, d)
	for values := range slices.Chunk(rows.Values, max(1, rows.Places)*d) {
		row, scale := make([]int64, d), ball.clip(together(unit, values), rows.Factor)
		for i, x := range unit {
			if scale != 0 {
				row[i] = onGrid(x, scale)
			}
			sum[i] += row[i]
		}
		each = append(each, row)
	}
	return each, sum
}

// TestRowsOfOthersStay replaces the rows of one unit. It checks that only the clipped row of this unit changes, that
// every clipped row is in the ball according to exact arithmetic, and that the release is the sum of the integers and
// the noise, which does not depend on the rows.
func TestRowsOfOthersStay(t *testing.T) {
	random := stream(341)
	for range 300 {
		d, units, places := 1+random.IntN(40), 1+random.IntN(30), 1+random.IntN(3)
		g := Gaussian{Clip: math.Exp(4 * random.Normal()), Unit: Record}
		g.Sigma = g.Clip * math.Exp2(16*random.Float64()-8)
		rows := Rows{Values: rowsOf(units, places, d, random), Places: places, Factor: -math.Exp(3 * random.Normal()), Most: units + 3}
		before, _ := integers(d, rows, g)
		limit := referenceLimit(g.Clip, math.Ldexp(g.Sigma, -gridBits(g, d)))
		for h, row := range before {
			if square := squareOf(row); square.Cmp(limit) > 0 {
				t.Fatalf("row %d has squared norm %v, want at most %v", h, square, limit)
			}
		}
		replaced := random.IntN(units)
		changed := rows
		changed.Values = slices.Clone(rows.Values)
		copy(changed.Values[replaced*places*d:(replaced+1)*places*d], rowsOf(1, places, d, random))
		after, sum := integers(d, changed, g)
		for h := range units {
			if h != replaced && !slices.Equal(before[h], after[h]) {
				t.Fatalf("replacing row %d changes row %d", replaced, h)
			}
		}
		checkSum(t, d, changed, sum, g)
	}
}

func squareOf(row []int64) *big.Int {
	sum, q := new(big.Int), new(big.Int)
	for _, x := range row {
		q.SetInt64(x)
		sum.Add(sum, q.Mul(q, q))
	}
	return sum
}

// checkSum checks that a release equals sum plus the noise drawn from the same random bytes, and that it does not
// depend on the order of the units.
func checkSum(t *testing.T, d int, rows Rows, sum []int64, g Gaussian) {
	t.Helper()
	noise := make([]int64, d)
	one := newMechanism(t, d, 7)
	gamma, err := one.draw(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	copy(noise, one.noise)
	want := make([]float32, d)
	for i := range want {
		want[i] = float32(float64(noise[i]+sum[i]) * gamma)
	}
	other, size := rows, max(1, rows.Places)*d
	other.Values = nil
	for end := len(rows.Values); end > 0; end -= size {
		other.Values = append(other.Values, rows.Values[end-size:end]...)
	}
	got, turned, steps := make([]float32, d), make([]float32, d), make([]int32, d)
	err = errors.Join(newMechanism(t, d, 7).Release(got, rows, g), newMechanism(t, d, 7).Release(turned, other, g),
		newMechanism(t, d, 7).ReleaseOnGrid(steps, rows, g, g.Sigma/16))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || !slices.Equal(turned, want) {
		t.Fatalf("released %v, in reverse order %v, want %v", got, turned, want)
	}
	for i, n := range steps {
		if n != onWire(noise[i]+sum[i], gamma/(g.Sigma/16)) {
			t.Fatalf("coordinate %d is step %d of the wire grid", i, n)
		}
	}
}
