package hospitals

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Of every run: rounds of learning, losses that a searched method may ask for, a sample and round (what the program
// itself picks stays within), and the delta of epsilon.
const (
	rounds  = 50
	queries = 24
	delta   = 1e-5
)

// Graphs and Epsilons are what is varied; an epsilon of 0 is a run without noise.
var (
	Graphs   = []string{"complete", "ring"}
	Epsilons = []float64{0, 1, 4, 8, 16}
)

// The contenders that have nothing to search for.
const (
	alone  = "alone"
	abroad = "of another" // the mean of what the three others' own models are worth here
	pooled = "pooled"
	single = "SPADE-DFL alone"            // each hospital a fleet of its own, with what init chooses for it
	chosen = "SPADE-DFL"                  // with what init and simulate choose
	shared = "SPADE-DFL with colluders 1" // likewise: neighbors share noise
)

// searched lists the methods whose settings are searched for, by the same search.
var searched = []method.Method{
	method.Spade{Tracking: true, Walsh: true, Cooldown: 20}, method.DPFedAvg{}, method.OnePointDSG{}, method.LTADMMDP{},
}

// cell is one line of the table.
type cell struct {
	name, graph string
	epsilon     float64
	method      method.Method // nil if nothing is searched for
}

// cells lists all lines.
func cells() []cell {
	list := []cell{{name: alone, graph: "none"}, {name: abroad, graph: "none"}, {name: pooled, graph: "none"},
		{name: single, graph: "none"}}
	for _, g := range Graphs {
		for _, e := range Epsilons {
			list = append(list, cell{name: chosen, graph: g, epsilon: e})
			if e > 0 {
				list = append(list, cell{name: shared, graph: g, epsilon: e})
			}
			for _, m := range searched {
				c := cell{name: m.Name(), graph: g, epsilon: e, method: m}
				if _, server := m.(method.DPFedAvg); server {
					if c.graph = "server"; g != Graphs[0] {
						continue
					}
				}
				list = append(list, c)
			}
		}
	}
	return list
}

// train returns the models of the hospitals, one for each or one for all.
func (c cell) train(ctx context.Context, wards []ward, s method.Setting, seed uint64) ([][]float32, error) {
	switch c.name {
	case alone, abroad:
		var models [][]float32
		for _, w := range wards {
			models = append(models, regress(w.train))
		}
		return models, nil
	case pooled:
		return [][]float32{regress(pool(wards))}, nil
	case single:
		var models [][]float32
		for i := range wards {
			m, err := c.last(ctx, method.Suggested{}, wards[i:i+1], nil, seed)
			if err != nil {
				return nil, err
			}
			models = append(models, m...)
		}
		return models, nil
	case chosen:
		return c.last(ctx, method.Suggested{}, wards, nil, seed)
	case shared:
		return c.last(ctx, method.Suggested{Colluders: 1, Fleet: "hospitals", Members: Names}, wards, nil, seed)
	}
	return c.last(ctx, c.method, wards, s, seed)
}

// last returns the models that a method ends with.
func (c cell) last(ctx context.Context, m method.Method, wards []ward, s method.Setting, seed uint64) ([][]float32, error) {
	w, err := c.world(wards, seed)
	if err != nil {
		return nil, err
	}
	models, _, err := method.Last(ctx, m, w, s)
	return models, err
}

// world is what a method runs on.
func (c cell) world(wards []ward, seed uint64) (*method.World, error) {
	w := &method.World{Rounds: rounds, Queries: queries, Seed: seed}
	for _, ward := range wards {
		model := task.NewSoftmax(ward.train)
		w.Dim, w.Clients = model.Dim(), append(w.Clients, method.Client{Oracle: model, Samples: model.Len()})
	}
	if c.epsilon > 0 {
		w.Privacy = &method.Privacy{Epsilon: c.epsilon, Delta: delta}
	}
	var err error
	switch c.graph {
	case "server":
	case "none":
		w.Graph, err = graph.New(len(wards), nil)
	default:
		w.Graph, err = graph.Parse(c.graph, len(wards), seed)
	}
	return w, err
}

// regress is logistic regression with a ridge penalty of 1, as statistics packages have it, by Nesterov's method: what
// somebody with all of the data at hand would do. The constant is not punished.
func regress(d *task.Data) []float32 {
	n := float64(d.Len())
	x, before, y, g := make([]float64, d.Dim), make([]float64, d.Dim), make([]float64, d.Dim), make([]float64, d.Dim)
	curvature := 1 / n
	for i := range d.Y {
		for _, v := range d.Row(i) {
			curvature += float64(v) * float64(v) / 4 / n
		}
	}
	for t := range 2000 {
		momentum := float64(t) / float64(t+3)
		for j := range y {
			y[j] = x[j] + float64(momentum*(x[j]-before[j]))
			g[j] = y[j] / n
		}
		g[d.Dim-1] = 0
		for i, class := range d.Y {
			z := 0.0
			for j, v := range d.Row(i) {
				z += float64(y[j] * float64(v))
			}
			p := 1/(1+vec.Exp(-z)) - float64(class)
			for j, v := range d.Row(i) {
				g[j] += float64(p*float64(v)) / n
			}
		}
		for j := range x {
			before[j], x[j] = x[j], y[j]-float64(g[j]/curvature)
		}
	}
	model := make([]float32, d.Dim)
	for j, v := range x {
		model[j] = float32(v)
	}
	return model
}

// mark is what a model is worth at one hospital, in the order of metrics.
type mark [6]float64

var metrics = []string{"accuracy", "majority", "AUC", "sensitivity", "specificity", "Brier"}

// judge says what each hospital's model, or the one of all, is worth on its own held-out patients; with shift, the model
// of the hospital that comes so many places later.
func judge(wards []ward, models [][]float32, shift int) ([]mark, error) {
	var out []mark
	for i, w := range wards {
		m, err := task.NewSoftmax(w.test).Judge(models[(i+shift)%len(models)])
		if err != nil {
			return nil, err
		}
		b := m.Binary
		if b.AUC == nil || b.Sensitivity == nil || b.Specificity == nil {
			return nil, fmt.Errorf("hospitals: %s has held out patients of one class alone", Names[i])
		}
		out = append(out, mark{m.Accuracy.Value, m.Majority, b.AUC.Value, b.Sensitivity.Value, b.Specificity.Value,
			b.Brier.Value})
	}
	return out, nil
}
