package admm

import (
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// reference is an unoptimized float64 implementation of the paper's Algorithm 1 at one client. It learns directions and
// batches from the machine's queries. To test eq. (local-update), it checks that every query differs by mu, in each
// coordinate, from the iterate that reference computes.
type reference struct {
	cfg   Config
	x     []float64
	z     map[int][]float64
	flow  map[int][]float64
	table [][]float64

	phi, s, p []float64
	asked     int
	batch     [][2]any // the sample and the new row of each query of the step
	t         *testing.T
}

func newReference(t *testing.T, cfg Config) *reference {
	r := &reference{cfg: cfg, x: make([]float64, cfg.Estimator.Dim), z: map[int][]float64{}, flow: map[int][]float64{}, t: t}
	for i := range cfg.X0 {
		r.x[i] = float64(cfg.X0[i])
	}
	for _, j := range cfg.Neighbors {
		r.z[j], r.flow[j] = scaled(cfg.Rho, r.x), make([]float64, len(r.x))
	}
	r.begin()
	return r
}

func scaled(a float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = a * x[i]
	}
	return y
}

func (r *reference) begin() {
	r.p = scaled(r.cfg.Rho*float64(len(r.z)), r.x)
	for _, z := range r.z {
		for i := range z {
			r.p[i] -= z[i]
		}
	}
	r.phi = scaled(1, r.x)
	r.s = make([]float64, len(r.x))
	r.table = make([][]float64, r.cfg.Estimator.Samples)
	r.asked, r.batch = 0, nil
}

func (r *reference) query(k int, point []float32, h int, loss float64) {
	mu := r.cfg.Mu.At(k)
	row := make([]float64, len(point))
	for i := range point {
		u := (float64(point[i]) - r.phi[i]) / mu
		if math.Abs(math.Abs(u)-1) > 1e-4 {
			r.t.Fatalf("client %d, round %d, query %d: coordinate %d is %v mu away from the iterate, want 1",
				r.cfg.Estimator.Client, k, r.asked, i, u)
		}
		row[i] = math.Copysign(1, u) * loss
	}
	m, b := r.cfg.Estimator.Samples, r.cfg.Estimator.Batch
	r.asked++
	if r.asked <= m {
		if h != r.asked-1 {
			r.t.Fatalf("query %d of the table is for sample %d", r.asked-1, h)
		}
		r.table[h] = row // eq. (memory-initialization)
		return
	}
	r.batch = append(r.batch, [2]any{h, row})
	if len(r.batch) < b {
		return
	}
	// This computes eq. (memory-estimator).
	v := make([]float64, len(row))
	for _, entry := range r.table {
		for i := range v {
			v[i] += entry[i] / float64(m)
		}
	}
	seen := map[int]bool{}
	for _, entry := range r.batch {
		h, q := entry[0].(int), entry[1].([]float64)
		if seen[h] {
			r.t.Fatalf("sample %d twice in one batch", h)
		}
		seen[h] = true
		for i := range v {
			v[i] += (q[i] - r.table[h][i]) / float64(b)
		}
	}
	for _, entry := range r.batch {
		r.table[entry[0].(int)] = entry[1].([]float64)
	}
	r.batch = nil
	eta := r.cfg.Eta.At(k)
	for i := range v {
		r.phi[i] -= eta * (v[i] + mu*r.cfg.Beta*r.p[i])
		r.s[i] -= eta * v[i]
	}
}

