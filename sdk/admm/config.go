package admm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Config configures one client's machine. All of it except Noise and PairKey is public.
type Config struct {
	Estimator zoest.Config // d, m_i, b_i, the directions and their seed, and the client's number i
	Neighbors []int        // N_i: the numbers of the neighbors, ascending; empty for N = 1
	X0        []float32    // x_0, common to all clients, length d; nil means zeros. It is copied.

	Rounds   int // K, at least 1
	Mixing   int // rounds of pure consensus after each of the K; 0 or more
	Cooldown int // C, further ones after the last; 0 or more
	End      int // if not 0, the last of the Rounds in a run that ends early, see [Machine.Stop]
	Tau      int // tau_i, local steps a round, at least 1

	Rho  float64  // penalty parameter, > 0
	Beta float64  // weight of the penalty in a local step, > 0; stable if tau*beta*eta*mu*rho*lambda_N < 8/3
	Eta  Schedule // step size eta_k, > 0
	Mu   Schedule // smoothing radius mu_k, > 0

	NonPrivate bool            // no clipping and no noise; Privacy must be empty
	Privacy    dpmech.Gaussian // R and sigma of every round with data
	Records    Records         // the public numbers of records, if Privacy protects each of them
	Noise      io.Reader       // uniform random bytes of the release noise; nil exactly if NonPrivate
	// PairKey returns the key of the noise that this client and a neighbor share in a release; see [dpmech.Pair]. The end
	// with the lower number adds the noise. If any key is missing, the release has local noise only:
	// [dpmech.Gaussian.Alone]. PairKey is nil exactly if Privacy shares no noise.
	PairKey func(peer, release int) (key [32]byte, ok bool)
	// Partners, if not nil, are the clients with which this one shares noise in place of its neighbors, ascending, whatever
	// becomes of its edges. With more keys missing than [dpmech.Shared].Absent, the release has local noise only.
	Partners []int
	// Paired, if not nil, reports whether the keys of a release are agreed. Until then the client waits with the first
	// release since its start that shares noise.
	Paired func(release int) bool

	// Releases makes messages carry the released state, the same for all neighbors, in place of m_ij of eq. (9). Each end
	// then stores and updates both z_ij and z_ji, so the models have the same bits.
	Releases bool
	// GridStep, if not 0, rounds the noised update and the public part of each private release to multiples of it:
	// sigma/2^12 to sigma. Cool-down releases are not rounded, as a grid would freeze disagreement at its step.
	GridStep float64

	// Probe makes the client ask every neighbor, before its first release, which release of this client it holds. A later
	// one than this client knows ends the machine with a [RollbackError]. Simulations do not need it.
	Probe       bool
	Incarnation uint64 // with Probe, a number below 2^48 that no earlier process had; replies to others are ignored
	// Epoch is how many devices of this client were replaced before this one, 0..[MaxTakeovers]. A neighbor that knows a
	// later epoch answers a probe so that the machine ends with a [RollbackError]. In a private run only epoch 0 makes
	// releases with data, as a lost device may have made them.
	Epoch     uint16
	Average   bool      // computes the mean of all releases so far (after a takeover: from State.Recovered on)
	Consensus Consensus // if not nil, the steps of mixing and cool-down; needs Releases, excludes Robust
	Shrink    float64   // threshold of the last release's model, for each root of the rounds with data: see [Machine.Model]

	// Robust, if not 0, is 1 or more: over the whole run so far, a neighbor moves this client no farther from the median of
	// all neighbors than Robust times the median of their distances from it. Where nobody exceeds that, no bit changes. With
	// b malicious ones of n neighbors, 2b < n+1, their influence is bounded by that of the honest ones. See sdk/ROBUST.md.
	Robust  float64
	Members int // N if not 0, for the public bound, to which every release is clipped: see [Config.Impossible]
}

// fallbackLoss replaces a loss that is unavailable in a private run, where silence would reveal something about the data.
const fallbackLoss = 0.0

// Learning returns the number of the last release before the cool-down: K*(1+Mixing), or End*(1+Mixing).
func (c *Config) Learning() int { return c.rounds() * (1 + c.Mixing) }

// Last returns the number of the last release: C more than Learning.
func (c *Config) Last() int { return c.Learning() + c.Cooldown }

// Data returns how many of the first releases touch data. In a private run only these have noise and a cost.
func (c *Config) Data(releases int) int { return min(c.rounds(), (releases+c.Mixing)/(1+c.Mixing)) }

// Schedule is a parameter over the rounds: one value for all, or one for each.
type Schedule []float64

// At returns the value of round k; rounds past the end have the last one.
func (s Schedule) At(k int) float64 { return s[min(k, len(s)-1)] }

// Check returns a [setting.FieldError] for each value out of range, joined, or for a wrong number of values.
func (s Schedule) Check(pkg, field string, rounds int) error {
	if len(s) != 1 && len(s) != rounds {
		return &setting.FieldError{Package: pkg, Field: field, Found: fmt.Sprintf("a list of %d values", len(s)),
			Want: fmt.Sprintf("one number, or one for each of %d rounds", rounds)}
	}
	if len(s) == 1 {
		return setting.Step.Check(pkg, field, s[0])
	}
	var errs []error
	for k, x := range s {
		errs = append(errs, setting.Step.Check(pkg, fmt.Sprintf("%s[%d]", field, k), x))
	}
	return errors.Join(errs...)
}

