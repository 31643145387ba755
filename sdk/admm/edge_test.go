package admm

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// A neighbor can choose the public center of a client's release: the release without update and noise. If the client
// ended whenever a release left the grid or the range of numbers, its end would reveal information about the sum of
// update and noise. After each restart the round is already charged and the noise is fresh, so the neighbor could
// repeat the attack arbitrarily often for the price of one release.

// victim is a client with one sample, one dimension and one neighbor (client 0). Here tau*eta*mu*beta = rho = 1, so the
// center of the second release is z,
// which is the neighbor's first release.
func victim(noise *rng.Stream) Config {
	return Config{
		Estimator: zoest.Config{Dim: 1, Samples: 1, Batch: 1, Seed: 7, Client: 1},
		Neighbors: []int{0}, Rounds: 2, Tau: 1,
		Rho: 1, Beta: 4, Eta: Schedule{0.5}, Mu: Schedule{0.5},
		Privacy: dpmech.Gaussian{Clip: 0.5, Sigma: 1}, Noise: noise, GridStep: 1.0 / 256,
	}
}

// farOut is the largest center, in grid steps, around which no noise can make a release leave the grid. A release
// around this center shows all of its noise.
const farOut = gridLimit - 1 - (0.5+14)*256

// attempt makes two releases and returns the second, in grid steps. The first uses no data. For the second, the neighbor
// moves the center; the update is as long as clipping allows, and has the same sign as data.
func attempt(t *testing.T, seed uint64, data float64, center int32) (steps int32) {
	noise := rng.New(seed, rng.Address{Purpose: rng.Noise})
	m := newNetwork(t, []Config{victim(&noise)}).machines[0]
	for {
		r, err := m.Ready()
		switch {
		case err != nil:
			t.Fatalf("noise %d, data %v, center %d: the machine ends: %v", seed, data, center, err)
		case r.Released == 1:
			must(t, m.Receive(Message{Kind: Release, From: 0, To: 1, Round: 1, Grid: []int32{center}}))
		case r.Released == 2:
			return m.grid[0]
		case len(r.Queries) > 0:
			loss := 0.0
			if m.round > 0 {
				loss = -data * 1e6 * float64(r.Queries[0].Point[0]-m.x[0])
			}
			must(t, m.Answer(loss))
		}
	}
}

// TestCrashOracle checks that a neighbor that moves the center to half a sigma from the edge of its range sees the same
// release as with a center of 0, moved by this center, whatever the data and the noise are. The rounding of the center to
// the grid may move it by one more step, which must not depend on the data. No machine may end, because its end would
// depend on update and noise.
func TestCrashOracle(t *testing.T) {
	const edge, attempts = int32(farOut - 128), 2000
	beyond := 0
	for seed := range uint64(attempts) {
		var rounding [2]int32
		for i, data := range []float64{1, -1} {
			moved := attempt(t, seed, data, edge)
			rounding[i] = moved - edge - attempt(t, seed, data, 0)
			if moved > int32(farOut) {
				beyond++
			}
		}
		if rounding[0] != rounding[1] || max(rounding[0], -rounding[0]) > 1 {
			t.Fatalf("noise %d: at the edge, releases are %d steps away from those in the middle, want the same 0 or 1", seed, rounding)
		}
	}
	if beyond < attempts/10 || beyond > attempts*4/3 {
		t.Errorf("%d of %d releases are beyond the edge: nothing was tested", beyond, 2*attempts)
	}
}

// TestNothingReceivedEnds checks that no message can end a machine by moving the center out of range. The run must
// finish with its models within the bound, and the machine must report which release was clipped.
func TestNothingReceivedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *Config)
		msg    Message
		want   int // the release that is clipped
	}{
		"grid": {func(c *Config) { c.Beta = 8 }, Message{Kind: Release, Grid: []int32{gridLimit - 1}}, 2},
		"vector": {func(c *Config) { c.GridStep, c.Beta, c.Rho = 0, 6, 1 },
			Message{Kind: Release, Vector: []float32{1e30}}, 2},
		"no noise": {func(c *Config) {
			c.GridStep, c.Beta, c.NonPrivate, c.Noise, c.Privacy = 0, 6, true, nil, dpmech.Gaussian{}
		}, Message{Kind: Release, Vector: []float32{1e24}}, 2},
		"known bound": {func(c *Config) { c.Members, c.Beta = 2, 8 },
			Message{Kind: Release, Grid: []int32{110}}, 2},
	} {
		noise := rng.New(3, rng.Address{Purpose: rng.Noise})
		cfg := victim(&noise)
		cfg.Privacy = dpmech.Gaussian{Clip: 1e-3, Sigma: 1.0 / 256}
		c.change(&cfg)
		m := newNetwork(t, []Config{cfg}).machines[0]
		for m.round < cfg.Last() {
			r, err := m.Ready()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch {
			case r.Released == 1:
				m.x[0] = 0
				c.msg.Round = 1
				if err := m.Receive(c.msg); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			case len(r.Queries) > 0:
				must(t, m.Answer(make([]float64, len(r.Queries))...))
			}
		}
		if out := m.Outgrown(); out != c.want || !m.Status().Complete {
			t.Errorf("%s: clipped in release %d, want %d: %+v", name, out, c.want, m.Status())
		}
	}
}

