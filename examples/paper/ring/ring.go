package ring

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/examples/paper/figure"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Parameters of the paper's experiment, except Cooldown, which is not in the paper.
const (
	Nodes    = 1000
	Rounds   = 50
	Cooldown = 200
	Tau      = 8
	Epsilon  = 8 // of the whole run, by exact Gaussian accounting
	Delta    = 1e-5
)

// Partitions lists how the samples are divided among the clients.
var Partitions = []string{"iid", "dirichlet:0.6", "dirichlet:0.3", "dirichlet:0.1", "pathological:2"}

// The ways to score a run, in the order of the columns in the figure.
const (
	Held     = "Model held"            // mean over clients of the score of a client's last release
	Averaged = "Mean of releases"      // mean over clients of the score of the mean of a client's releases so far
	Network  = "Average of all models" // score of the average of all models, which no client holds
)

// Step size, smoothing radius and clipping norm. For a private run, the program chooses these values from public
// numbers: dimension, number of clients, samples and steps. Nothing was tuned. The gain is also the program's default.
const (
	eta, mu, clip, gain = 1.05, 0.474, 0.045, 0.75
)

func load(data string) (*task.Set, error) {
	return task.Load(task.Spec{Source: "idx:" + filepath.Join(data, "mnist-6-7"), Labels: []string{"6", "7"}, PCA: 10})
}

func deal(set *task.Set, partition string, nodes int, seed uint64) ([][]int, error) {
	p, err := task.ParsePartition(partition)
	if err != nil {
		return nil, err
	}
	return p.Assign(set.Train.Y, set.Train.Classes, nodes, seed)
}

func shares(set *task.Set, partition string, nodes int, seed uint64) ([]figure.Share, error) {
	parts, err := deal(set, partition, nodes, seed)
	if err != nil {
		return nil, err
	}
	var out []figure.Share
	for i, part := range parts {
		sevens := 0
		for _, h := range part {
			sevens += set.Train.Y[h]
		}
		out = append(out, figure.Share{Partition: partition, Client: i, Share: float64(sevens) / float64(len(part))})
	}
	return out, nil
}

// scored reports whether a round is scored: every learning round and every tenth round of the cool-down.
func scored(round, rounds int) bool { return round <= rounds || (round-rounds)%10 == 0 }

// size holds the parameters that tests reduce. If stop is positive, a run ends after round stop and is otherwise
// unchanged.
type size struct{ nodes, rounds, cooldown, stop int }

var full = size{nodes: Nodes, rounds: Rounds, cooldown: Cooldown}

var errStop = errors.New("ring: the last requested round is done")

func fleet(dim int, seed uint64, z size) (*sdk.Fleet, error) {
	sigma, err := budget.SigmaFor(clip, z.rounds, Epsilon, Delta, dpmech.GDP)
	if err != nil {
		return nil, err
	}
	f := &sdk.Fleet{
		Run: "ring", Dim: dim,
		Method: sdk.Method{
			Rounds: z.rounds, Cooldown: z.cooldown, Tau: Tau, Rho: 1, Gain: gain,
			Eta: admm.Schedule{eta}, Mu: admm.Schedule{mu}, Seed: seed,
		},
		Privacy: sdk.Privacy{Clip: clip, Sigma: sigma, Delta: Delta, EpsilonLimit: Epsilon},
	}
	for i := range z.nodes {
		f.Members = append(f.Members, strconv.Itoa(i))
	}
	for i := range z.nodes {
		f.Edges = append(f.Edges, [2]string{f.Members[i], f.Members[(i+1)%z.nodes]})
	}
	return f, nil
}

// run performs one run and returns its points: three scores after every scored round. seed determines the partition,
// the directions and the simulated noise.
func run(ctx context.Context, set *task.Set, partition string, seed uint64, z size) ([]figure.Curve, error) {
	parts, err := deal(set, partition, z.nodes, seed)
	if err != nil {
		return nil, err
	}
	oracles := make([]*task.Model, len(parts))
	samples := make([]int, len(parts))
	for i, part := range parts {
		oracles[i], samples[i] = task.NewSoftmax(set.Train.Select(part)), len(part)
	}
	f, err := fleet(oracles[0].Dim(), seed, z)
	if err != nil {
		return nil, err
	}
	cfgs, err := sim.Machines(f, samples, func(client int) io.Reader {
		s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
		return &s
	})
	if err != nil {
		return nil, err
	}
	clients := make([]sim.Client, len(cfgs))
	for i, c := range cfgs {
		c.Estimator.Window = 8
		clients[i] = sim.Client{Config: c, Oracle: oracles[i]}
	}
	network, err := sim.New(clients)
	if err != nil {
		return nil, err
	}
	test := newScorer(set.Test)
	var curves []figure.Curve
	var averages method.Averages
	err = network.Run(ctx, func(round int) error {
		models := network.Models()
		averages.Add(models)
		if !scored(round, z.rounds) {
			return nil
		}
		for _, m := range []struct {
			name   string
			models [][]float32
		}{{Held, models}, {Averaged, averages.Models()}, {Network, [][]float32{mean(models)}}} {
			right := 0
			for _, x := range m.models {
				right += test.right(x)
			}
			a := float64(right) / float64(len(m.models)*set.Test.Len())
			curves = append(curves, figure.Curve{Dataset: "MNIST", Partition: partition, Method: m.name, Seed: int(seed),
				Round: round, Accuracy: a})
		}
		if round == z.stop {
			return errStop
		}
		return nil
	})
	if err == errStop {
		err = nil
	}
	return curves, err
}

// scorer counts the correct predictions of a linear model with two classes. It computes the same result as
// task.Model.Accuracy, but many times faster, which matters because hundreds of thousands of models are scored. The two
// results can differ only if a prediction's score is within a rounding error of 0.
type scorer struct {
	x []float32 // the samples, negated if of class 0, so that a correct prediction has a positive score
	d int
}

func newScorer(test *task.Data) *scorer {
	s := &scorer{d: test.Dim}
	for i, y := range test.Y {
		for _, v := range test.Row(i) {
			if y == 0 {
				v = -v
			}
			s.x = append(s.x, v)
		}
	}
	return s
}

func (s *scorer) right(x []float32) (n int) {
	for at := 0; at < len(s.x); at += s.d {
		var sum float32
		for j, v := range s.x[at : at+s.d] {
			sum += float32(v * x[j])
		}
		if sum > 0 {
			n++
		}
	}
	return n
}

// mean returns the average of models. It sums them in order, in float64.
func mean(models [][]float32) []float32 {
	out := make([]float32, len(models[0]))
	for j := range out {
		var sum float64
		for _, x := range models {
			sum += float64(x[j])
		}
		out[j] = float32(sum / float64(len(models)))
	}
	return out
}
