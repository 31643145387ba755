package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func env(name string, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

func TestRobustTable(t *testing.T) {
	args := os.Getenv("ROBUST")
	if args == "" {
		t.Skip()
	}
	seeds, _ := strconv.Atoi(env("SEEDS", "3"))
	factors := strings.Fields(env("FACTORS", "0 1.5"))
	f, _ := strconv.Atoi(env("BAD", "1"))
	want := strings.Fields(env("ATTACKS", "none drag19 towu signflip equivocate alie ipm flip"))
	for _, factor := range factors {
		q, _ := strconv.ParseFloat(factor, 64)
		line := fmt.Sprintf("%-5s", factor)
		for _, name := range want {
			sum, clips, lowest := 0.0, 0, 100.0
			for seed := 1; seed <= seeds; seed++ {
				c := newCmdline("simulate", append(strings.Fields(args), "-seed", fmt.Sprint(seed)), io.Discard, io.Discard)
				o := newOptions(c)
				o.data, o.nodes, o.graph, o.partition = "synthetic:clinical", 5, "complete", "iid"
				if err := o.read(c); err != nil {
					t.Fatal(err)
				}
				p, err := o.build("simulate")
				if err != nil {
					t.Fatal(err)
				}
				acc, n := p.attacked(t, name, q, f)
				sum += acc / float64(seeds)
				lowest = min(lowest, acc)
				clips += n
			}
			line += fmt.Sprintf(" %s %.1f (%.1f) c%d;", name, sum, lowest, clips/seeds)
		}
		fmt.Println(line)
	}
}

func (p *problem) attacked(t *testing.T, name string, q float64, f int) (float64, int) {
	fleet := p.fleet
	cfgs, err := fleet.Machines(p.samples, func(i int) io.Reader {
		s := rng.New(p.opt.seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})
	if err != nil {
		t.Fatal(err)
	}
	n := len(cfgs)
	bad := map[string]int{"none": 0}
	if _, ok := bad[name]; ok {
		f = 0
	}
	clients := make([]sim.Client, n)
	for i, c := range cfgs {
		c.Robust = q
		if i >= n-f && name == "flip" || i >= n-f && name == "flipnoclip" {
			for s := range p.labels[i] {
				p.labels[i][s] = p.train.Classes - 1 - p.labels[i][s]
			}
		}
		clients[i] = sim.Client{Config: c, Oracle: p.oracles[i]}
	}
	network, err := sim.New(clients)
	if err != nil {
		t.Fatal(err)
	}
	sigma := fleet.Privacy.Sigma
	if sigma == 0 {
		sigma = 0.38
	}
	d := fleet.Dim
	// the direction in which the model has to go, by a run without noise
	pooled, err := p.alone(t.Context(), p.opt.modelSpec().New(p.train))
	if err != nil {
		t.Fatal(err)
	}
	norm := 0.0
	for _, x := range pooled {
		norm += float64(x) * float64(x)
	}
	against := func(size float64) []float32 {
		x := make([]float32, d)
		for c := range x {
			x[c] = float32(-size * float64(pooled[c]) / math.Sqrt(norm))
		}
		return x
	}
	ones := make([]float32, d)
	for c := range ones {
		ones[c] = float32(1.9 * sigma)
	}
	var a tinytest.Attack
	switch name {
	case "drag19":
		a = tinytest.Drag(against(1.9 * sigma))
	case "dragd":
		a = tinytest.Drag(against(1.9 * sigma * math.Sqrt(float64(d))))
	case "dragones":
		a = tinytest.Drag(ones)
	case "drag0":
		a = tinytest.Drag(make([]float32, d))
	case "dragfar":
		a = tinytest.Drag(against(100))
	case "towu":
		a = tinytest.Tow(against(1.9 * sigma))
	case "signflip":
		a = tinytest.SignFlip()
	case "equivocate":
		a = tinytest.Equivocate(tinytest.Drag(against(1.9*sigma)), tinytest.Drag(against(-1.9*sigma)))
	case "equivones":
		a = tinytest.Equivocate(tinytest.Drag(ones), tinytest.SignFlip())
	case "alie":
		a = tinytest.LittleIsEnough(1.5)
	case "ipm":
		a = tinytest.InnerProduct(0.5)
	case "ipm2":
		a = tinytest.InnerProduct(2)
	}
	if a != nil {
		var list []int
		for i := range f {
			list = append(list, n-f+i)
		}
		if err := tinytest.Corrupt(network, clients, a, list...); err != nil {
			t.Fatal(err)
		}
	}
	if err := network.Run(t.Context(), nil); err != nil {
		fmt.Println(name, err)
		return 0, 0
	}
	acc, _ := average(p.accuracies(network.Models()[:n-f]...))
	clips := 0
	for i := range n - f {
		for _, in := range network.Influences(i) {
			clips += in.Clipped
		}
	}
	return acc, clips
}
