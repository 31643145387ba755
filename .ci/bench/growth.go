package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// series is a group of simulations that differ in the value of one parameter.
type series struct {
	what  string
	sizes []float64
	size  func(x float64) scale
}

// scale describes one simulation of a series.
type scale struct {
	nodes, samples, pixels, rounds int // samples is the total over all nodes
	graph                          string
	edges                          float64 // for the table; 0 if another column shows the size
}

var grown = []series{
	{"N, a ring, 2 samples each, d = 10", []float64{100, 1000, 5000, 10_000, 20_000, 50_000}, func(x float64) scale {
		return scale{nodes: int(x), samples: 2 * int(x), pixels: 10, rounds: max(4, int(5e4/x)), graph: "ring"}
	}},
	{"edges, er:P, N = 1,000, d = 10", []float64{0.01, 0.03, 0.1, 0.2, 0.3}, func(x float64) scale {
		return scale{nodes: 1000, samples: 2000, pixels: 10, rounds: max(3, int(0.3/x)),
			graph: fmt.Sprintf("er:%v", x), edges: x * 1000 * 999 / 2}
	}},
	{"d, N = 2, 4 samples each", []float64{10, 100, 1000, 10_000, 30_000, 100_000}, func(x float64) scale {
		return scale{nodes: 2, samples: 8, pixels: int(x), rounds: max(10, int(1e5/x)), graph: "path"}
	}},
	{"m, N = 2, d = 10", []float64{100, 1000, 10_000, 30_000, 100_000}, func(x float64) scale {
		return scale{nodes: 2, samples: 2 * int(x), pixels: 10, rounds: max(4, int(1e5/x)), graph: "path"}
	}},
}

const growthLimit = 1.05 // largest exponent that the page accepts

// growth measures all series. For each simulation, it prints the time per round and the peak memory. For each series,
// it prints the growth exponents of time and memory: the least-squares slopes of their logarithms against the logarithm
// of the size, for the three largest sizes.
func (b *bench) growth(start time.Time) error {
	fmt.Print("## Growth\n\nOne local step a round, not private, `-estimator paper -cooldown 0`. The time is that of a round, the best of up to three runs;\n" +
		"memory is the peak of the whole process (small ones inherit that of this command). Exponents are of the last three sizes.\n")
	for _, s := range grown {
		fmt.Fprintf(os.Stderr, "bench: %s: growth in %s\n", time.Since(start).Round(time.Second), s.what)
		fmt.Printf("\n| %s | a round | MB |\n|--:|--:|--:|\n", s.what)
		var xs, times, mbs []float64
		for _, x := range s.sizes {
			seconds, mb, err := b.grow(s.size(x))
			if err != nil {
				return fmt.Errorf("growth in %s: %w", s.what, err)
			}
			if e := s.size(x).edges; e > 0 {
				x = e
			}
			fmt.Printf("| %.0f | %s | %.0f |\n", x, figure(seconds, "s"), mb)
			xs, times, mbs = append(xs, x), append(times, seconds), append(mbs, mb)
		}
		upper := len(xs) - 3
		inTime, inSpace := exponent(xs[upper:], times[upper:]), exponent(xs[upper:], mbs[upper:])
		verdict := "ok"
		if max(inTime, inSpace) > growthLimit {
			verdict = "**missed**"
		}
		fmt.Printf("| exponent, at most %v: %s | %.3f | %.3f |\n", growthLimit, verdict, inTime, inSpace)
	}
	fmt.Println()
	return nil
}

// grow measures one simulation. It returns the seconds per round and the peak memory in MB, each as the minimum over up
// to three runs.
func (b *bench) grow(s scale) (seconds, mb float64, err error) {
	dir := filepath.Join(b.dir, "grown")
	defer os.RemoveAll(dir)
	err = errors.Join(writeImages(dir, "train", s.samples, s.pixels), writeImages(dir, "t10k", 10, s.pixels))
	if err != nil {
		return 0, 0, err
	}
	args := strings.Fields(fmt.Sprintf("simulate -data idx:%s -nodes %d -graph %s -rounds %d -tau 1 -eta 0.01 -mu 0.01 "+
		"-estimator paper -cooldown 0 -non-private -json", dir, s.nodes, s.graph, s.rounds))
	start := time.Now()
	for i := 0; i == 0 || i < 3 && time.Since(start) < patience; i++ {
		out, err := b.run(b.dir, nil, b.program, args...)
		if err != nil {
			return 0, 0, err
		}
		x, err := out.seconds()
		if err != nil {
			return 0, 0, err
		}
		if x /= float64(s.rounds); i == 0 {
			seconds, mb = x, out.MB
		}
		seconds, mb = min(seconds, x), min(mb, out.MB)
	}
	return seconds, mb, nil
}

// exponent fits the power law y = c*x^p to the points and returns p.
func exponent(x, y []float64) float64 {
	var mx, my, xx, xy float64
	for i := range x {
		mx += math.Log(x[i]) / float64(len(x))
		my += math.Log(y[i]) / float64(len(x))
	}
	for i := range x {
		dx := math.Log(x[i]) - mx
		xx += dx * dx
		xy += dx * (math.Log(y[i]) - my)
	}
	return xy / xx
}
