package adapt

import (
	"math"

	"github.com/spade-dfl/spade-edge/examples/adapter"
	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// task holds the parameters of a comparison.
type task struct {
	network       frozen.Network
	members, each int // number of members, and of digits per member
	passes        int // largest number of forward passes for each digit
	clean, held   int // numbers of digits for the frozen network and for evaluation
	numbers       int // length of the adapter
	trials        int // number of settings that a search tries
	seeds         int // number of reported runs, whose seeds count from 1
}

var complete = task{network: frozen.Large, members: 8, each: 50, passes: 80, clean: frozen.Clean, held: 2000, numbers: 256, trials: 12, seeds: 3}

// contender is a method that trains either all parameters of the network or only the numbers of an adapter.
type contender struct {
	name   string
	method method.Method
	all    bool // whether the method trains all parameters of the network
	server bool
}

func contenders() (list []contender) {
	list = []contender{
		{"SPADE-DFL, tracking", method.Spade{Tracking: true, Walsh: true, Cooldown: 5}, false, false},
		{"SPADE-DFL, tracking, momentum", method.Spade{Tracking: true, Walsh: true, Momentum: true, Cooldown: 5}, false, false},
		{"SPADE-DFL, centered, momentum", method.Spade{Centered: true, Walsh: true, Momentum: true, Cooldown: 5}, false, false},
		{"two-point, averaging", method.TwoPointDSG{}, false, false},
		{"two-point, averaging", method.TwoPointDSG{}, true, false},
	}
	for _, all := range []bool{false, true} {
		list = append(list, contender{"FedKSeed", method.FedKSeed{}, all, true}, contender{"DeComFL", method.DeComFL{}, all, true},
			contender{"SeedFlood", method.SeedFlood{}, all, false})
	}
	return list
}

func (c contender) numbers(t task) int {
	if c.all {
		return t.network.Params()
	}
	return t.numbers
}

// mu is the smoothing radius of two-point differences. It is also the smallest radius that the search tries for
// SPADE-DFL. Each point of a two-point difference differs from the model by mu in every parameter of the network.
const mu = 0.01

// space lists the parameters that a search varies: the number of rounds, the sum of all step sizes, and the method's
// own parameters.
func (c contender) space(t task) []method.Param {
	list := []method.Param{
		{Name: "rounds", Low: 10, High: float64(min(640, t.passes*t.each/12)), Log: true, Whole: true},
		{Name: "reach", Low: 0.02, High: 2, Log: true},
	}
	switch m := c.method.(type) {
	case method.Spade:
		list[0].Low, list[0].High = 5, float64(t.passes)
		if m.Centered { // one query per digit and round fills the table
			list[0].High /= 2
		}
		return append(list, method.Param{Name: "mu", Low: mu, High: 0.1, Log: true})
	case method.DeComFL:
		return append(list, method.Param{Name: "dirs", Low: 1, High: 10, Log: true, Whole: true})
	case method.FedKSeed, method.TwoPointDSG:
		return append(list, method.Param{Name: "tau", Low: 1, High: 6, Log: true, Whole: true})
	}
	return list
}

// setting converts a trial to the number of rounds, the number of forward passes per digit and round, and the method's
// setting. The trial has a value for each parameter that the method space lists.
func (c contender) setting(t task, trial method.Setting) (rounds int, passes float64, s method.Setting) {
	rounds = int(trial["rounds"])
	passes = float64(t.passes) / float64(rounds)
	switch c.method.(type) {
	case method.Spade:
		passes = math.Floor(passes)
		return rounds, passes, method.Setting{"mu": trial["mu"], "gain": 0.75, "rate": trial["reach"] / (float64(rounds) * passes), "decay": 0}
	case method.SeedFlood:
		return rounds, passes, method.Setting{"mu": mu, "eta": trial["reach"] / float64(rounds)}
	case method.DeComFL:
		dirs := math.Min(trial["dirs"], math.Floor(passes*float64(t.each))-1)
		return rounds, passes, method.Setting{"mu": mu, "eta": trial["reach"] / float64(rounds), "tau": 1, "dirs": dirs}
	}
	return rounds, passes, method.Setting{"mu": mu, "eta": trial["reach"] / (float64(rounds) * trial["tau"]), "tau": trial["tau"]}
}

// stage holds the data and models shared by the runs with one seed.
type stage struct {
	task
	base      []float32
	own, held []frozen.Digit
	seed      uint64
}

// world returns the world in which a contender trains. Training starts from the frozen network or, if the contender
// trains an adapter, from zeros.
func (s *stage) world(c contender, rounds int, passes float64) (*method.World, error) {
	g, err := topology.Parse("complete", s.members, 1)
	if err != nil {
		return nil, err
	}
	w := &method.World{Graph: g, Dim: c.numbers(s.task), Rounds: rounds, Queries: passes, Seed: s.seed}
	if c.all {
		w.X0 = s.base
	}
	for i := range s.members {
		client := method.Client{Oracle: frozen.Member{Network: s.network, Digits: s.own[i*s.each:][:s.each]}, Samples: s.each}
		if !c.all {
			a, err := adapter.New(*s.network.Subspace(s.numbers), s.base, nil)
			if err != nil {
				return nil, err
			}
			client.Oracle = a.Oracle(client.Oracle)
		}
		w.Clients = append(w.Clients, client)
	}
	return w, nil
}

// accuracy returns the percentage of evaluation digits that are labeled correctly, averaged over the models.
func (s *stage) accuracy(c contender, models [][]float32) (float64, error) {
	a, err := adapter.New(*s.network.Subspace(s.numbers), s.base, nil)
	if err != nil {
		return 0, err
	}
	sum, x := 0.0, make([]float32, s.network.Params())
	for _, model := range models {
		if c.all {
			x = model
		} else {
			a.Expand(x, model)
		}
		sum += 100 * s.network.Accuracy(x, s.held)
	}
	return sum / float64(len(models)), nil
}
