package method

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Spade is SPADE-DFL, Algorithm 1 of the paper, run through the SDK: it uses the fleet that a user would write and the
// machines that a device would run, in a simulated network. The zero value is the paper's form; each field is an option
// that is not in the paper.
//
// The parameter mu is the smoothing radius. gain is tau*beta*eta*mu as a share of the stability limit, and fixes beta
// (rho only scales z, and is 1). Without noise, rate is the step size along the estimated gradient in the first round,
// eta*mu; the step size decays as (k+1)^-decay. With noise, two nearly independent parameters fix the clipping norm R
// and eta: reach = K*R is how far all releases together can move a model, and slope is the length of the estimated
// gradient above which updates are clipped, so that R = tau*eta*mu*slope.
//
// If queries are limited, tau is the number of steps on all samples that the limit allows. Otherwise, the search also
// varies tau and batch, the share of its samples that a client uses in a step.
type Spade struct {
	Centered bool // each loss minus the previous loss of the same sample, see [Centered]
	Tracking bool // the tracking estimator: no table to fill, so one more local step
	Walsh    bool // Walsh directions, a set of which covers all axes
	Momentum bool // before clipping, an update is 0.8 times the previous update plus 0.2 times the new one
	Averaged bool // score the mean of a client's releases, not the last one
	Cooldown int  // rounds of pure consensus after the last release; Run then continues to round w.Rounds+Cooldown
	// In a private world, Shared selects pairwise noise, which cancels between neighbors. Epsilon is then the guarantee
	// against an adversary who sees all releases and colludes with any one client. [plan.Suggest] derives the pairwise
	// noise, the mixing rounds after each release and the mixing rounds of the cool-down from the graph. A round
	// includes its mixing; the cool-down, whatever its length, is reported as round w.Rounds+Cooldown.
	Shared bool
	// Mixing is the number of mixing rounds after each release. If it is 0 and Shared is set, [plan.Suggest] chooses a
	// number up to nine.
	Mixing int
}

// sharedGain is the gain that [plan.Suggest] chooses for a fleet. A larger gain reduces disagreement faster, so fewer
// mixing rounds are needed.
const sharedGain = 0.75

// maxTau is the largest tau that a search tries if the number of queries is not limited.
const maxTau = 8

// Name returns "SPADE-DFL" followed by the options, such as "SPADE-DFL+centered".
func (m Spade) Name() string {
	name := "SPADE-DFL"
	for _, option := range []struct {
		on   bool
		name string
	}{{m.Centered, "centered"}, {m.Tracking, "tracking"}, {m.Walsh, "walsh"}, {m.Momentum, "momentum"},
		{m.Mixing > 0, "mixed"}, {m.Averaged, "averaged"}, {m.Cooldown > 0, "cooled"},
		{m.Shared, "shared"}} {
		if option.on {
			name += "+" + option.name
		}
	}
	return name
}

// Space implements [Method].
func (m Spade) Space(w *World) []Param {
	space := []Param{
		{Name: "mu", Low: 0.1, High: 2, Log: true},
		{Name: "gain", Low: 0.1, High: 0.8, Log: true},
		{Name: "reach", Low: 0.3, High: 10, Log: true},
		{Name: "slope", Low: 0.02, High: 1, Log: true},
	}
	if w.Privacy == nil {
		space = []Param{
			{Name: "mu", Low: 0.2, High: 1.5, Log: true},
			{Name: "gain", Low: 0.1, High: 0.95, Log: true},
			{Name: "rate", Low: 0.1, High: 20, Log: true},
			{Name: "decay", Low: 0, High: 0.6},
		}
	}
	if m.shares(w) {
		space = slices.DeleteFunc(space, func(p Param) bool { return p.Name == "gain" })
	}
	if w.Queries == 0 {
		space = append(space, Param{Name: "tau", Low: 1, High: maxTau, Whole: true}, Param{Name: "batch", Low: 0.1,
			High: 1})
	}
	return space
}

// Run implements [Method].
func (m Spade) Run(ctx context.Context, w *World, s Setting,
	each func(round int, models [][]float32) error) (Spent, error) {
	return m.Trace(ctx, w, s, func(round int, last, averaged [][]float32) error {
		if m.Averaged {
			return each(round, averaged)
		}
		return each(round, last)
	})
}

