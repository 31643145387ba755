package main

import (
	"fmt"
	"math"
	"runtime"
)

// These are the simulations on the page, with the step sizes that the simulate command chooses for their data.
var (
	ring10  = job{nodes: 1000, components: 10, rounds: 50, tau: 8, eta: 1.05, mu: 0.474}
	ring100 = job{nodes: 1000, components: 100, rounds: 10, tau: 8, eta: 0.74, mu: 0.15}
	ring784 = job{nodes: 1000, components: 0, rounds: 10, tau: 8, eta: 0.265, mu: 0.0536}
	ring31  = job{nodes: 31, components: 10, rounds: 50, tau: 2, eta: 2.34, mu: 0.474}
)

func (b *bench) rows(suite bool) []row {
	numpy := b.numpyName
	if b.python != "" {
		numpy = "numpy"
	}
	dense := "-graph er:0.3 -nodes 1000 -rounds 4 -tau 1 -estimator paper -cooldown 0 -non-private"
	rows := []row{
		{"rounds, N = 1000, ring, tau 8, d = 10, 50 rounds, one core", numpy, "s", atMost(1.5),
			b.against(ring10, 1, said.seconds)},
		{"the same, two cores", numpy, "s", atMost(1), b.against(ring10, 2, said.seconds)},
		{"the same, d = 100, 10 rounds, one core", numpy, "s", atMost(1), b.against(ring100, 1, said.seconds)},
		{"the same, d = 100, two cores", numpy, "s", atMost(1), b.against(ring100, 2, said.seconds)},
		{"the same, d = 784, 10 rounds, one core", numpy, "s", atMost(1), b.against(ring784, 1, said.seconds)},
		{"the same, d = 784, two cores", numpy, "s", atMost(1), b.against(ring784, 2, said.seconds)},
		{"whole job, N = 1000: load, PCA to 10, 50 rounds, test; two cores", numpy, "s", atMost(1),
			b.against(ring10, 2, said.wall)},
		{"whole job, N = 31, tau 2; two cores", numpy, "s", atMost(1), b.against(ring31, 2, said.wall)},
		{"er:0.3, N = 1000, d = 10: a round", "", "s", atMost(0.25), b.alone(3, dense, func(s said) (float64, error) {
			x, err := s.seconds()
			return x / 4, err
		})},
		{"er:0.3, N = 1000, d = 10: peak of memory", "", "MB", atMost(200), b.alone(1, dense, said.peak)},
		{"two cores, N = 1000, ring, not private", "one core", "s", atMost(1 / 1.8),
			b.cores("-graph ring -nodes 1000 -tau 8 -non-private")},
		{"two cores, N = 1000, ring, private", "one core", "s", atMost(1 / 1.8), b.cores("-graph ring -nodes 1000")},
		{"two cores, N = 100, ring, private", "one core", "s", atMost(1 / 1.8), b.cores("-graph ring -nodes 100")},
		{"plan -nodes 10000 -graph ring", "", "s", atMost(2), b.plan("-graph ring", said.wall, 0)},
		{"lambda_2 of that ring", "closed form", "", goal{least: 0.99, most: 1.01}, b.plan("-graph ring",
			func(s said) (float64, error) { return s.number("lambda_2") }, 2-2*math.Cos(2*math.Pi/10000))},
		{"plan -nodes 10000 -graph er:0.003 (150,000 edges)", "", "s", atMost(2), b.plan("-graph er:0.003", said.wall, 0)},
	}
	queries := []struct {
		d    int
		goal goal
	}{{10, goal{most: 50e-9, absolute: true}}, {1000, atMost(1.3)}, {10_000, atMost(1.3)}}
	for _, q := range queries {
		rows = append(rows, row{fmt.Sprintf("machine, a query, d = %d", q.d), "loop in C", "s", q.goal,
			func() (float64, float64, error) { return queryTimes(q.d) }})
	}
	for _, trip := range []struct {
		d    int
		goal goal
	}{{10, atMost(2.5)}, {1000, none}, {100_000, atMost(1.3)}} {
		rows = append(rows, row{fmt.Sprintf("ws, a round trip over loopback, d = %d", trip.d), "bare TLS", "s", trip.goal,
			func() (float64, float64, error) { return roundTrips(4 * trip.d) }})
	}
	rows = append(rows, b.nodeRows()...)
	rows = append(rows, row{"program, released", "go build -ldflags '-s -w'", "MB", goal{least: 0.95, most: 1.05},
		b.weights})
	rows = append(rows, b.scorerRows()...)
	if suite {
		rows = append(rows, row{"go test -count 1 ./...", "", "s", atMost(60), func() (float64, float64, error) {
			s, err := b.run(root, nil, "go", "test", "-count", "1", "./...")
			return s.Wall, 0, err
		}})
	}
	return rows
}

// alone returns a function that measures a simulation of this project up to k times and returns the best result. There
// is no other program to compare with, so the second result is 0.
func (b *bench) alone(k int, args string, of func(said) (float64, error)) func() (float64, float64, error) {
	return func() (float64, float64, error) {
		return inTurns(k, func() (float64, error) {
			s, err := b.ours(b.program, runtime.NumCPU(), fmt.Sprintf("simulate -data idx:%s -pca 10 -json %s", b.data, args))
			if err != nil {
				return 0, err
			}
			return of(s)
		}, nothing)
	}
}

// cores returns a function that measures the duration of a simulation's rounds on two processors and on one.
func (b *bench) cores(args string) func() (float64, float64, error) {
	on := func(cores int) func() (float64, error) {
		return func() (float64, error) {
			s, err := b.ours(b.program, cores, fmt.Sprintf("simulate -data idx:%s -pca 10 -json %s", b.data, args))
			if err != nil {
				return 0, err
			}
			return s.seconds()
		}
	}
	return func() (float64, float64, error) {
		if runtime.NumCPU() < 2 {
			return 0, 0, skipped("one processor")
		}
		return inTurns(4, on(2), on(1))
	}
}

// plan returns a function that runs the plan command for 10,000 nodes. That function returns one figure of the
// command's result, followed by a known value for comparison (0 if no value is known).
func (b *bench) plan(args string, of func(said) (float64, error), known float64) func() (float64, float64, error) {
	return func() (float64, float64, error) {
		s, err := b.ours(b.program, runtime.NumCPU(), "plan -json -non-private -nodes 10000 "+args)
		if err != nil {
			return 0, 0, err
		}
		x, err := of(s)
		return x, known, err
	}
}
