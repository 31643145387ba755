package admm

import (
	"testing"
)

// TestSingleClient checks that a run with N = 1 is plain zeroth-order descent: it has no graph terms and no messages,
// and its cool-down rounds change nothing.
func TestSingleClient(t *testing.T) {
	net := newNetwork(t, configs(1, nil, func(_ int, c *Config) {
		c.Rounds, c.Cooldown, c.Estimator.Samples, c.Estimator.Batch = 200, 5, 64, 64
		c.Eta = Schedule{0.2}
		c.X0 = []float32{1, 1, 1, 1, 1}
	}))
	var rounds []int
	var models [][]float32
	net.released = func(_, round int) {
		rounds = append(rounds, round)
		models = append(models, net.machines[0].Model())
	}
	before := meanLoss(net)
	if err := net.run(); err != nil {
		t.Fatal(err)
	}
	if len(net.sent) != 0 {
		t.Errorf("%d messages of a client without neighbors", len(net.sent))
	}
	if len(rounds) != 205 || rounds[204] != 205 {
		t.Errorf("releases %v, want 1 to 205 one by one", rounds)
	}
	if !sameBits([][]float32{models[199]}, [][]float32{models[204]}) {
		t.Error("the cool-down moved a model that has nobody to agree with")
	}
	if after := meanLoss(net); !(after < 0.8*before) {
		t.Errorf("mean loss %v after the run, %v before: nothing was learned", after, before)
	}
}

func meanLoss(net *network) float64 {
	var sum float64
	m := net.machines[0].cfg.Estimator.Samples
	for h := range m {
		sum += lossFunc(0, net.machines[0].Model(), h) / float64(m)
	}
	return sum
}
