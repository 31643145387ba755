package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// gateRow compares the processor time of two functions. It fails if the median of their ratio is above gateMargin times
// the committed one.
type gateRow struct {
	what         string
	committed    float64
	ours, theirs func() error
	oursPer      float64 // work units in a call of ours; the ratio is that of the times per unit
	theirsPer    float64
}

const (
	gateMargin = 1.5
	gatePairs  = 5
)

// gate compares rows in user time on one processor and fails if one has become slower. A row that fails is measured
// once more.
func gate() error {
	runtime.GOMAXPROCS(1)
	dir, err := os.MkdirTemp("", "spade-gate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rows, err := gateRows(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range rows {
		ratio, err := r.median()
		if err == nil && ratio > gateMargin*r.committed {
			ratio, err = r.median()
		}
		if err == nil && ratio > gateMargin*r.committed {
			err = fmt.Errorf("the ratio is %.3g, want at most %.3g", ratio, gateMargin*r.committed)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.what, err))
		}
		fmt.Printf("%-55s %8.3g, committed %.3g\n", r.what, ratio, r.committed)
	}
	return errors.Join(errs...)
}

// median returns the median ratio of pairs of measurements.
func (r gateRow) median() (float64, error) {
	var ratios []float64
	for range gatePairs {
		a, err := userTime(r.ours)
		if err != nil {
			return 0, err
		}
		b, err := userTime(r.theirs)
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, a/r.oursPer/(b/r.theirsPer))
	}
	slices.Sort(ratios)
	return ratios[gatePairs/2], nil
}