// release applies eq. (private-release) with the given noise. It returns the messages to the neighbors, eq. (message).
func (r *reference) release(k int, nu []float64) map[int][]float64 {
	if !r.cfg.NonPrivate && k < r.cfg.Rounds {
		var norm float64
		for _, v := range r.s {
			norm += v * v
		}
		if norm = math.Sqrt(norm); norm > r.cfg.Privacy.Clip {
			r.s = scaled(r.cfg.Privacy.Clip/norm, r.s)
		}
	}
	if k >= r.cfg.Rounds { // the cool-down
		for _, flow := range r.flow {
			for i, f := range flow {
				r.x[i] += f
			}
		}
		return nil
	}
	gain := float64(r.cfg.Tau) * r.cfg.Eta.At(k) * r.cfg.Mu.At(k) * r.cfg.Beta
	for i := range r.x {
		r.x[i] += -gain*r.p[i] + r.s[i] + nu[i]
	}
	out := map[int][]float64{}
	for j, z := range r.z {
		out[j] = scaled(1, z)
		for i := range z {
			out[j][i] -= 2 * r.cfg.Rho * r.x[i]
		}
	}
	return out
}

// settle updates the flow from one neighbor before round t of the cool-down.
func (r *reference) settle(j int, xj []float64, t int) {
	carry, weight := r.cfg.Consensus.Cooldown(t)
	for i := range xj {
		r.flow[j][i] = carry*r.flow[j][i] + weight*(xj[i]-r.x[i])
	}
}

// receive applies eq. (z-update) for one neighbor.
func (r *reference) receive(j int, msg []float64) {
	for i := range msg {
		r.z[j][i] = (r.z[j][i] - msg[i]) / 2
	}
}

// TestMachineAgainstReference compares a machine with its reference, query by query and release by release. The cases
// include runs with and without noise, schedules, a nonzero start, clients that differ in samples, batch and local
// steps, and a client without neighbors, which sends nothing.
func TestMachineAgainstReference(t *testing.T) {
	g := dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}
	for name, change := range map[string]func(i int, c *Config){
		"non-private": nil,
		"alone":       nil,
		"private":     private(g),
		"schedules": func(_ int, c *Config) {
			c.Eta, c.Mu = Schedule{0.5, 0.4, 0.3, 0.3, 0.2, 0.1}, Schedule{0.4, 0.4, 0.3, 0.3, 0.2, 0.2}
		},
		"unequal clients": func(i int, c *Config) {
			c.Tau, c.Estimator.Batch = 1+i, 1+i
			c.X0 = []float32{1, -2, 0.5, 0.25, 3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfgs := configs(4, kite, change)
			if name == "alone" {
				cfgs = configs(1, nil, change)
			}
			net := newNetwork(t, cfgs)
			var refs []*reference
			for _, c := range cfgs {
				refs = append(refs, newReference(t, c))
			}
			round := 0
			net.loss = func(client int, x []float32, sample int) float64 {
				loss := lossFunc(client, x, sample)
				refs[client].query(round, x, sample, loss)
				return loss
			}
			noise := make([]*dpmech.Mechanism, len(cfgs))
			for i := range noise {
				noise[i], _ = dpmech.NewMechanism(5, noiseOf(i))
			}
			for ; round < net.machines[0].last(); round++ {
				must(t, net.round())
				messages := make([]map[int][]float64, len(refs))
				for i, r := range refs {
					nu := make([]float64, 5)
					if !r.cfg.NonPrivate && round < r.cfg.Rounds {
						zero := make([]float32, 5) // the release of a zero vector is only noise
						must(t, noise[i].Release(zero, dpmech.Whole(zero), g))
						for j := range nu {
							nu[j] = float64(zero[j])
						}
					}
					messages[i] = r.release(round, nu)
				}
				for i, r := range refs {
					for _, j := range r.cfg.Neighbors {
						if t := round + 1 - r.cfg.Rounds; t >= 0 {
							r.settle(j, refs[j].x, t)
						} else {
							r.receive(j, messages[j][i])
						}
					}
					r.begin()
					for j, want := range r.x {
						if got := float64(net.machines[i].Model()[j]); math.Abs(got-want) > 2e-5*(1+math.Abs(want)) {
							t.Fatalf("round %d, client %d: x[%d] = %v, want %v", round, i, j, got, want)
						}
					}
				}
			}
			if name == "alone" && len(net.sent) > 0 {
				t.Errorf("%d messages of a client without neighbors", len(net.sent))
			}
		})
	}
}