// UnmarshalJSON reads one number for all rounds, or an array of one for each.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	one := make(Schedule, 1)
	if json.Unmarshal(text, &one[0]) == nil {
		*s = one
		return nil
	}
	if json.Unmarshal(text, (*[]float64)(s)) != nil {
		return errors.New("eta or mu is not a number, nor an array of one number for each round")
	}
	return nil
}

// Validate reports all errors of the configuration together.
func (c Config) Validate() error {
	check := func(field string, r setting.Range, x float64) error { return r.Check("admm", field, x) }
	errs := []error{
		c.Estimator.Validate(), check("Rho", setting.Rho, c.Rho), check("Rounds", setting.Rounds, float64(c.Rounds)),
		check("Cooldown", setting.Cooldown, float64(c.Cooldown)), check("Mixing", setting.Mixing, float64(c.Mixing)),
		check("Tau", setting.Tau, float64(c.Tau)), check("Beta", setting.Step, c.Beta),
		c.Eta.Check("admm", "Eta", c.Rounds), c.Mu.Check("admm", "Mu", c.Rounds), check("Robust", setting.Robust, c.Robust),
	}
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("admm: "+format, args...))
		}
	}
	clients := func(what string, list []int) {
		for i, j := range list {
			refuse(j < 0 || int64(j) > math.MaxUint32, "%s %d, want a client number of 0..2^32-1", what, j)
			refuse(int64(j) == int64(c.Estimator.Client), "client %d is its own %s", j, what)
			refuse(i > 0 && list[i-1] >= j, "%ss %v are not in ascending order without repeats", what, list)
		}
	}
	clients("neighbor", c.Neighbors)
	clients("partner", c.Partners)
	refuse(c.Partners != nil && c.PairKey == nil, "Partners %v without PairKey: no noise is shared", c.Partners)
	refuse(c.X0 != nil && len(c.X0) != c.Estimator.Dim, "X0 has length %d, want %d", len(c.X0), c.Estimator.Dim)
	if i := beyond(c.X0, limit); i >= 0 {
		refuse(true, "X0[%d] is %v, want a number of size at most %v", i, c.X0[i], limit)
	}
	refuse(c.End < 0 || c.End > max(0, c.Rounds), "End is %d, want 0, or 1..%d", c.End, c.Rounds)
	refuse(c.Cooldown >= 0 && int64(c.Rounds)*int64(1+c.Mixing) > math.MaxInt32-int64(c.Cooldown),
		"Rounds %d and Cooldown %d, want at most %d releases with Mixing %d", c.Rounds, c.Cooldown, math.MaxInt32, c.Mixing)

	refuse(c.NonPrivate && (c.Privacy != dpmech.Gaussian{} || c.Noise != nil),
		"NonPrivate together with Privacy or Noise: choose one")
	refuse(!c.NonPrivate && c.Noise == nil, "Noise is nil, want a source of random bytes (or NonPrivate)")
	refuse(c.GridStep != 0 && c.NonPrivate, "GridStep is %v in a run without noise", c.GridStep)
	shared := c.Privacy.Shared != dpmech.Shared{}
	refuse(shared != (c.PairKey != nil), "PairKey is set: %v, want it exactly if noise is shared, which is %v", c.PairKey != nil,
		shared)
	c.checkRecords(refuse)
	if g := c.Privacy; !c.NonPrivate {
		err := g.Validate()
		refuse(err != nil, "Privacy: %w (or NonPrivate)", err)
		refuse(err == nil && c.GridStep != 0 && !(c.GridStep >= g.Alone().Sigma/(1<<12) && c.GridStep <= g.Sigma),
			"GridStep is %v, want sigma/2^12..sigma, and sigma is %v, and %v without shared noise", c.GridStep, g.Sigma,
			g.Alone().Sigma)
	}
	refuse(c.Consensus != nil && !c.Releases, "Consensus without Releases: flows need the neighbors' models")
	refuse(c.Consensus != nil && c.Robust > 0, "Consensus with Robust %v: the bound is on the method's own steps", c.Robust)
	refuse(!(c.Shrink >= 0 && c.Shrink <= limit), "Shrink is %v, want 0..%v", c.Shrink, limit)
	refuse(c.Shrink > 0 && c.NonPrivate, "Shrink is %v in a run without noise", c.Shrink)
	refuse(c.Incarnation >= 1<<48, "Incarnation is %#x, want less than 2^48", c.Incarnation)
	return errors.Join(errs...)
}

// onGrid reports whether a release lies on the grid.
func (m *Machine) onGrid(release int) bool { return m.cfg.GridStep != 0 && release <= m.cfg.Learning() }

// limit bounds every coordinate that is received or sent, so that results stay finite.
const limit = 1e30

// small reports, by the sum of squares, that no number is NaN or as large as 2e18, far below all limits.
func small(v []float32) bool { return vec.SumSquares(v) <= 1e36 }

// beyond returns the index of the first NaN or number of size above most, or -1. most is 2e18 or more.
func beyond(v []float32, most float32) int {
	if small(v) {
		return -1
	}
	top := math.Float32bits(most)
	for i, x := range v { // bits of absolute values are ordered like the numbers, and NaN is above all
		if math.Float32bits(x)&^(1<<31) > top {
			return i
		}
	}
	return -1
}