func gateRows(dir string) (rows []gateRow, err error) {
	for _, q := range []struct {
		d        int
		c, plain float64
	}{{10, 1.9, 0.6}, {1000, 1.05, 0.04}} {
		steps := 20_000_000 / (q.d + 100) / 8
		r := gateRow{what: fmt.Sprintf("a query, d = %d, to a loop in C", q.d), committed: q.c, oursPer: 1, theirsPer: 1,
			ours: func() error {
				_, _, err := machineQueries(q.d, 64, 8, steps, 8)
				return err
			},
			theirs: func() error {
				loopQueries(q.d, 64, 8, steps)
				return nil
			}}
		if model, _ := loopQueries(1, 1, 1, 1); model == nil {
			r.what, r.committed = fmt.Sprintf("a query, d = %d, to a loop in Go", q.d), q.plain
			r.theirs = func() error {
				goQueries(q.d, 64, 8, steps)
				return nil
			}
		}
		rows = append(rows, r)
	}
	rows = append(rows, hazardRow())
	query, messages := rows[0], gateRow{what: "a simulated message, d = 10, to a query", committed: 6}
	const nodes, rounds, queries = 100, 60, 20_000_000 / 110 / 8 * 8
	messages.ours, messages.oursPer = func() error { return denseRun(nodes, rounds) }, nodes*(nodes-1)*rounds
	messages.theirs, messages.theirsPer = query.ours, queries
	job := smallJob{samples: 2000, pixels: 100, components: 10, nodes: 20, rounds: 40, tau: 4, eta: 2.34, mu: 0.474}
	if err := errors.Join(writeImages(dir, "train", job.samples, job.pixels), writeImages(dir, "t10k", 500, job.pixels)); err != nil {
		return nil, err
	}
	rows = append(rows, messages, gateRow{what: "a whole small job, to the same in plain Go", committed: 0.42, oursPer: 1, theirsPer: 1,
		ours:   func() error { return accurate(job.ours(dir)) },
		theirs: func() error { return accurate(job.plain(dir)) }})
	for _, f := range []struct {
		d         int
		committed float64
	}{{10, 24}, {10_000, 4}} {
		r, err := frameRow(f.d, f.committed)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func accurate(accuracy float64, err error) error {
	if err == nil && accuracy < 90 {
		err = fmt.Errorf("the accuracy is %.1f %%, want at least 90 %%", accuracy)
	}
	return err
}

// goQueries performs the work of b queries in each of a number of local steps in plain loops.
func goQueries(d, m, b, steps int) {
	r := rand.New(rand.NewPCG(1, 1))
	table, v, abar, phi, y := make([]float32, m*d), make([]float32, d), make([]float32, d), make([]float32, d), make([]float32, d)
	signs := make([]uint64, (d+63)/64)
	for range steps {
		copy(v, abar)
		for range b {
			for i := range signs {
				signs[i] = r.Uint64()
			}
			plainSignPerturb(y, phi, queryMu, signs)
			c, a := y[0]+1, table[r.IntN(m)*d:][:d]
			for i := range a {
				q := c
				if signs[i/64]>>(i%64)&1 == 1 {
					q = -c
				}
				diff := q - a[i]
				v[i] += diff / float32(b)
				abar[i] += diff / float32(m)
				a[i] = q
			}
		}
		plainAxpy(phi, -queryEta, v)
	}
}

// gateFleet returns a fleet of so many nodes without noise in which each has a model of dim numbers.
func gateFleet(nodes, dim, rounds, tau int, eta, mu float64, complete bool) *sdk.Fleet {
	f := &sdk.Fleet{Run: "gate", Dim: dim, Privacy: sdk.Privacy{NonPrivate: true}, Method: sdk.Method{Rounds: rounds, Tau: tau,
		Rho: 1, Gain: share, Eta: admm.Schedule{eta}, Mu: admm.Schedule{mu}}}
	for i := range nodes {
		f.Members = append(f.Members, fmt.Sprint(i))
		for k := range i {
			if complete || k == i-1 || k == 0 && i == nodes-1 {
				f.Edges = append(f.Edges, [2]string{fmt.Sprint(k), fmt.Sprint(i)})
			}
		}
	}
	return f
}

// simulate runs the fleet with the given data and returns the models.
func simulate(f *sdk.Fleet, samples []int, oracle func(i int) zoest.Oracle) ([][]float32, error) {
	cfgs, err := sim.Machines(f, samples, nil)
	if err != nil {
		return nil, err
	}
	var clients []sim.Client
	for i, c := range cfgs {
		clients = append(clients, sim.Client{Config: c, Oracle: oracle(i)})
	}
	s, err := sim.New(clients)
	if err != nil {
		return nil, err
	}
	codec, err := wire.NewCodec(f.Dim)
	s.Meter = func() func(*admm.Message) (int, error) { return codec.Length }
	if err == nil {
		err = s.Run(context.Background(), nil)
	}
	return s.Models(), err
}

// denseRun simulates a complete graph of nodes that have one sample each, so that messages take most of the time.
func denseRun(nodes, rounds int) error {
	samples := slices.Repeat([]int{1}, nodes)
	_, err := simulate(gateFleet(nodes, 10, rounds, 1, queryEta, queryMu, true), samples, func(int) zoest.Oracle {
		return zoest.OracleFunc(func(_ context.Context, x []float32, _ int) (float64, error) { return float64(x[0]) + 1, nil })
	})
	return err
}

// ours performs the job with this project's packages and returns the mean accuracy of the nodes.
func (j smallJob) ours(dir string) (accuracy float64, err error) {
	set, err := task.Load(task.Spec{Source: "idx:" + dir, PCA: j.components})
	if err != nil {
		return 0, err
	}
	own, samples := make([][]int, j.nodes), make([]int, j.nodes)
	for i := range set.Train.Y {
		own[i%j.nodes], samples[i%j.nodes] = append(own[i%j.nodes], i), samples[i%j.nodes]+1
	}
	f := gateFleet(j.nodes, j.components, j.rounds, j.tau, j.eta, j.mu, false)
	models, err := simulate(f, samples, func(i int) zoest.Oracle { return task.NewSoftmax(set.Train.Select(own[i])) })
	if err != nil {
		return 0, err
	}
	test := task.NewSoftmax(set.Test)
	for _, x := range models {
		accuracy += 100 * test.Accuracy(x) / float64(j.nodes)
	}
	return accuracy, nil
}

// frameRow compares the encoding of a release of d numbers with a loop that copies them to bytes.
func frameRow(d int, committed float64) (gateRow, error) {
	codec, err := wire.NewCodec(d)
	m := &admm.Message{Kind: admm.Release, Round: 7, Vector: make([]float32, d)}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range m.Vector {
		m.Vector[i] = float32(r.NormFloat64())
	}
	var frame, bytes []byte
	const numbers = 2_000_000
	ours, theirs := numbers/(d+200), numbers*10/d
	return gateRow{what: fmt.Sprintf("a frame's encoding, d = %d, to a copy", d), committed: committed,
		oursPer: float64(ours), theirsPer: float64(theirs),
		ours: func() (err error) {
			for range ours {
				if frame, err = codec.Append(frame[:0], m); err != nil {
					return err
				}
			}
			return nil
		},
		theirs: func() (err error) {
			for range theirs {
				if bytes, err = binary.Append(bytes[:0], binary.LittleEndian, m.Vector); err != nil {
					return err
				}
			}
			return nil
		}}, err
}