// TestNothingFailsAfterReserve checks that nothing fails between the reservation and the release, for every form of
// private run and for messages, losses and noise of every size. The state must be encodable, and messages must be
// within the receivers' limits.
func TestNothingFailsAfterReserve(t *testing.T) {
	chance := rng.New(5, rng.Address{Purpose: rng.Fault})
	pick := func(of ...float64) float64 { return of[chance.IntN(len(of))] }
	made, clamped, outgrown := 0, 0, 0
	for n := range 4000 {
		noise := rng.New(uint64(n), rng.Address{Purpose: rng.Noise})
		cfg := victim(&noise)
		clip := pick(1e-30, 1e-3, 1, 1e20, 1e29, 1e30)
		cfg.Privacy = dpmech.Gaussian{Clip: clip, Sigma: clip * pick(1.0/(1<<20), 0.5, 1, 1<<20)}
		cfg.GridStep = cfg.Privacy.Sigma * pick(0, 0, 1.0/256, 1.0/16, 1)
		cfg.Estimator.Kind = zoest.Kind(chance.IntN(2))
		cfg.Rho, cfg.Beta, cfg.Rounds, cfg.Cooldown = pick(1e-9, 1, 1e9), pick(1e-20, 1, 4, 1e20), 4, 2
		cfg.Consensus = flowing(2, [][2]int{{0, 1}})
		cfg.X0 = []float32{float32(pick(0, 1, -1e30, 1e30))}
		m, err := New(cfg)
		if err != nil {
			if !strings.Contains(err.Error(), "admm: X0: coordinate 0 of the model has become too large") {
				t.Fatal(err)
			}
			continue
		}
		granted := false
		for over := false; !over; {
			r, err := m.Ready()
			if err != nil {
				t.Fatalf("run %d, %+v: after a reservation: %v, %v", n, cfg, granted, err)
			}
			granted = granted && r.Released == 0 || r.Reserve > 0
			for _, msg := range r.Send {
				if beyond(msg.Vector, limit) >= 0 {
					t.Fatalf("run %d, %+v: sends %v", n, cfg, msg.Vector)
				}
			}
			switch {
			case r.Released > 0:
				made++
				s := m.State()
				if !s.finite() || beyond(s.X[:1], limit) >= 0 || cfg.GridStep > 0 && max(s.Grid[0], -s.Grid[0]) > int32(m.cfg.lastStep()) {
					t.Fatalf("run %d, %+v: keeps %+v", n, cfg, s)
				}
				if max(s.X[0], -s.X[0]) == limit || m.cfg.onGrid(m.round) && max(s.Grid[0], -s.Grid[0]) == int32(m.cfg.lastStep()) {
					clamped++
				}
				if over = r.Released == 6; over && m.Outgrown() > 0 {
					outgrown++
				}
				msg := Message{Kind: Release, From: 0, To: 1, Round: m.round}
				if m.cfg.onGrid(m.round) {
					msg.Grid = []int32{int32(pick(0, 1, 1<<30, math.MaxInt32, math.MinInt32))}
				} else {
					msg.Vector = []float32{float32(pick(0, 1, -1, 1e15, 0.9e30, -1e30, 1e30))}
				}
				if err := m.Receive(msg); err != nil && !errors.Is(err, errQuarantine) {
					t.Fatal(err)
				}
			case len(r.Queries) > 0:
				losses := make([]float64, len(r.Queries))
				for i := range losses {
					losses[i] = pick(0, 1, -1e30, 1e30, math.NaN(), math.Inf(1))
				}
				must(t, m.Answer(losses...))
			}
		}
	}
	t.Logf("%d releases, %d of them clamped, %d runs clipped", made, clamped, outgrown)
	if min(clamped, outgrown) < 100 {
		t.Error("hardly anything came to its limit: nothing was tested")
	}
}

// finite reports whether the state's floats can be encoded.
func (s State) finite() bool {
	bad := func(x []float32) bool {
		return slices.ContainsFunc(x, func(x float32) bool { return math.IsInf(float64(x), 0) || x != x })
	}
	return !bad(s.X) && !bad(s.Last) &&
		!slices.ContainsFunc(s.Edges, func(e EdgeState) bool { return bad(e.Z) || bad(e.PeerZ) })
}

// TestBeyond compares the vectorized checks with checks of each number.
func TestBeyond(t *testing.T) {
	chance := rng.New(8, rng.Address{Purpose: rng.Generate})
	over := math.Nextafter32(limit, math.MaxFloat32)
	odd := []float32{limit, over, 1e18, 1e19, 2e18, math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN())}
	quick := 0
	for range 4000 {
		v := make([]float32, chance.IntN(300))
		for i := range v {
			v[i] = float32(chance.Normal())
		}
		for range min(chance.IntN(4), len(v)) {
			v[chance.IntN(len(v))] = odd[chance.IntN(len(odd))] * float32(1-2*chance.IntN(2))
		}
		if small(v) {
			quick++
		}
		for _, most := range []float32{1e24, limit, math.MaxFloat32} {
			want := slices.IndexFunc(v, func(x float32) bool { return !(math.Abs(float64(x)) <= float64(most)) })
			if got := beyond(v, most); got != want {
				t.Fatalf("%v: %d is beyond %v, want %d", v, got, most, want)
			}
		}
		clamped := slices.Clone(v)
		clamp(clamped)
		for i, x := range v {
			if want := max(-limit, min(limit, x)); math.Float32bits(clamped[i]) != math.Float32bits(want) {
				t.Fatalf("%v is clamped to %v, want %v", x, clamped[i], want)
			}
		}
	}
	if quick < 800 || quick > 3200 {
		t.Errorf("%d of 4000 vectors are small", quick)
	}
}
