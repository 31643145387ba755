package plan

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// lossAt is a loss without a context.
type lossAt func(x []float32, sample int) float64

// entropy returns the cross-entropy of a class.
func entropy(logits []float64, class int) float64 {
	sum := 0.0
	for _, z := range logits {
		sum += math.Exp(z)
	}
	return math.Log(sum) - logits[class]
}

// hidden returns the number of parameters and the loss of a network with one hidden layer of tanh units. The parameters
// are the weights of each unit, followed by each output's weights for the units. With bias, the weights of each unit
// and of each output are followed by a bias.
func hidden(in, units, out int, bias bool) (dim int, loss lossAt) {
	var ones []float64 // what a bias is multiplied with
	if bias {
		ones = []float64{1}
	}
	one := len(ones)
	layer := func(x []float32, from []float64, n int) (to []float64, rest []float32) {
		from = append(from, ones...)
		for range n {
			z := 0.0
			for j, v := range from {
				z += float64(x[j]) * v
			}
			to, x = append(to, z), x[len(from):]
		}
		return to, x
	}
	return units*(in+one) + out*(units+one), func(x []float32, sample int) float64 {
		var features []float64
		for j := range in {
			features = append(features, math.Sin(float64(1+7*sample+3*j)))
		}
		h, x := layer(x, features, units)
		for u := range h {
			h[u] = math.Tanh(h[u])
		}
		logits, _ := layer(x, h, out)
		return entropy(logits, sample%out)
	}
}

// sparse returns the number of parameters and the loss of a linear model with several classes, whose samples have few
// nonzero columns.
func sparse(columns, classes, few int) (dim int, loss lossAt) {
	return columns * classes, func(x []float32, sample int) float64 {
		random, logits := rand.New(rand.NewPCG(9, uint64(sample))), make([]float64, classes)
		for range few {
			j := random.IntN(columns)
			for c := range logits {
				logits[c] += float64(x[c*columns+j])
			}
		}
		return entropy(logits, sample%classes)
	}
}

func TestSaddle(t *testing.T) {
	check := func(name string, still bool, dim int, oracle sdk.OracleFunc) {
		f := &sdk.Fleet{Run: "one", Dim: dim, Members: []string{"a"}, Privacy: sdk.Privacy{NonPrivate: true},
			Method: sdk.Method{Rounds: 2, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}}}
		for _, x0 := range [][]float32{nil, append([]float32{0.5}, make([]float32, dim-1)...)} {
			f.X0 = x0
			r := Preflight(t.Context(), sdk.Config{Fleet: f, Name: "a", Oracle: oracle, Samples: 20},
				func() (*wire.Snapshot, error) { return nil, fs.ErrNotExist })
			if (r.Saddle > 0) != (still && x0 == nil) || r.Saddle > dim || r.Saddle == 1 {
				t.Errorf("%s, %d parameters from %.1v: saddle %d (oracle: %v)", name, dim, x0, r.Saddle, r.Oracle)
			}
		}
	}
	sound := func(name string, still bool, dim int, loss lossAt) {
		check(name, still, dim, func(_ context.Context, x []float32, h int) (float64, error) { return loss(x, h), nil })
	}
	for _, bias := range []bool{false, true} {
		for _, s := range [][3]int{{2, 1, 2}, {3, 2, 2}, {30, 8, 2}, {64, 16, 10}} {
			dim, loss := hidden(s[0], s[1], s[2], bias)
			sound("hidden layer", true, dim, loss)
		}
	}
	for _, s := range [][3]int{{5, 2, 5}, {100, 3, 3}, {1000, 10, 1}, {1, 2, 1}} {
		dim, loss := sparse(s[0], s[1], s[2])
		sound("linear", false, dim, loss)
	}
	sound("square", false, 4, func(x []float32, h int) float64 {
		off := float64(x[h%4]) - float64(h)
		return off * off
	})
	sound("constant", false, 4, func([]float32, int) float64 { return 1 })
	sound("panics later", false, 9, func(x []float32, h int) float64 {
		if x[3] != 0 {
			panic("no")
		}
		return float64(x[0])
	})
	calls := 0
	_, loss := hidden(2, 9, 1, true)
	check("failing later", false, 40, func(_ context.Context, x []float32, _ int) (float64, error) {
		if calls++; calls > 9 {
			return 0, errors.New("no loss")
		}
		return loss(x, 0), nil
	})
	// saddle does not wait for an oracle that stops answering.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n := saddle(ctx, sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { select {} }), 3, 3); n != 0 {
		t.Errorf("a saddle of %d without an answer", n)
	}
}
