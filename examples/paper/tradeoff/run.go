package tradeoff

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/spade-dfl/spade-edge/examples/paper/figure"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// Setting holds the constants of the paper's schedule, which are the same for all T.
type Setting struct {
	Eta0     float64 // eta = Eta0 * T^(-1/2)
	Mu0      float64 // mu = Mu0 * T^(-1/6)
	Gain     float64 // the round gain a_0 = tau*beta*eta*mu, as a share of the stability limit; fixes beta
	Batch    int     // b, the number of queries in a local step
	Centered bool    // each loss minus the previous loss of the same sample
}

// Budget holds the number of local steps that a client makes in total, and the number of local steps between two
// exchanges.
type Budget struct {
	Steps, Tau int // T and tau, a divisor of T
}

// Budgets lists the paper's budgets. For each T, there is one budget with exchanges after every step and one with
// exchanges after every T^(1/3) steps.
var Budgets = [2][]Budget{
	{{1000, 1}, {3375, 1}, {10648, 1}, {29791, 1}},
	{{1000, 10}, {3375, 15}, {10648, 22}, {29791, 31}},
}

// Scalars returns 2|E|dK, the count of numbers that all clients together send in all rounds.
func (b Budget) Scalars() int64 { return 2 * Clients * Dim * int64(b.Steps/b.Tau) }

// Queries returns the number of losses that all clients together query if the batch of each local step has the given
// number of samples.
func (b Budget) Queries(batch int) int64 {
	return Clients * (int64(b.Steps/b.Tau)*Samples + int64(b.Steps)*int64(batch))
}

func fleet(p *Instance, b Budget, s Setting, seed uint64) *sdk.Fleet {
	t := float64(b.Steps)
	f := &sdk.Fleet{
		Run: "tradeoff", Dim: Dim, X0: p.X0,
		Method: sdk.Method{
			Rounds: b.Steps / b.Tau, Tau: b.Tau, Batch: s.Batch, Rho: 1, Gain: s.Gain,
			Eta: admm.Schedule{s.Eta0 / math.Sqrt(t)}, Mu: admm.Schedule{s.Mu0 / sixthRoot(t)}, Seed: seed,
		},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	for i := range Clients {
		f.Members = append(f.Members, strconv.Itoa(i))
	}
	for i := range Clients {
		f.Edges = append(f.Edges, [2]string{f.Members[i], f.Members[(i+1)%Clients]})
	}
	return f
}

// sixthRoot returns t^(1/6) for t >= 1, with the same bits on every processor. It computes the square root, then the
// cube root by Newton's method.
func sixthRoot(t float64) float64 {
	t = math.Sqrt(t)
	r := t
	for range 100 {
		r -= (r - t/float64(r*r)) / 3
	}
	return r
}

// measure performs one run on the instance for a seed, which also determines directions and batches. It returns the
// cost with the two parts of the criterion S_K, eq. (main-rate) of the paper; Series is empty. The result is the same
// on every processor, bit for bit.
func measure(ctx context.Context, b Budget, s Setting, seed uint64) (figure.Cost, error) {
	if b.Tau < 1 || b.Steps < 1 || b.Steps%b.Tau != 0 {
		return figure.Cost{}, fmt.Errorf("tradeoff: the number of local steps is %d, want a positive multiple of %d, "+
			"the number of steps per round", b.Steps, b.Tau)
	}
	p := NewInstance(seed)
	f := fleet(p, b, s, seed)
	samples := make([]int, Clients)
	for i := range samples {
		samples[i] = Samples
	}
	cfgs, err := sim.Machines(f, samples, nil)
	if err != nil {
		return figure.Cost{}, err
	}
	clients := make([]sim.Client, Clients)
	watches := make([]*watch, Clients)
	for i, c := range cfgs {
		watches[i] = &watch{p: p, client: i, mu: f.Method.Mu[0], batch: s.Batch, phi: make([][Dim]float64, b.Tau)}
		watches[i].begin(p.X0)
		c.Estimator.Window = 8
		clients[i] = sim.Client{Config: c, Oracle: watches[i]}
		if s.Centered {
			clients[i].Oracle = method.Centered(watches[i], Samples)
		}
	}
	network, err := sim.New(clients)
	if err != nil {
		return figure.Cost{}, err
	}
	cost := figure.Cost{Steps: b.Steps, Seed: int(seed), Start: p.start()}
	network.Meter = func() func(*admm.Message) (int, error) {
		return func(m *admm.Message) (int, error) { return len(m.Vector), nil }
	}
	var mean, gradient [Dim]float64
	err = network.Run(ctx, func(int) error {
		for t := range b.Tau {
			mean = [Dim]float64{}
			for _, w := range watches {
				for c, v := range &w.phi[t] {
					mean[c] += v
				}
			}
			for c := range mean {
				mean[c] /= Clients
			}
			if t == 0 { // phi^0 is the released model, of which C_k is measured
				for _, w := range watches {
					for c, v := range &w.phi[0] {
						diff := v - mean[c]
						cost.Consensus += float64(diff * diff)
					}
				}
			}
			cost.Stationarity += p.Gradient(&gradient, &mean)
		}
		for i, x := range network.Models() {
			watches[i].begin(x)
		}
		return nil
	})
	cost.Scalars = network.Weight()
	cost.Consensus /= float64(Clients * (b.Steps / b.Tau))
	cost.Stationarity /= float64(b.Steps)
	return cost, err
}
