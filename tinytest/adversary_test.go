package tinytest_test

import (
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// one returns a vector of d equal numbers.
func one(d int, x float32) []float32 {
	v := make([]float32, d)
	for i := range v {
		v[i] = x
	}
	return v
}

// Five members learn a point from losses of their own, and one of them attacks. How far do the honest ones end from it?
// Every attack does harm, and with a bound next to none, whatever crosses the edges.
func TestAttacks(t *testing.T) {
	const n, d, bad = 5, 4, 4
	least := tinytest.BoundedNonconvex(3, 0, d, 8).Minimizer()
	run := func(attack tinytest.Attack, robust float64, releases bool) (error float64) {
		var clients []sim.Client
		for i := range n {
			cfg := admm.Config{
				Estimator: zoest.Config{Dim: d, Samples: 8, Seed: 3, Client: uint32(i), Kind: zoest.Centered},
				Rounds:    150, Cooldown: 10, Tau: 2, Rho: 1, Beta: 4, Eta: admm.Schedule{0.5}, Mu: admm.Schedule{0.1},
				NonPrivate: true, Robust: robust, Releases: releases,
			}
			for j := range n {
				if j != i {
					cfg.Neighbors = append(cfg.Neighbors, j)
				}
			}
			clients = append(clients, sim.Client{Config: cfg, Oracle: tinytest.BoundedNonconvex(3, i, d, 8)})
		}
		network, err := sim.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		if attack != nil {
			if err := tinytest.Corrupt(network, clients, attack, bad); err != nil {
				t.Fatal(err)
			}
		}
		if err := network.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for i, x := range network.Models() {
			off := 0.0
			for c := range x {
				off += math.Pow(float64(x[c])-least[c], 2)
			}
			if i != bad {
				error = max(error, math.Sqrt(off))
			}
		}
		return error
	}
	away := one(d, -2)
	for name, attack := range map[string]tinytest.Attack{
		"drag": tinytest.Drag(away), "tow": tinytest.Tow(away), "sign flip": tinytest.SignFlip(),
		"equivocation":     tinytest.Equivocate(tinytest.Drag(away), tinytest.Drag(one(d, 3))),
		"little is enough": tinytest.LittleIsEnough(1.5),
		"inner products":   tinytest.InnerProduct(2),
	} {
		for _, releases := range []bool{false, true} {
			free, bound, honest := run(attack, 0, releases), run(attack, 2, releases), run(nil, 2, releases)
			if !(free > 0.5 && bound < 0.01 && honest < 0.001) {
				t.Errorf("%s, releases %v: the bound does not do", name, releases)
			}
			t.Logf("%s, releases %v: error %.3f, with the bound %.3f, of honest members %.3f", name, releases, free, bound, honest)
		}
	}
	network, _ := sim.New(nil)
	if err := tinytest.Corrupt(network, nil, tinytest.SignFlip(), 0); err == nil || !strings.Contains(err.Error(), "bad member 0, want 0..-1") {
		t.Errorf("error %v", err)
	}
}
