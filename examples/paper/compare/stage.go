package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// stage holds what all contenders share for one seed: the clients' data, the budgets, and the test data.
type stage struct {
	world *method.World
	train *task.Data
	test  *task.Model
}

// rehearsals is the number of validation sets that a search splits off from the training samples of one seed.
const rehearsals = 2

// validation is the share of the training samples that a search uses for validation.
const validation = 0.2

// stages returns the stage for a seed, followed by the stages for the search. The test sets of the search stages are
// split off from the training samples of the first stage.
func (o *options) stages(seed uint64) (all []stage, err error) {
	spec := o.spec
	spec.Seed = seed
	var set *task.Set
	var parts [][]int
	if o.files != nil {
		spec.Files = o.files
		if set, err = task.Load(spec); err != nil {
			return nil, err
		}
		at := 0
		for _, one := range set.Each() {
			var part []int
			for range one.Train.Len() {
				part, at = append(part, at), at+1
			}
			parts = append(parts, part)
		}
	} else if set, err = task.Load(spec); err != nil {
		return nil, err
	} else if parts, err = o.partition.Assign(set.Train.Y, set.Train.Classes, o.nodes, seed); err != nil {
		return nil, err
	}
	train := set.Train
	g, err := topology.Parse(o.graph, len(parts), seed)
	if err != nil {
		return nil, fmt.Errorf("compare: -graph: %w", err)
	}
	last, err := o.stage(train, parts, set.Test, g, seed)
	if err != nil {
		return nil, err
	}
	all = append(all, last)
	for again := range uint64(rehearsals) {
		_, held, err := task.Split(train.Y, train.Classes, validation, seed+(again+1)<<32) // not the test set's draw
		if err != nil {
			return nil, err
		}
		less := make([][]int, len(parts))
		for i, part := range parts {
			less[i] = slices.DeleteFunc(slices.Clone(part), func(at int) bool {
				_, is := slices.BinarySearch(held, at)
				return is
			})
			if len(less[i]) == 0 { // a client with few samples keeps all of them for training, and has none for scoring
				less[i] = part
				held = slices.DeleteFunc(held, func(at int) bool { return slices.Contains(part, at) })
			}
		}
		s, err := o.stage(train, less, train.Select(held), g, seed+(again+1)<<32)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (o *options) stage(train *task.Data, parts [][]int, test *task.Data, g *graph.Graph, seed uint64) (stage, error) {
	s := stage{train: train.Select(slices.Concat(parts...)), test: task.NewSoftmax(test)}
	s.world = &method.World{Graph: g, Dim: s.test.Dim(), Rounds: o.rounds, Seed: seed}
	if !o.nonPrivate {
		s.world.Privacy = &method.Privacy{Epsilon: o.epsilon, Delta: o.delta}
	}
	for _, part := range parts {
		s.world.Clients = append(s.world.Clients, method.Client{Oracle: task.NewSoftmax(train.Select(part)), Samples: len(part)})
	}
	queries, err := method.Suggested{}.Queries(s.world)
	s.world.Queries = float64(queries)
	return s, err
}

// worth holds scores on held-out samples, in percent, averaged over the models.
type worth struct {
	accuracy float64
	auc      float64 // NaN unless there are two classes, and samples of both
}

// judge returns the scores of the models. If there are no models, it returns the scores of always predicting the most
// frequent class.
func (s *stage) judge(models [][]float32) (w worth, err error) {
	if models == nil {
		return worth{100 * s.test.Majority(), math.NaN()}, nil
	}
	for _, x := range models {
		scores, err := s.test.Judge(x)
		if err != nil {
			return w, err
		}
		m := scores.Classes
		share := 100 / float64(len(models))
		w.accuracy += share * m.Accuracy.Value
		if m.Binary == nil || m.Binary.AUC == nil {
			w.auc = math.NaN()
		} else {
			w.auc += share * m.Binary.AUC.Value
		}
	}
	return w, nil
}
