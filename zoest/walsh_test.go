package zoest

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// rowOf returns the row number of the i-th direction of a stage.
func rowOf(w *walsh, i int) uint32 {
	var number [1]uint32
	w.number(number[:], i, 0)
	return number[0]
}

// walshStage returns the first n directions of a stage as vectors with the coordinates +1 and -1.
func walshStage(w *walsh, d, n int, round uint32) [][]float64 {
	w.begin(stage{round: round, step: 2})
	us := make([][]float64, n)
	signs, y := make([]uint64, vec.SignWords(d)), make([]float32, d)
	for k := range us {
		hadamard(signs, w.common, rowOf(w, k), w.bits)
		vec.SignScale(y, 1, signs)
		us[k] = wide(y)
	}
	return us
}

// TestWalshCoversAllAxes checks that in a complete stage each row of the Hadamard matrix occurs once with each sign:
// the sum of all u is 0, and the sum of all uu' is the number of directions times the identity.
func TestWalshCoversAllAxes(t *testing.T) {
	for _, d := range []int{1, 2, 3, 10, 39, 64, 65, 130} {
		w := newWalsh(Config{Dim: d, Seed: 5}, 1)
		n := 1 << w.bits
		if n < 2*d || n >= 4*d && d > 1 {
			t.Errorf("d = %d: %d directions, want the lowest power of two from %d on", d, n, 2*d)
		}
		for round := range uint32(3) {
			sum, squares := make([]float64, d), make([]float64, d*d)
			for _, u := range walshStage(w, d, n, round) {
				for i := range u {
					sum[i] += u[i]
					for j := range u {
						squares[i*d+j] += u[i] * u[j]
					}
				}
			}
			for i, x := range squares {
				want := 0.0
				if i%(d+1) == 0 {
					want = float64(n)
				}
				if x != want || sum[i%d] != 0 {
					t.Fatalf("d = %d, round %d: sum %v, and %v for coordinates %d and %d", d, round, sum[i%d], x, i/d, i%d)
				}
			}
		}
	}
}

// TestWalshOrder checks that part of a stage is as good as a draw without replacement from the N directions of a
// complete stage. Each coordinate of the mean of m directions must have the mean square (N-m)/(m*(N-1)). Each
// off-diagonal element of the mean of m matrices uu' must have about the same mean square. For a single direction, the
// coordinates and their products must have mean 0. The mean squares may differ by 5 % to 18 %, for 100 and for 3 coordinates;
// draws with replacement have up to 2.1 times the mean square.
func TestWalshOrder(t *testing.T) {
	const rounds = 1000
	for _, c := range []struct{ d, m int }{{3, 3}, {10, 5}, {10, 17}, {39, 17}, {39, 55}, {100, 55}} {
		w := newWalsh(Config{Dim: c.d, Seed: 6}, 1)
		all := 1 << w.bits
		var first, second, seFirst, seSecond float64
		fair, product := make([]float64, c.d), make([]float64, c.d)
		for round := range uint32(rounds) {
			us := walshStage(w, c.d, c.m, round)
			one, two := 0.0, 0.0
			for i := range c.d {
				sum, both, next := 0.0, 0.0, (i+1)%c.d
				for _, u := range us {
					sum += u[i] / float64(c.m)
					both += u[i] * u[next] / float64(c.m)
				}
				one += sum * sum / float64(c.d)
				two += both * both / float64(c.d)
				fair[i] += us[0][i]
				product[i] += us[0][i] * us[0][next]
			}
			first, seFirst = first+one/rounds, seFirst+one*one/rounds
			second, seSecond = second+two/rounds, seSecond+two*two/rounds
		}
		m, n := float64(c.m), float64(all)
		want := (n - m) / (n - 1) / m
		se := math.Sqrt((seFirst - first*first) / rounds)
		if math.Abs(first-want) > 6*se+0.02*want {
			t.Errorf("d = %d, m = %d: the mean direction has a mean square of %.5f, want %.5f +- %.5f", c.d, c.m, first, want,
				se)
		}
		se = math.Sqrt((seSecond - second*second) / rounds)
		if math.Abs(second-want) > 6*se+0.02*want {
			t.Errorf("d = %d, m = %d: uu' is off the identity by %.5f, want %.5f +- %.5f", c.d, c.m, second, want, se)
		}
		for i := range fair {
			if limit := 5 * math.Sqrt(rounds); math.Abs(fair[i]) > limit || math.Abs(product[i]) > limit {
				t.Errorf("d = %d: coordinate %d has the sum %v, its product with the next one %v, want at most %v", c.d, i,
					fair[i], product[i], limit)
			}
		}
	}
}
