package sdk

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Plan is a valid [Fleet] with what follows from it: its graphs and their spectra, the penalty weight, and the
// configuration of every member's machine. Nodes, simulations and programs work from a Plan, and check no value of the
// fleet again. A Plan is immutable and safe for concurrent use.
type Plan struct {
	fleet  *Fleet
	graph  *graph.Graph
	noise  *graph.Graph   // pairs that share pairwise noise
	number map[string]int // index in Members by name
	beta   float64
	hash   func() [32]byte // the fleet's hash, computed once
}

var errNoFleet = errors.New("sdk: Fleet is nil")

// Plan reads the fleet. It reports all invalid values at once, each as a [setting.FieldError].
func (f *Fleet) Plan() (*Plan, error) { return f.PlanOn(nil) }

// PlanOn is like Plan. If g is the fleet's graph, the Plan uses g, with what has already been computed of it; otherwise,
// or if g is nil, it makes a graph of its own.
func (f *Fleet) PlanOn(g *graph.Graph) (*Plan, error) {
	if f == nil {
		return nil, errNoFleet
	}
	var errs faults
	f.checkStart(&errs)
	p := f.network(g, &errs)
	f.checkSettings(&errs)
	f.checkPrivacy(&errs)
	f.checkRecords(&errs)
	f.checkPairKeys(&errs)
	if len(errs) == 0 {
		p.derive(&errs)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// Planner is a [Fleet] or a [Plan]. What needs a valid fleet takes either.
type Planner interface{ Plan() (*Plan, error) }

// Plan returns p.
func (p *Plan) Plan() (*Plan, error) { return p, nil }

// Fleet returns the fleet, which must not be changed.
func (p *Plan) Fleet() *Fleet { return p.fleet }

// Graph returns the communication graph.
func (p *Plan) Graph() *graph.Graph { return p.graph }

// peer returns the number of the named member, or -1 if no member has this name.
func (p *Plan) peer(name string) int {
	if j, known := p.number[name]; known {
		return j
	}
	return -1
}

// network reads the members and edges.
func (f *Fleet) network(g *graph.Graph, errs *faults) *Plan {
	fleet, before := *f, len(*errs)
	p := &Plan{fleet: &fleet, number: make(map[string]int, len(f.Members)), hash: sync.OnceValue(fleet.Hash)}
	errs.refuse(len(f.Members) == 0, "members", f.Members, "at least one")
	for i, name := range f.Members {
		j, taken := p.number[name]
		if !validName(name) || taken { // format the field only on error, because a fleet may be large
			field := fmt.Sprintf("members[%d]", i)
			errs.refuse(!validName(name), field, name, "%s", wantName)
			errs.refuse(taken, field, name, "a unique name: members[%d] has the same name", j)
		}
		p.number[name] = i
	}
	edges := make([][2]int, 0, len(f.Edges))
	for n, e := range f.Edges {
		var edge [2]int
		for end, name := range e {
			i, ok := p.number[name]
			if edge[end] = i; !ok {
				errs.refuse(true, fmt.Sprintf("edges[%d][%d]", n, end), name, "the name of a member")
			}
		}
		edges = append(edges, edge)
	}
	switch {
	case len(*errs) > before:
	case g.Has(len(f.Members), edges):
		p.graph = g
	default:
		var err error
		if p.graph, err = graph.New(len(f.Members), edges); err != nil {
			errs.add(fmt.Errorf("sdk: fleet: edges: %w", err))
		}
	}
	return p
}

// derive computes what follows from values that are valid by themselves, and checks it.
func (p *Plan) derive(errs *faults) {
	m := p.fleet.Method
	left := math.MaxInt32 - int64(m.Rounds)*int64(1+m.Mixing)
	errs.refuse(left < 0, "method.mixing", m.Mixing, "at most %d with %d rounds", math.MaxInt32/m.Rounds-1, m.Rounds)
	errs.refuse(left >= 0 && int64(m.Cooldown) > left, "method.cooldown", m.Cooldown, "at most %d, which leaves room for %d rounds with %d rounds of "+
		"mixing after each", left, m.Rounds, m.Mixing)
	p.beta = p.fleet.beta(p.graph)
	errs.add(setting.Step.Check(about, "beta, which follows from gain, rho, tau, eta and mu of the method,", p.beta))
	var err error
	if p.noise, err = p.graph.Partners(p.fleet.Privacy.Partners, m.Seed); err != nil {
		errs.refuse(true, "privacy.partners", p.fleet.Privacy.Partners, "a regular graph of %d members: %v", len(p.fleet.Members), err)
		return
	}
	if !p.fleet.Privacy.NonPrivate {
		p.checkNoise(errs)
	}
}

// beta returns the penalty weight that yields Method.Gain in the round with the largest eta*mu.
func (f *Fleet) beta(g *graph.Graph) float64 {
	m := f.Method
	var step float64
	for k := range max(len(m.Eta), len(m.Mu)) {
		step = max(step, m.Eta.At(k)*m.Mu.At(k))
	}
	gain := g.Gain(m.Gain, m.Rho)
	if !(gain > 0) { // a single client has no neighbors
		return 1
	}
	return gain / (float64(m.Tau) * step)
}

// Machine returns the configuration of a member's machine, without Noise and PairKey. samples is the number of its samples.
func (p *Plan) Machine(client, samples int) (admm.Config, error) {
	if err := p.fleet.checkSamples(client, samples); err != nil {
		return admm.Config{}, err
	}
	return p.machine(client, samples), nil
}

// machine is Machine for a checked number of samples.
func (p *Plan) machine(client, samples int) admm.Config {
	f, m := p.fleet, p.fleet.Method
	cfg := admm.Config{
		Estimator: zoest.Config{
			Dim: f.Dim, Samples: samples, Batch: m.Batch, Directions: m.Directions,
			Kind: m.Estimator, Seed: m.Seed, Client: uint32(client),
			Momentum: m.Momentum, Window: zoest.Window(f.Dim),
		},
		Neighbors: slices.Clone(p.graph.Neighbors(client)), X0: f.X0,
		Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown, Tau: m.Tau, Rho: m.Rho, Beta: p.beta, Eta: m.Eta, Mu: m.Mu,
		NonPrivate: f.Privacy.NonPrivate,
		Members:    len(f.Members),
	}
	if len(cfg.Neighbors) > 0 {
		cfg.Consensus = p.graph.Chebyshev()
	}
	if cfg.Estimator.Batch > samples {
		cfg.Estimator.Batch = 0
	}
	if !f.Privacy.NonPrivate {
		cfg.Privacy, cfg.Records = f.Privacy.Gaussian(), admm.NewRecords(f.Records, f.Privacy.Places)
		cfg.Estimator.Records = f.Privacy.Unit == dpmech.Record
		if f.Privacy.Partners > 0 {
			cfg.Partners = p.noise.Neighbors(client)
		}
		cfg.GridStep = math.Ldexp(f.Privacy.Sigma, -f.wire().GridBits)
	}
	return cfg
}
