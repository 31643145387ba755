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
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// hidden returns the number of parameters and the loss of a network with one hidden layer of tanh units. The parameters
// are the weights of each unit, followed by each output's weights for the units. With bias, the weights of each unit
// and of each output are followed by a bias.
func hidden(in, units, out int, bias bool) (dim int, loss sdk.OracleFunc) {
	one := 0
	if bias {
		one = 1
	}
	feature := func(sample, j int) float64 { return math.Sin(float64(1 + 7*sample + 3*j)) }
	return units*(in+one) + out*(units+one), func(_ context.Context, x []float32, sample int) (float64, error) {
		var h []float64
		for range units {
			z := 0.0
			for j := range in {
				z += float64(x[j]) * feature(sample, j)
			}
			if bias {
				z += float64(x[in])
			}
			h, x = append(h, math.Tanh(z)), x[in+one:]
		}
		var logits []float64
		for range out {
			z := 0.0
			for u := range units {
				z += float64(x[u]) * h[u]
			}
			if bias {
				z += float64(x[units])
			}
			logits, x = append(logits, z), x[units+one:]
		}
		sum := 0.0
		for _, z := range logits {
			sum += math.Exp(z)
		}
		return math.Log(sum) - logits[sample%out], nil
	}
}

// sparse returns the number of parameters and the loss of a linear model with several classes, whose samples have few
// nonzero columns.
func sparse(columns, classes, few int) (dim int, loss sdk.OracleFunc) {
	return columns * classes, func(_ context.Context, x []float32, sample int) (float64, error) {
		random := rand.New(rand.NewPCG(9, uint64(sample)))
		logits, sum := make([]float64, classes), 0.0
		for range few {
			j := random.IntN(columns)
			for c := range logits {
				logits[c] += float64(x[c*columns+j])
			}
		}
		for _, z := range logits {
			sum += math.Exp(z)
		}
		return math.Log(sum) - logits[sample%classes], nil
	}
}

func TestSaddle(t *testing.T) {
	type shape struct {
		name string
		dim  int
		loss sdk.OracleFunc
	}
	var still, others []shape
	add := func(to *[]shape, name string, dim int, loss sdk.OracleFunc) {
		*to = append(*to, shape{name, dim, loss})
	}
	for _, bias := range []bool{false, true} {
		for _, s := range []struct{ in, units, out int }{{2, 1, 2}, {3, 2, 2}, {30, 8, 2}, {64, 16, 10}} {
			dim, loss := hidden(s.in, s.units, s.out, bias)
			add(&still, "hidden layer", dim, loss)
		}
	}
	for _, s := range []struct{ columns, classes, few int }{{5, 2, 5}, {100, 3, 3}, {1000, 10, 1}, {1, 2, 1}} {
		dim, loss := sparse(s.columns, s.classes, s.few)
		add(&others, "linear", dim, loss)
	}
	add(&others, "square", 4, func(_ context.Context, x []float32, h int) (float64, error) {
		off := float64(x[h%4]) - float64(h)
		return off * off, nil
	})
	add(&others, "constant", 4, func(context.Context, []float32, int) (float64, error) { return 1, nil })
	calls := 0
	add(&others, "failing later", 40, func(_ context.Context, x []float32, h int) (float64, error) {
		if calls++; calls > 9 {
			return 0, errors.New("no loss")
		}
		_, loss := hidden(2, 9, 1, true)
		return loss(nil, x, 0)
	})
	add(&others, "panics later", 9, func(_ context.Context, x []float32, h int) (float64, error) {
		if x[3] != 0 {
			panic("no")
		}
		return float64(x[0]), nil
	})
	for i, s := range append(still, others...) {
		f := &sdk.Fleet{Run: "one", Dim: s.dim, Members: []string{"a"}, Privacy: sdk.Privacy{NonPrivate: true},
			Method: sdk.Method{Rounds: 2, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}}}
		nothingKept := func() (*state.Snapshot, error) { return nil, fs.ErrNotExist }
		r := Preflight(t.Context(), sdk.Config{Fleet: f, Name: "a", Oracle: s.loss, Samples: 20}, nothingKept)
		if (r.Saddle > 0) != (i < len(still)) || r.Saddle > s.dim || r.Saddle == 1 {
			t.Errorf("%s, %d parameters: saddle %d (oracle: %v)", s.name, s.dim, r.Saddle, r.Oracle)
		}
		f.X0 = make([]float32, s.dim)
		f.X0[0] = 0.5
		if r := Preflight(t.Context(), sdk.Config{Fleet: f, Name: "a", Oracle: s.loss, Samples: 20}, nothingKept); r.Saddle != 0 {
			t.Errorf("%s: a saddle of %d at a start that is not zero", s.name, r.Saddle)
		}
	}
	// saddle does not wait for an oracle that stops answering.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	block := make(chan struct{})
	defer close(block)
	if n := saddle(ctx, sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { <-block; return 0, nil }), 3, 3); n != 0 {
		t.Errorf("a saddle of %d without an answer", n)
	}
}
