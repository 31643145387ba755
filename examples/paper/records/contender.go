package records

import (
	"context"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

type contender struct {
	name, trusted string // trusted: whom the owner of a record must trust
	method        method.Method
	hand          func(*stage) float64 // returns the accuracy, for a contender without a method
	space         []method.Param       // the parameters that a search varies; nil for none
	pooled        bool                 // all records are in one place
	exact         bool                 // the method uses exact gradients
	average       bool                 // the mean of all clients' models is scored
}

// The parameters that a search varies. Reach is how far all steps together can move the model: the product of step
// size, clipping norm and number of steps. The search varies reach instead of the step size eta, and so wastes few
// trials on steps that are far too long or too short.
var (
	reach  = method.Param{Name: "reach", Low: 0.5, High: 30, Log: true}
	clip   = method.Param{Name: "clip", Low: 0.05, High: 3, Log: true}
	rounds = method.Param{Name: "rounds", Low: 1, High: 64, Log: true, Whole: true}
	steps  = method.Param{Name: "tau", Low: 1, High: 8, Log: true, Whole: true}
	gain   = method.Param{Name: "gain", Low: 0.1, High: 0.95}
	shots  = method.Param{Name: "rounds", Low: 10, High: 320, Log: true, Whole: true} // rounds with one direction each
)

// radius is the smoothing radius mu of all two-point estimates. Losses are exact here, so a small radius works best.
const radius = 0.05

const (
	nobody = "nobody"
	holder = "a curator, with all records"
)

func contenders() []contender {
	sgd := []method.Param{reach, clip, rounds}
	return []contender{
		{name: "SPADE-DFL, local noise", trusted: nobody, method: method.Suggested{}},
		{name: "SPADE-DFL, pairwise noise", trusted: "at most 1 member colludes", method: method.Suggested{Colluders: 1}},
		{name: "DP-FedSGD", trusted: nobody, method: method.DPSGD{Local: true}, space: sgd},
		{name: "LT-ADMM-DP", trusted: nobody, method: method.LTADMMDP{PerSample: true}, average: true,
			space: []method.Param{reach, clip, {Name: "rounds", Low: 2, High: 40, Log: true, Whole: true}, steps, gain}},
		{name: "DPZero, local noise", trusted: nobody, method: method.DPZero{Local: true}, space: []method.Param{reach, clip, shots}},
		{name: "DP-SGD", trusted: holder, method: method.DPSGD{}, pooled: true, space: sgd},
		{name: "DPZero", trusted: holder, method: method.DPZero{}, pooled: true, space: []method.Param{reach, clip, shots}},
		{name: "DP-FedSGD, exact gradients", trusted: nobody, method: method.DPSGD{Local: true, Exact: true}, exact: true, space: sgd},
		{name: "DP-SGD, exact gradients", trusted: holder, method: method.DPSGD{Exact: true}, pooled: true, exact: true, space: sgd},
		{name: "ceiling", trusted: holder + "; no noise", pooled: true, hand: func(s *stage) float64 {
			return 100 * data.Ceiling(s.split, false)
		}},
		{name: "ceiling, logarithmic loss", trusted: holder + "; no noise", pooled: true, hand: func(s *stage) float64 {
			return 100 * data.Ceiling(s.split, true)
		}},
		{name: "most frequent class", trusted: "no model", pooled: true, hand: func(s *stage) float64 {
			return 100 * s.test.Majority()
		}},
	}
}

// searched returns the parameters that a search varies for a cell. The range of reach is larger for Brain Tumor, which
// has four classes, because a first search chose values at its upper limit of 30.
func (c cell) searched() []method.Param {
	space := slices.Clone(c.space)
	if c.data == "brain" {
		space[slices.Index(space, reach)].High = 120
	}
	return space
}

// silent reports whether the contender's result is independent of epsilon.
func (c contender) silent() bool { return c.hand != nil }

// adapt returns the world and the setting for a trial. The world has the trial's number of rounds, and divides the
// losses of the whole run equally among them. The setting has the step size that corresponds to the trial's reach.
func (c contender) adapt(w *method.World, trial method.Setting) (*method.World, method.Setting) {
	if c.space == nil {
		return w, nil
	}
	v := *w
	total := float64(w.Rounds) * w.Queries
	v.Rounds = int(min(trial["rounds"], total/2))
	v.Queries = math.Floor(total / float64(v.Rounds))
	s := method.Setting{"clip": trial["clip"]}
	step, eta := "eta", trial["reach"]/(trial["clip"]*float64(v.Rounds))
	switch c.method.(type) {
	case method.LTADMMDP:
		tau := min(trial["tau"], math.Floor(v.Queries/2))
		s["tau"], s["gain"] = tau, trial["gain"]
		step, eta = "gamma", eta/tau
	case method.DPSGD:
		s["tau"] = 1
	}
	s[step], s["mu"] = eta, radius
	if c.exact {
		v.Queries = 0
		delete(s, "mu")
	}
	return &v, s
}

func (c contender) run(ctx context.Context, st *stage, trial method.Setting) (float64, method.Spent, error) {
	if c.hand != nil {
		return c.hand(st), method.Spent{}, ctx.Err()
	}
	w, s := c.adapt(st.world, trial)
	models, spent, err := method.Last(ctx, c.method, w, s)
	if err != nil {
		return 0, spent, err
	}
	if c.average {
		models = [][]float32{method.Mean(models)}
	}
	return st.accuracy(models...), spent, nil
}
