package dpmech

import (
	"math"
	"math/big"
	"slices"
	"strings"
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
func integers(m *Mechanism, rows Rows, g Gaussian) (each [][]int64, sum []int64) {
	d := len(m.noise)
	gamma := math.Ldexp(g.Sigma, -gridBits(g, d))
	places := max(1, rows.Places)
	sum = make([]int64, d)
	clear(m.noise)
	m.rows.whole, m.rows.unit = make([]int64, d), make([]float32, d)
	s := &m.rows
	s.ball, s.radius, s.gamma, s.factor = newBall(g.Clip, gamma), g.Clip, gamma, rows.Factor
	s.narrow = s.ball.hi == 0 && s.ball.lo <= math.MaxUint64/uint64(d)
	for values := rows.Values; len(values) > 0; values = values[places*d:] {
		row := make([]int64, d)
		if s.clip(s.together(values[:places*d])) {
			copy(row, s.whole)
		}
		each = append(each, row)
		for i, q := range row {
			sum[i] += q
		}
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
		m := newMechanism(t, d, 7)
		before, _ := integers(m, rows, g)
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
		after, sum := integers(m, changed, g)
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
	got, turned := make([]float32, d), make([]float32, d)
	if err := newMechanism(t, d, 7).ReleaseRows(got, rows, g); err != nil {
		t.Fatal(err)
	}
	other := rows
	other.Values = nil
	size := max(1, rows.Places) * d
	for end := len(rows.Values); end > 0; end -= size {
		other.Values = append(other.Values, rows.Values[end-size:end]...)
	}
	if err := newMechanism(t, d, 7).ReleaseRows(turned, other, g); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) || !slices.Equal(turned, want) {
		t.Fatalf("released %v, in reverse order %v, want %v", got, turned, want)
	}
	steps := make([]int32, d)
	m := newMechanism(t, d, 7)
	if err := m.ReleaseRowsOnGrid(steps, rows, g, g.Sigma/16); err != nil {
		t.Fatal(err)
	}
	for i, n := range steps {
		if n != onWire(noise[i]+sum[i], gamma/(g.Sigma/16)) {
			t.Fatalf("coordinate %d is step %d of the wire grid", i, n)
		}
	}
	if slices.ContainsFunc(m.noise, func(n int64) bool { return n != 0 }) ||
		slices.ContainsFunc(m.rows.whole, func(n int64) bool { return n != 0 }) {
		t.Fatal("a release leaves noise or a row in memory")
	}
}

// TestOneRowIsAnUpdate checks that ReleaseRows with a single row returns exactly the same release as Release with the
// same update.
func TestOneRowIsAnUpdate(t *testing.T) {
	random := stream(342)
	for range 200 {
		d := 1 + random.IntN(3) // so few that Release and ReleaseRows add the squares in the same order
		g := Gaussian{Clip: 2, Sigma: 0.5, Unit: Record}
		s := rowsOf(1, 1, d, random)
		rows := make([]float32, d)
		err := newMechanism(t, d, 7).ReleaseRows(rows, Rows{Values: s, Factor: 1, Most: 1}, g)
		if err != nil {
			t.Fatal(err)
		}
		g.Unit = Client
		if err := newMechanism(t, d, 7).Release(s, g); err != nil || !slices.Equal(rows, s) {
			t.Fatalf("%v as a row, %v as an update: %v", rows, s, err)
		}
	}
}

func TestRowsErrors(t *testing.T) {
	g := Gaussian{Clip: 1, Sigma: 1, Unit: Record}
	for _, c := range []struct {
		rows Rows
		g    Gaussian
		want string
	}{
		{Rows{Values: make([]float32, 4), Factor: 1}, g, "number of units is 0 and dimension is 2, want at least 1"},
		{Rows{Values: make([]float32, 4), Factor: 1, Most: 1}, g, "2 units, want at most Most (1)"},
		{Rows{Values: make([]float32, 3), Factor: 1, Most: 9}, g, "3 numbers, want a multiple of 1 x 2"},
		{Rows{Values: make([]float32, 6), Factor: 1, Most: 9, Places: 2}, g, "6 numbers, want a multiple of 2 x 2"},
		{Rows{Values: make([]float32, 4), Most: 2}, g, "Factor is 0"},
		{Rows{Values: make([]float32, 4), Factor: math.NaN(), Most: 2}, g, "Factor is NaN"},
		{Rows{Values: make([]float32, 4), Factor: 1, Most: 2, Places: -1}, g, "Places is -1"},
		{Rows{Values: make([]float32, 4), Factor: 1, Most: 1 << 30}, Gaussian{Clip: 1 << 10, Sigma: 1, Unit: Record}, "want at most 2^61"},
		{Rows{Values: make([]float32, 4), Factor: 1, Most: 2}, Gaussian{Sigma: 1, Unit: Record}, "clip is 0"},
	} {
		dst := []float32{1, 1}
		err := newMechanism(t, 2, 7).ReleaseRows(dst, c.rows, c.g)
		if err == nil || !strings.Contains(err.Error(), c.want) || dst[0] != 0 {
			t.Errorf("%+v: %v, want %q", c.rows, err, c.want)
		}
		if err := newMechanism(t, 2, 7).ReleaseRowsOnGrid([]int32{1, 1}, c.rows, c.g, c.g.Sigma); err == nil {
			t.Errorf("%+v: accepted on a grid", c.rows)
		}
	}
	if err := newMechanism(t, 2, 7).ReleaseRowsOnGrid([]int32{1, 1}, Rows{Factor: 1, Most: 1}, g, 2); err == nil {
		t.Error("step 2 at sigma 1 is accepted")
	}
	dst := []float32{1, 1}
	if err := newMechanism(t, 2, 7).ReleaseRows(dst, Rows{Factor: 1, Most: 5}, g); err != nil || dst[0] == 1 {
		t.Errorf("without rows: %v, %v, want noise", dst, err)
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	const d, units = 40, 100
	rows := Rows{Values: rowsOf(units, 1, d, stream(343)), Factor: -1, Most: units}
	m, dst, g := newMechanism(t, d, 7), make([]int32, d), Gaussian{Clip: 1, Sigma: 30, Unit: Record}
	if n := testing.AllocsPerRun(20, func() {
		if err := m.ReleaseRowsOnGrid(dst, rows, g, 2); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a release", n)
	}
}
