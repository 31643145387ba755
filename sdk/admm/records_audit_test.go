package admm

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// A black-box audit of record-level privacy. An adversary knows all data except one record of member 0, and all public
// numbers. It sees every release and, with pairwise noise, the noise that a colluder shares with the other members. In
// each of many games it sees a whole run of the real machines with one of two values of that record. It guesses the
// value by the likelihood ratio, which is its best test and is linear here. Its errors imply a mu of Gaussian
// differential privacy, which must not exceed the charged mu. With each mutation the implied mu must exceed the charged
// mu.

// recordGame configures one kind of game.
type recordGame struct {
	members, dim, places int
	form                 func(c *Config)
	shared               bool // pairwise noise, with member 0's last neighbor as a colluder
	overlay              bool // the colluder is the only neighbor of each other member
	single               bool // the adversary uses only member 0's releases
	crash                bool // member 0 is restored from its state after a random release
	edits                bool // after each release, member 0's lines change places, others are replaced, and it is restored
	forgetful            bool // as it must be after an edit; otherwise memory of other data is kept
	loss                 func(world int, x []float32) float64
	plant                func(m *Machine) // a mutation at member 0, when the update is known and not yet clipped
}

const (
	auditRounds = 4
	auditRadius = 0.01
)

// privacy returns the parameters of a game's noise, from which the charged mu follows.
func (g recordGame) privacy() dpmech.Gaussian {
	p := dpmech.Gaussian{Clip: auditRadius, Sigma: 4 * auditRadius, Unit: dpmech.Record}
	if g.shared { // members 0 and 1 are honest: see TestRecordAudit
		s, w := p.Sigma, 2*p.Sigma
		p.Shared = dpmech.Shared{Sigma: w, Colluders: 1, Effective: math.Sqrt((s*s*s*s+2*s*s*w*w)/(s*s+w*w)) * (1 - 1e-12)}
	}
	return p
}

// claimed returns the mu charged for all releases.
func (g recordGame) claimed() float64 {
	return math.Sqrt(2 * g.privacy().Total(auditRounds).Rho)
}

// configs returns the configurations of a kind of game. Noise and keys follow from the seed, which each game sets anew.
func (g recordGame) configs(seed *uint64) []Config {
	var edges [][2]int
	for i := range g.members {
		for j := range i {
			if !g.overlay || i == g.members-1 {
				edges = append(edges, [2]int{j, i})
			}
		}
	}
	p, places := g.privacy(), max(1, g.places)
	return configs(g.members, edges, perRecord(p, func(i int, c *Config) {
		units := 2 + i%3 // member 0 has fewer records than the mean
		c.Estimator.Dim, c.Estimator.Samples, c.Estimator.Seed = g.dim, units*places, 1
		c.Rounds, c.Cooldown, c.Tau, c.Mu = auditRounds, 0, min(8, 4*g.dim), Schedule{0.25} // covers all axes with either sign
		c.Records = Records{Mean: 3, Most: 4, Places: places}
		if i > 0 { // the adversary knows their updates
			c.Tau = 1
		}
		c.Beta, c.Eta = 0.1, Schedule{0.5}
		if g.shared {
			c.PairKey = func(peer, release int) [32]byte { return auditKey(*seed, i, peer, release) }
		}
		for j := range g.members {
			if g.overlay && j != i {
				c.Partners = append(c.Partners, j)
			}
		}
		g.form(c)
	}))
}

func auditKey(seed uint64, i, j, release int) (key [32]byte) {
	return [32]byte{byte(min(i, j)), byte(max(i, j)), byte(release), byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)}
}

