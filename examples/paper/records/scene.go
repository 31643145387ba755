package records

import (
	"fmt"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

const delta = 1e-5

// epsilons lists the epsilons of the table. Each record has (epsilon, delta)-differential privacy.
var epsilons = []float64{0.5, 1, 2, 4, 8}

// scene describes how the records of a data set are distributed: among clients, or in one place with a trusted curator.
type scene struct {
	data    string
	clients int
	graph   string
}

var scenes = []scene{
	{"alzheimers", 5, "complete"}, {"alzheimers", 10, "complete"}, {"alzheimers", 31, "er:0.3"}, {"alzheimers", 100, "er:0.3"},
	{"fashion", 10, "complete"}, {"mnist", 10, "complete"}, {"brain", 10, "complete"},
}

// seeds returns the number of runs for a cell: 1 if all runs would be the same, at most 10 if a run takes long, and
// otherwise the argument most.
func (c cell) seeds(most int) int {
	own := c.data == "brain" || c.data == "mnist" // whether the data set has a separate test set
	switch {
	case own && c.silent():
		return 1
	case c.data == "brain":
		return min(most, 10)
	}
	return most
}

type lab struct {
	dir     string
	mu      sync.Mutex
	sources map[string]*data.Source
}

func (l *lab) source(name string) (*data.Source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources[name] == nil {
		s, err := data.Load(name, l.dir)
		if err != nil {
			return nil, err
		}
		l.sources[name] = s
	}
	return l.sources[name], nil
}

// stage is the environment of a run: the split for one seed, and the world.
type stage struct {
	split data.Split
	world *method.World
	test  *task.Model
}

// stage returns the stage for a seed. If validate is true, the test samples are split off from the training set.
func (l *lab) stage(s scene, epsilon float64, seed uint64, validate bool) (*stage, error) {
	source, err := l.source(s.data)
	if err != nil {
		return nil, err
	}
	split, err := source.SplitRows(seed, validate)
	if err != nil {
		return nil, err
	}
	return newStage(s, split, epsilon, seed)
}

// newStage deals the training samples of a split to the clients of a scene, without regard to labels.
func newStage(s scene, split data.Split, epsilon float64, seed uint64) (*stage, error) {
	parts, err := task.Partition{}.Assign(split.Train.Y, split.Train.Classes, s.clients, seed)
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	st := &stage{split: split, test: task.NewSoftmax(split.Test)}
	dim := st.test.Dim()
	st.world = &method.World{
		Dim: dim, Columns: s.data == "alzheimers", Rounds: plan.RecordRounds, Queries: float64(plan.RecordTau(dim)), Seed: seed,
		Privacy: &method.Privacy{Epsilon: epsilon, Delta: delta, Unit: dpmech.Record},
	}
	if st.world.Graph, err = topology.Parse(s.graph, s.clients, seed); err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	for _, part := range parts {
		own := split.Train.Select(part)
		st.world.Clients = append(st.world.Clients,
			method.Client{Oracle: task.NewSoftmax(own), Samples: own.Len(), Gradient: data.Gradient(own)})
	}
	return st, nil
}

// accuracy returns the percentage of test samples that a model predicts correctly, averaged over the models.
func (s *stage) accuracy(models ...[]float32) float64 {
	sum := 0.0
	for _, x := range models {
		sum += 100 * s.test.Accuracy(x) / float64(len(models))
	}
	return sum
}

// curator returns the scenes with a single client that holds all records. Scenes that differ only in the number of
// clients and the graph are merged.
func curator(list []scene) (one []scene) {
	for _, s := range list {
		s.clients, s.graph = 1, "complete"
		if !slices.Contains(one, s) {
			one = append(one, s)
		}
	}
	return one
}
