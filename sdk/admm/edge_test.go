package admm

import (
	"errors"
	"fmt"
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

// sighting is what the neighbor observes in one attempt.
type sighting struct {
	charged bool  // the second release was reserved
	dead    bool  // the machine ended
	steps   int32 // if it did not end: the grid point of the second release
}

// farOut is the largest center, in grid steps, around which no noise can make a release leave the grid. A release
// around this center shows all of its noise.
const farOut = gridLimit - 1 - (0.5+14)*256

// attempt makes two releases. The first uses no data. For the second, the neighbor moves the center to half a sigma
// from the edge of its range; the update is as long as clipping allows, and has the same sign as data.
func attempt(t *testing.T, noise *rng.Stream, data float64) (s sighting) {
	m, err := New(victim(noise))
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := m.Ready()
		if err != nil {
			if !strings.Contains(err.Error(), advice) {
				t.Fatal(err)
			}
			s.dead = true
			return s
		}
		switch {
		case r.Reserve == 2:
			s.charged = true
		case r.Released == 1:
			if err := m.Receive(Message{Kind: Release, From: 0, To: 1, Round: 1, Grid: []int32{farOut - 128}}); err != nil {
				t.Fatal(err)
			}
		case r.Released == 2:
			s.steps = m.grid[0]
			return s
		case len(r.Queries) > 0:
			loss := 0.0
			if m.round > 0 {
				loss = -data * 1e6 * float64(r.Queries[0].Point[0]-m.x[0])
			}
			if err := m.Answer(loss); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// atLeast returns the lower Clopper-Pearson confidence limit: the success probability at which k or more successes in n
// trials have probability alpha.
func atLeast(k, n int, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	ln, _ := math.Lgamma(float64(n + 1))
	lo, hi := 0.0, float64(k)/float64(n)
	for range 40 {
		p, tail := (lo+hi)/2, 0.0
		for i := k; i <= n; i++ {
			li, _ := math.Lgamma(float64(i + 1))
			lr, _ := math.Lgamma(float64(n - i + 1))
			term := math.Exp(ln - li - lr + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
			if tail += term; term < 1e-12*tail {
				break
			}
		}
		if tail < alpha {
			lo = p
		} else {
			hi = p
		}
	}
	return lo
}

// gaussianDelta returns the delta of mu-GDP at epsilon: Dong, Roth and Su, "Gaussian differential privacy", Corollary
// 2.13.
func gaussianDelta(mu, epsilon float64) float64 {
	upper := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	return upper(epsilon/mu-mu/2) - math.Exp(epsilon)*upper(epsilon/mu+mu/2)
}

// refuted returns the events S whose frequencies under the two data sets refute mu-GDP: P[S] exceeds e^epsilon P'[S] +
// delta(epsilon), for either order of the data sets. With probability 1 - alpha, all the confidence limits used hold at
// once.
func refuted[T any](d, adjacent []T, events map[string]func(T) bool, mu, alpha float64) (faults []string) {
	epsilons := []float64{0, 0.5, 1, 1.5, 2, 3}
	each := alpha / float64(len(events)*len(epsilons)*2*2*2)
	count := func(seen []T, event func(T) bool) (k int) {
		for _, s := range seen {
			if event(s) {
				k++
			}
		}
		return k
	}
	for name, event := range events {
		for _, order := range []struct {
			name string
			p, q []T
		}{{"D", d, adjacent}, {"D'", adjacent, d}} {
			k, l, n, m := count(order.p, event), count(order.q, event), len(order.p), len(order.q)
			for _, not := range []bool{false, true} {
				if not {
					k, l = n-k, m-l
				}
				low, high := atLeast(k, n, each), 1-atLeast(m-l, m, each)
				for _, eps := range epsilons {
					if excess := low - math.Exp(eps)*high - gaussianDelta(mu, eps); excess > 0 {
						faults = append(faults, fmt.Sprintf("%s (not: %v), epsilon %v, %s first: above delta by %.2g", name, not, eps,
							order.name, excess))
					}
				}
			}
		}
	}
	return faults
}

// TestCrashOracle makes ten thousand attempts with each of two data sets. No machine may end after a reservation, and
// the distribution of all observations (ended or not, charged or not, the release) must be consistent with the privacy
// claim for one round. The test must also detect a machine that ends beyond the edge and repeats the round without
// charge.
func TestCrashOracle(t *testing.T) {
	attempts := 10_000
	if testing.Short() {
		attempts = 5000
	}
	const mu, alpha = 2 * 0.5 / 1.0, 0.01
	last := int32(farOut)
	var seen [2][]sighting
	var deaths [2][]int // the number of ends per charged round, for a machine that ends at the edge
	for i, data := range []float64{1, -1} {
		noise := rng.New(uint64(11+i), rng.Address{Purpose: rng.Noise})
		died, clamped := 0, 0
		for range attempts {
			s := attempt(t, &noise, data)
			if s.dead && s.charged {
				t.Fatal("dead after the reservation")
			}
			seen[i] = append(seen[i], s)
			if died++; s.steps <= last {
				deaths[i] = append(deaths[i], died-1)
				died = 0
			} else {
				clamped++
			}
		}
		t.Logf("data %v: %d of %d releases are beyond the edge", data, clamped, attempts)
		if clamped < attempts/20 || clamped > attempts*2/3 {
			t.Error("the edge was missed: nothing was tested")
		}
	}
	events := map[string]func(sighting) bool{
		"dead":    func(s sighting) bool { return s.dead },
		"charged": func(s sighting) bool { return s.charged },
	}
	for _, below := range []int32{0, 64, 128, 256, 512, 1024} { // up to four sigma
		events[fmt.Sprintf("at most %d steps below the edge", below)] = func(s sighting) bool { return s.steps >= last-below }
	}
	for _, fault := range refuted(seen[0], seen[1], events, mu, alpha) {
		t.Error(fault)
	}
	old := map[string]func(int) bool{}
	for k := 1; k <= 4; k++ {
		old[fmt.Sprintf("%d deaths", k)] = func(died int) bool { return died >= k }
	}
	faults := refuted(deaths[0], deaths[1], old, mu, alpha)
	if len(faults) == 0 {
		t.Fatal("a client that dies at the edge, and is started again, passes: the test has no power")
	}
	slices.Sort(faults)
	t.Logf("a client that dies at the edge is refuted at %d points, such as %v", len(faults), faults[0])
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
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
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
				if err := m.Answer(make([]float64, len(r.Queries))...); err != nil {
					t.Fatal(err)
				}
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
				if err := m.Answer(losses...); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d releases, %d of them clamped, %d runs clipped", made, clamped, outgrown)
	if min(clamped, outgrown) < 100 {
		t.Error("hardly anything came to its limit: nothing was tested")
	}
}

// TestBeyond compares the vectorized checks with checks of each number.
func TestBeyond(t *testing.T) {
	chance := rng.New(8, rng.Address{Purpose: rng.Generate})
	over := math.Nextafter32(limit, math.MaxFloat32)
	odd := []float32{limit, over, 1e18, 1e19, 2e18, math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN())}
	quick := 0
	for range 20_000 {
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
	if quick < 4000 || quick > 16_000 {
		t.Errorf("%d of 20000 vectors are small", quick)
	}
}
