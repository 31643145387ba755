package vec

// The order of a reduction; see the package comment.
const (
	lanes = 64
	block = 4096
)

// Dot returns the sum of x[i]*y[i], each product rounded to float32, in the order the package comment gives.
func Dot(x, y []float32) float64 {
	y = y[:len(x):len(y)]
	var sum float64
	for len(x) > block {
		sum += float64(dotBlock(x[:block], y[:block]))
		x, y = x[block:], y[block:]
	}
	return sum + float64(dotBlock(x, y))
}

// SumSquares returns the sum of x[i]*x[i] in the order of [Dot].
func SumSquares(x []float32) float64 { return Dot(x, x) }

// dotBlock reduces at most one block.
func dotBlock(x, y []float32) float32 {
	var acc [lanes]float32
	used := min(len(x), lanes)
	for len(x) >= lanes {
		xs, ys := x[:lanes:lanes], y[:lanes:lanes]
		for l := range acc {
			acc[l] += float32(xs[l] * ys[l])
		}
		x, y = x[lanes:], y[lanes:]
	}
	for l := range x {
		acc[l] += float32(x[l] * y[l])
	}
	// A lane that no element reached holds +0, and no lane holds -0 (each started at +0), so folding in an unused
	// half would change nothing: the first halves are skipped when the input is short.
	half := lanes / 2
	for half >= used && half > 0 {
		half /= 2
	}
	for ; half > 0; half /= 2 {
		for l := range half {
			acc[l] += acc[l+half]
		}
	}
	return acc[0]
}
