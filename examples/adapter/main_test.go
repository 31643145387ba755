package main

import (
	"bytes"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Eight members adapt a frozen network of 101,770 parameters to their cameras, and use only forward passes.
func TestForwardPassesAdaptANetwork(t *testing.T) {
	trial, err := newTrial("", 100, 20_000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	before := accuracy(trial.base, trial.held)
	t.Logf("before %.3f", before)
	for _, c := range []struct {
		name    string
		way     way
		privacy string
		gain    float64
	}{
		{"biases", way{biases(), 1, 0.1, 8, 6}, open, 0.05},
		{"random subspace", way{subspace(), 0.006, 0.01, 10, 0.5}, open, 0.02},
		{"biases", way{biases(), 1, 0.1, 8, 6}, record, 0.08},
	} {
		o, err := c.way.train(c.privacy, trial.base, trial.own, trial.held)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.3f, %d bytes, %d queries", c.name, o.accuracy, o.bytes, o.queries)
		if o.accuracy < before+c.gain {
			t.Errorf("%s: %.3f right, before %.3f, want %.2f more", c.name, o.accuracy, before, c.gain)
		}
		if most := int64(5*c.way.spec.Dim*(members-1)) + 2000; o.bytes > most {
			t.Errorf("%s: %d bytes a member and round, want at most %d", c.name, o.bytes, most)
		}
	}
}

// The gradients that train the frozen network and the upper bounds are the derivatives of the loss.
func TestGradient(t *testing.T) {
	draw := rng.New(5, rng.Address{Purpose: rng.Generate})
	x := make([]float32, params)
	for i := range x {
		x[i] = float32(0.1 * draw.Normal())
	}
	d := digit{at: []int{3, 400, 783}, ink: []float32{0.5, 1, 0.25}, label: 4}
	g := make([]float32, params)
	learn(g, x, &d, -1)
	for _, i := range []int{3*hidden + 7, 400*hidden + 100, 783*hidden + 127, 5 * hidden, atBias + 9, atWeights + 4*hidden + 3, atWeights, atOffsets + 4, atOffsets} {
		const h = 1e-2
		at := x[i]
		x[i] = at + h
		up := loss(x, &d)
		x[i] = at - h
		down := loss(x, &d)
		x[i] = at
		if slope := (up - down) / (2 * h); math.Abs(slope-float64(g[i])) > 1e-3 {
			t.Errorf("parameter %d: gradient %v, difference %v", i, g[i], slope)
		}
	}
}

func TestDemonstrateRefuses(t *testing.T) {
	if err := demonstrate(t.TempDir(), 10); err == nil {
		t.Error("a folder without MNIST")
	}
	if err := demonstrate("", 100_000); err == nil || !bytes.Contains([]byte(err.Error()), []byte("want 1..5000")) {
		t.Errorf("too many digits: %v", err)
	}
}