// network returns a simulated fleet whose members are the world's clients. The noise is derived from the world's seed.
// The function change may alter each client.
func (w *World) network(f *sdk.Fleet, samples []int, change func(i int, c *sim.Client)) (*sim.Sim, error) {
	cfgs, err := sim.Machines(f, samples, func(client int) io.Reader {
		noise := rng.New(w.Seed, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
		return &noise
	})
	if err != nil {
		return nil, err
	}
	clients := make([]sim.Client, len(cfgs))
	for i, c := range cfgs {
		clients[i] = sim.Client{Config: c, Oracle: w.Clients[i].Oracle}
		change(i, &clients[i])
	}
	return sim.New(clients)
}

// Trace is like [Spade.Run], but passes two models per client to the function each: the client's last release and the
// mean of all its releases. It ignores m.Averaged.
func (m Spade) Trace(ctx context.Context, w *World, s Setting,
	each func(round int, last, averaged [][]float32) error) (Spent, error) {
	fleet, samples, err := m.fleet(w, s)
	if err != nil {
		return Spent{}, err
	}
	network, err := w.network(fleet, samples, func(i int, c *sim.Client) {
		if m.Centered {
			c.Oracle = Centered(c.Oracle, samples[i])
		}
		c.Config.Estimator.Window = 8
		if batch, free := s["batch"]; free {
			c.Config.Estimator.Batch = max(1, int(math.Round(batch*float64(samples[i]))))
		}
	})
	if err != nil {
		return Spent{}, err
	}
	method := fleet.Method
	var averages Averages
	err = network.Run(ctx, func(release int) error {
		models := network.Models()
		averages.Add(models)
		round := release
		switch {
		case !m.shares(w):
		case release == method.Last():
			round = w.Rounds + m.Cooldown
		case release > method.Learning() || release%(1+method.Mixing) > 0:
			return nil
		default:
			round = release / (1 + method.Mixing)
		}
		return each(round, models, averages.Models())
	})
	if err != nil {
		return Spent{}, err
	}
	spent := Spent{Scalars: 2 * int64(len(w.Graph.Edges())) * int64(w.Dim) * int64(method.Last())}
	spent.Queries, _ = network.Queries()
	return spent, nil
}

func (m Spade) shares(w *World) bool { return m.Shared && w.Privacy != nil }

// fleet returns the fleet for a run, and the number of samples of each member.
func (m Spade) fleet(w *World, s Setting) (*sdk.Fleet, []int, error) {
	if w.records() {
		return nil, nil, w.check(true)
	}
	tau := int(s["tau"])
	if w.Queries > 0 {
		if tau = int(w.Queries); !m.Tracking {
			tau-- // one query per sample and round fills the table
		}
		if tau < 1 {
			return nil, nil, fmt.Errorf("method: Queries is %v losses per sample and round, but SPADE-DFL needs at "+
				"least 2", w.Queries)
		}
	}
	f := &sdk.Fleet{Run: "paper", Dim: w.Dim, X0: w.X0}
	samples := make([]int, len(w.Clients))
	for i, c := range w.Clients {
		f.Members = append(f.Members, "client-"+strconv.Itoa(i))
		samples[i] = c.Samples
	}
	for _, e := range w.Graph.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	f.Method = sdk.Method{
		Rounds: w.Rounds, Cooldown: m.Cooldown, Tau: tau, Rho: 1, Gain: s["gain"],
		Mu: admm.Schedule{s["mu"]}, Seed: w.Seed,
	}
	if m.Momentum {
		f.Method.Momentum = 0.8
	}
	if m.Tracking {
		f.Method.Estimator = zoest.Tracking
	}
	if m.Walsh {
		f.Method.Directions = zoest.Walsh
	}
	if w.Privacy == nil {
		for k := range w.Rounds {
			fall := vec.Exp(float64(-s["decay"] * vec.Log(float64(k+1))))
			f.Method.Eta = append(f.Method.Eta, s["rate"]/s["mu"]*fall)
		}
		f.Privacy.NonPrivate = true
		return f, samples, nil
	}
	clip := s["reach"] / float64(w.Rounds)
	f.Method.Eta = admm.Schedule{clip / (float64(tau) * s["slope"] * s["mu"])}
	if m.Shared {
		f.Method.Gain, f.Method.Cooldown, f.Method.Mixing = sharedGain, 0, m.Mixing
		method, privacy, err := plan.Suggest(plan.Known{Dim: w.Dim, Samples: samples, Graph: w.Graph, Method: f.Method,
			Privacy: sdk.Privacy{Clip: clip, Delta: w.Privacy.Delta, EpsilonLimit: w.Privacy.Epsilon, Colluders: 1}})
		f.Method, f.Privacy = method, privacy
		return f, samples, err
	}
	sigma, err := budget.SigmaFor(clip, w.Rounds, w.Privacy.Epsilon, w.Privacy.Delta, dpmech.GDP)
	if err != nil {
		return nil, nil, err
	}
	f.Privacy = sdk.Privacy{Clip: clip, Sigma: sigma, Delta: w.Privacy.Delta, EpsilonLimit: w.Privacy.Epsilon}
	return f, samples, nil
}
