package hospitals

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Parameters of every run. The constant queries is the number of losses per sample and round that a method may query if
// its settings come from a search. SPADE-DFL with the program's default settings does not query more.
const (
	rounds  = 50
	queries = 24
	delta   = 1e-5
)

// Graphs and Epsilons list the values that the runs vary. Epsilon 0 means a run without noise.
var (
	Graphs   = []string{"complete", "ring"}
	Epsilons = []float64{0, 1, 4, 8, 16}
)

// Names of the contenders that need no search.
const (
	alone  = "alone"
	abroad = "of another" // mean score at a hospital of the models that the other three hospitals train alone
	pooled = "pooled"
	single = "SPADE-DFL alone"            // each hospital is a fleet of one, with the settings that init chooses
	chosen = "SPADE-DFL"                  // with the settings that init and simulate choose
	shared = "SPADE-DFL with colluders 1" // the same, with pairwise noise

	warded      = "SPADE-DFL, 3 wards each"                       // epsilon protects the data of one ward
	hospitalled = "SPADE-DFL, 3 wards each, epsilon per hospital" // epsilon protects the data of all three wards
	wardOne     = "SPADE-DFL, 3 wards each, with colluders 1"     // protects a ward's data against any one other ward
	wardThree   = "SPADE-DFL, 3 wards each, with colluders 3"     // the same against all wards of another hospital
)

// searched lists the methods whose settings come from a search. The search is the same for all of them.
var searched = []method.Method{
	method.Spade{Tracking: true, Walsh: true, Cooldown: 20}, method.DPFedAvg{}, method.OnePointDSG{}, method.LTADMMDP{},
}

type cell struct {
	name, graph string
	epsilon     float64
	method      method.Method
}

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
	for _, g := range Graphs {
		for _, e := range Epsilons {
			list = append(list, cell{name: warded, graph: g, epsilon: e})
			if e > 0 {
				list = append(list, cell{name: hospitalled, graph: g, epsilon: e}, cell{name: wardOne, graph: g, epsilon: e})
			}
			if e > 0 && g == Graphs[0] { // not on a ring, where three colluders may be all neighbors of a ward
				list = append(list, cell{name: wardThree, graph: g, epsilon: e})
			}
		}
	}
	return list
}

// colluders returns the number of members that may collude. ok is true if the noise is pairwise.
func (c cell) colluders() (n int, ok bool) {
	switch c.name {
	case shared, eachShared, wardOne:
		return 1, true
	case wardThree:
		return wards, true
	}
	return 0, false
}

// train returns either one model per hospital or a single model for all hospitals.
func (c cell) train(ctx context.Context, sites []site, s method.Setting, seed uint64) ([][]float32, error) {
	switch c.name {
	case alone, abroad:
		var models [][]float32
		for _, w := range sites {
			models = append(models, regress(w.train))
		}
		return models, nil
	case pooled:
		return [][]float32{regress(pool(sites))}, nil
	case single:
		one, err := graph.New(1, nil)
		if err != nil {
			return nil, err
		}
		var models [][]float32
		for i := range sites {
			m, err := c.suggested(ctx, sites[i:i+1], one, seed)
			if err != nil {
				return nil, err
			}
			models = append(models, m...)
		}
		return models, nil
	}
	if c.wards() {
		var err error
		if sites, err = divide(sites, seed); err != nil {
			return nil, err
		}
	}
	w, err := c.world(sites, seed)
	if err != nil {
		return nil, err
	}
	if c.method == nil {
		return c.suggested(ctx, sites, w.Graph, seed)
	}
	var last [][]float32
	_, err = c.method.Run(ctx, w, s, func(_ int, models [][]float32) error {
		last = last[:0]
		for _, x := range models {
			last = append(last, append([]float32(nil), x...))
		}
		return nil
	})
	return last, err
}

func (c cell) world(sites []site, seed uint64) (*method.World, error) {
	w := &method.World{Rounds: rounds, Queries: queries, Seed: seed}
	for _, site := range sites {
		model := task.NewSoftmax(site.train)
		w.Dim, w.Clients = model.Dim(), append(w.Clients, method.Client{Oracle: model, Samples: model.Len()})
	}
	if c.epsilon > 0 {
		w.Privacy = &method.Privacy{Epsilon: c.epsilon, Delta: delta}
	}
	if c.graph == "server" {
		return w, nil
	}
	var err error
	w.Graph, err = topology.Parse(c.graph, len(sites), seed)
	return w, err
}