// play plays one game and returns the adversary's test statistic.
func (g recordGame) play(t *testing.T, cfgs []Config, world int, seed uint64) float64 {
	for i := range cfgs {
		random := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		cfgs[i].Noise = &random
	}
	net := newNetwork(t, cfgs)
	at, slope := 0, 10.0 // the place of the replaced record, and the loss of each other record
	net.loss = func(client int, x []float32, sample int) float64 {
		if client == 0 && sample/max(1, g.places) == at { // the replaced record
			return g.loss(world, x)
		}
		return slope * float64(x[0])
	}
	var memory []float32
	net.reserved = func(i int) {
		if i == 0 && g.plant != nil {
			rows, _ := net.machines[0].est.Rows()
			memory = append(memory[:0], rows...)
			g.plant(net.machines[0])
		}
	}
	sum, when := 0.0, 1+int(seed%auditRounds)
	var before *State
	net.released = func(i, round int) {
		m := net.machines[i]
		sum += g.weight(i) * (float64(m.x[0]) - float64(m.center[0]) - g.known(t, cfgs, seed, i, round))
		if i > 0 {
			return
		}
		if g.plant != nil {
			rows, _ := m.est.Rows()
			copy(rows, memory)
		}
		if state := m.State().copied(); g.crash || g.edits {
			if g.edits {
				at, slope = (at+1)%cfgs[0].units(), -slope
			}
			if g.forgetful {
				state.Forget(cfgs[0])
			}
			if round == when || g.edits {
				restored, err := Restore(cfgs[0], state, before)
				must(t, err)
				net.machines[0] = restored
			}
			before = &state
		}
	}
	for net.machines[0].round < auditRounds {
		must(t, net.round())
		net.sent = net.sent[:0]
	}
	return sum
}

// weight returns the coefficient of a member's release in the likelihood ratio: the member's entry, up to a common
// factor, in the column of member 0 of an inverse covariance matrix. The matrix is that of the noise that the adversary
// does not know.
func (g recordGame) weight(member int) float64 {
	if !g.shared || g.single {
		return []float64{1, 0}[min(member, 1)]
	}
	s, w := 1.0, 2.0
	return []float64{s*s + w*w, w * w, 0}[min(member, 2)]
}

// known returns the first coordinate of the noise that member i shares with the colluder in a release. The colluder is
// the last member.
func (g recordGame) known(t *testing.T, cfgs []Config, seed uint64, i, round int) float64 {
	last := g.members - 1
	if !g.shared || i == last {
		return 0
	}
	released := func(pairs ...dpmech.Pair) float64 {
		random := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: 1000})
		m, err := dpmech.NewMechanism(g.dim, &random)
		dst := make([]float32, g.dim)
		if err == nil {
			err = m.Release(dst, dpmech.Rows{Factor: 1, Most: 4}, cfgs[i].Privacy, pairs...)
		}
		must(t, err)
		return float64(dst[0])
	}
	return released(dpmech.Pair{Key: auditKey(seed, i, last, round), Subtract: i > last}) - released()
}

// measure plays pairs of games, one in each world, with the same noise, and returns the mu that the adversary's errors
// imply, and its standard error. It assumes nothing about the statistic's distribution. With the same noise, the adversary
// errs in one world or in the other, but never in both, so the variance of the sum of both errors is about half of what it
// would be with different noise in each game.
func (g recordGame) measure(t *testing.T, pairs int) (mu, se float64) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // each game makes a new network, as in crash
	var seed uint64
	cfgs := g.configs(&seed)
	sums := make([][2]float64, pairs)
	for ; seed < uint64(pairs); seed++ {
		sums[seed] = [2]float64{g.play(t, cfgs, 0, seed), g.play(t, cfgs, 1, seed)}
	}
	// The threshold comes from separate games, which do not count in the result.
	tenth, middle := pairs/10, 0.0
	for _, s := range sums[:tenth] {
		middle += (s[0] + s[1]) / float64(2*tenth)
	}
	n, right, both := float64(pairs-tenth), [2]float64{0.5, 0.5}, 0.0
	for _, s := range sums[tenth:] {
		if s[0] <= middle {
			right[0]++
		}
		if s[1] > middle {
			right[1]++
		}
		if s[0] <= middle && s[1] > middle {
			both++
		}
	}
	variance, slope := 0.0, [2]float64{}
	for world := range right {
		p := right[world] / (n + 1)
		z := math.Sqrt2 * math.Erfinv(2*p-1)
		mu += z
		right[world], slope[world] = p, math.Sqrt(2*math.Pi)*math.Exp(z*z/2)
		variance += p * (1 - p) / n * slope[world] * slope[world]
	}
	variance += 2 * (both/n - right[0]*right[1]) / n * slope[0] * slope[1]
	return math.Abs(mu), math.Sqrt(variance)
}

func auditGames() int {
	if os.Getenv("SPADE_LONG") == "" || testing.Short() {
		return 500
	}
	return 12000
}

// steep is the loss of a record whose row lies entirely along the first axis, in a direction that depends on world.
func steep(world int, x []float32) float64 { return []float64{1e3, -1e3}[world] * float64(x[0]) }

// cliff is steep with the largest slope that usable losses allow.
func cliff(world int, x []float32) float64 { return 1e12 * steep(world, x) }

// step is like steep, but between 0 and 1.
func step(world int, x []float32) float64 {
	if steep(world, x) > 0 {
		return 1
	}
	return 0
}

// hazard is a quarter of the negative logarithm of the probability that a patient has the event (world 1) or has survived
// (world 0), for large numbers in all columns, and at most 16 ln 2, as in package survival of the program.
func hazard(world int, x []float32) float64 {
	z := 0.0
	for _, v := range x {
		z += 1e3 * float64(v)
	}
	return min(16*math.Ln2, math.Log1p(math.Exp([]float64{1, -1}[world]*z))/4)
}

// TestRecordAudit checks that replacing one record reveals no more than the charged mu, and nearly that much if the
// record moves the update as far as possible.
func TestRecordAudit(t *testing.T) {
	hostile := func(world int, x []float32) float64 {
		if world == 1 {
			return []float64{math.NaN(), 1e30, math.Inf(-1)}[int(math.Abs(float64(x[0]))*1e6)%3]
		}
		return 1e3 * float64(x[0])
	}
	tracking := func(c *Config) { c.Estimator.Kind, c.Estimator.Directions = zoest.Tracking, zoest.Walsh }
	longer := func(c *Config) { tracking(c); c.Tau = 16 }
	games := map[string]struct {
		game  recordGame
		tight bool
	}{
		"tracking d=3 N=5":         {recordGame{members: 5, dim: 3, form: tracking, loss: steep, crash: true}, true},
		"tracking d=2 hostile":     {recordGame{members: 3, dim: 2, form: tracking, loss: hostile, crash: true}, false},
		"paper d=1 off grid":       {recordGame{members: 3, dim: 1, form: func(c *Config) { c.GridStep = 0 }, loss: steep}, true},
		"persons":                  {recordGame{members: 3, dim: 1, places: 2, form: tracking, loss: steep, crash: true}, true},
		"pairwise noise d=1":       {recordGame{members: 3, dim: 1, form: tracking, loss: steep, shared: true, crash: true}, true},
		"overlay":                  {recordGame{members: 3, dim: 1, form: tracking, loss: steep, shared: true, overlay: true, crash: true}, true},
		"edited lines d=3":         {recordGame{members: 3, dim: 3, form: tracking, loss: cliff, edits: true, forgetful: true}, true},
		"edited lines d=7 in 0..1": {recordGame{members: 3, dim: 7, form: longer, loss: step, edits: true, forgetful: true}, true},
		"hazards d=1":              {recordGame{members: 3, dim: 1, form: tracking, loss: hazard, crash: true}, true},
		"hazards d=3 edited":       {recordGame{members: 3, dim: 3, form: tracking, loss: hazard, edits: true, forgetful: true}, false},
		"pairwise noise, hostile":  {recordGame{members: 3, dim: 2, form: tracking, loss: hostile, shared: true, crash: true}, false},
	}
	for name, c := range games {
		t.Run(name, func(t *testing.T) {
			mu, se := c.game.measure(t, auditGames())
			claimed := c.game.claimed()
			t.Logf("mu %.3f (standard error %.3f), charged %.3f", mu, se, claimed)
			if mu > claimed+4*se {
				t.Errorf("mu is %.3f (standard error %.3f), and %.3f is charged", mu, se, claimed)
			}
			if c.tight && mu < 0.85*claimed-4*se {
				t.Errorf("mu is %.3f (standard error %.3f) of %.3f: the audit sees too little", mu, se, claimed)
			}
		})
	}
}