// suggested runs the fleet with all settings that the program derives from the graph, epsilon and the number of
// colluders.
func (c cell) suggested(ctx context.Context, sites []site, g *graph.Graph, seed uint64) ([][]float32, error) {
	var oracles []*task.Model
	f := &sdk.Fleet{Run: "hospitals"}
	var samples []int
	for i, w := range sites {
		model := task.NewSoftmax(w.train)
		name := "site-" + strconv.Itoa(i)
		if !c.wards() {
			name = heart.Hospitals[i]
		}
		f.Members = append(f.Members, name)
		f.Dim, oracles, samples = model.Dim(), append(oracles, model), append(samples, model.Len())
	}
	for _, e := range g.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	known := plan.Known{Dim: f.Dim, Samples: samples, Open: true, Method: sdk.Method{Seed: seed},
		Privacy: sdk.Privacy{NonPrivate: c.epsilon == 0, EpsilonLimit: c.epsilon}}
	if n, ok := c.colluders(); ok {
		known.Graph, known.Privacy.Colluders = g, n
	}
	// Some defaults of the program have changed since the committed results were computed. Keep the old settings: no
	// partners, nobody absent; for record-level privacy, plan.RecordRounds rounds; and, further below, shorter steps in runs without noise.
	known.Fixed = []string{"privacy.partners", "privacy.absent"}
	if c.each() {
		known.Privacy.Unit, f.Records, known.Columns, known.Method.Rounds = dpmech.Record, samples, true, plan.RecordRounds
	}
	var err error
	if c.name == hospitalled && c.epsilon > 0 {
		if known.Privacy.EpsilonLimit, err = perWard(c.epsilon); err != nil {
			return nil, err
		}
	}
	if f.Method, f.Privacy, err = plan.Suggest(known); err != nil {
		return nil, err
	}
	if c.epsilon == 0 {
		queries := 0
		for _, n := range samples {
			queries += n
		}
		eta := 1.6 * f.Method.Mu[0] * math.Sqrt(float64(queries)/float64(f.Method.Rounds*f.Method.Tau))
		eta, _ = strconv.ParseFloat(strconv.FormatFloat(eta, 'g', 3, 64), 64)
		f.Method.Eta, f.Method.Cooldown = admm.Schedule{eta}, 0
	}
	cfgs, err := sim.Machines(f, samples, func(client int) io.Reader {
		noise := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
		return &noise
	})
	if err != nil {
		return nil, err
	}
	var clients []sim.Client
	for i, cfg := range cfgs {
		clients = append(clients, sim.Client{Config: cfg, Oracle: oracles[i]})
	}
	network, err := sim.New(clients)
	if err != nil {
		return nil, err
	}
	if err := network.Run(ctx, nil); err != nil {
		return nil, err
	}
	models := network.Models()
	for i, x := range models {
		models[i] = f.Model(x, f.Method.Last())
	}
	return models, nil
}

// regress fits a logistic regression with a ridge penalty of 1, as statistics packages do, by Nesterov's method. It
// shows what an analyst with all the data would get. The intercept is not penalized.
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

// mark holds the scores of a model at one hospital, in the order of the variable metrics.
type mark [6]float64

var metrics = []string{"accuracy", "majority", "AUC", "sensitivity", "specificity", "Brier"}

// judge scores models on the held-out patients of each hospital. There is either one model per hospital or one model
// for all. If shift is positive, hospital i is scored with the model of hospital i+shift, modulo the number of models.
func judge(sites []site, models [][]float32, shift int) ([]mark, error) {
	var out []mark
	for i, w := range sites {
		scores, err := task.NewSoftmax(w.test).Judge(models[(i+shift)%len(models)])
		if err != nil {
			return nil, err
		}
		m := scores.Classes
		b := m.Binary
		if b.AUC == nil || b.Sensitivity == nil || b.Specificity == nil {
			return nil, fmt.Errorf("hospitals: the held-out patients of %s are all of one class", heart.Hospitals[i])
		}
		out = append(out, mark{m.Accuracy.Value, m.Majority, b.AUC.Value, b.Sensitivity.Value, b.Specificity.Value,
			b.Brier.Value})
	}
	return out, nil
}