// TestRecordAuditFindsPlantedErrors checks that the audit finds mutations. Of each it plays as many games as leave the
// mu that it finds about 6.5 standard errors above the charged mu, so that it finds the mutation in 99 of 100 sets of games.
func TestRecordAuditFindsPlantedErrors(t *testing.T) {
	tracking := func(c *Config) { c.Estimator.Kind, c.Estimator.Directions = zoest.Tracking, zoest.Walsh }
	base := recordGame{members: 3, dim: 1, form: tracking, loss: steep}
	plant := func(name string, games int, g recordGame, do func(m *Machine, rows []float32)) {
		t.Run(name, func(t *testing.T) {
			g.plant = func(m *Machine) {
				rows, _ := m.est.Rows()
				do(m, rows)
			}
			mu, se := g.measure(t, games)
			t.Logf("mu %.3f (standard error %.3f), charged %.3f", mu, se, g.claimed())
			if mu <= g.claimed()+4*se {
				t.Errorf("mu is %.3f (standard error %.3f), and the charged %.3f: not found", mu, se, g.claimed())
			}
		})
	}
	shared := base
	shared.shared, shared.overlay, shared.single = true, true, true
	plant("an overlay of neighbors alone", 1400, shared, func(m *Machine, _ []float32) { m.cfg.Partners = m.cfg.Neighbors })
	plant("clipped after the mean", 250, base, func(m *Machine, rows []float32) {
		m.cfg.Privacy.Clip = auditRadius * float64(m.cfg.units())
		for h := m.cfg.units() - 1; h > 0; h-- { // d is 1
			rows[0] += rows[h]
			rows[h] = 0
		}
	})
	plant("trust of all records", 650, base, func(m *Machine, rows []float32) {
		if rows[0] < 0 {
			clear(rows[1:])
		}
	})
	plant("own records in place of the mean", 650, base, func(m *Machine, rows []float32) {
		m.cfg.Privacy.Clip = auditRadius * 3 / float64(m.cfg.units())
		m.cfg.Records.Mean = float64(m.cfg.units())
	})
	edited := base
	edited.dim, edited.loss, edited.edits = 3, cliff, true
	plant("memory of other lines", 450, edited, func(*Machine, []float32) {})
	persons := base
	persons.places = 2
	plant("a person's rows clipped apart", 250, persons, func(m *Machine, rows []float32) {
		m.cfg.Records.Places, m.cfg.Records.Most = 1, 2*m.cfg.Records.Most
	})
}

// TestRecordSumIsExact checks that the sum over records is exact, and therefore the same in any order, because it is a
// sum of integers. TestRecordAudit could not detect a sum of floats.
func TestRecordSumIsExact(t *testing.T) {
	cfgs := configs(1, nil, perRecord(dpmech.Gaussian{Clip: 0.01, Sigma: 0.01}, func(i int, c *Config) {
		c.Estimator.Kind, c.Estimator.Samples, c.Records = zoest.Tracking, 6, Records{Mean: 6, Most: 6}
	}))
	release := func(turn bool) string {
		random := rng.New(5, rng.Address{Purpose: rng.Noise})
		cfgs[0].Noise = &random
		net := newNetwork(t, cfgs)
		net.reserved = func(int) {
			rows, _ := net.machines[0].est.Rows()
			for at := 0; turn && at < 3; at++ {
				a, b := rows[5*at:5*at+5], rows[5*(5-at):5*(5-at)+5]
				kept := slices.Clone(a)
				copy(a, b)
				copy(b, kept)
			}
		}
		if _, err := net.drive(0); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(net.machines[0].grid)
	}
	if a, b := release(false), release(true); a != b {
		t.Errorf("the order of records shows: %s and %s", a, b)
	}
}

// units returns how many records, or persons, the client has.
func (c *Config) units() int { return c.Estimator.Samples / max(1, c.Records.Places) }
