package admm

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Config is what one client's machine has to know. All of it but Noise is public.
type Config struct {
	Estimator zoest.Config // d, m_i, b_i, the directions and their seed, and the client's number i
	Neighbors []int        // N_i: the numbers of the neighbors, ascending; empty for N = 1
	X0        []float32    // x_0, common to all clients, length d; nil means zeros. It is copied.

	Rounds   int // K, at least 1
	Mixing   int // rounds of pure consensus after each of the K; 0 or more
	Cooldown int // C, further ones after the last; 0 or more
	// End, if not 0, is the last of the Rounds: the members have agreed to end the run early, see [Machine.Stop].
	End int
	Tau int // tau_i, local steps a round, at least 1

	Rho float64 // penalty parameter, > 0
	// weight of the penalty in a local step, > 0; tau*beta*eta*mu*rho*lambda_N < 8/3 makes the network stable
	Beta float64
	Eta  Schedule // step size eta_k, > 0
	Mu   Schedule // smoothing radius mu_k, > 0

	// NonPrivate is the only way to a run without noise: then Privacy must be empty and nothing is clipped.
	NonPrivate bool
	Privacy    dpmech.Gaussian // R and sigma of every round with data
	Records    Records         // what is public of the records, if Privacy protects each of them
	Noise      io.Reader       // uniform random bytes of the release noise; nil exactly if NonPrivate
	// PairKey returns the key of the noise that this client shares with a neighbor in a release, which only the two of them
	// know; see [dpmech.Pair]. The one with the lower number adds the noise. If a key of one neighbor is missing, the
	// release shares noise with none, and has more of its own: [dpmech.Gaussian.Alone]. It is nil exactly if Privacy shares
	// none.
	PairKey func(peer, release int) (key [32]byte, ok bool)

	// Releases makes messages carry the released state itself in place of m_ij of eq. (9). Each end then stores both z_ij
	// and z_ji and takes the steps of both, so that the models are the same to the bit, for one vector that all neighbors
	// get.
	Releases bool
	// GridStep, if not 0, puts the releases of a private run on a grid: the noised update and the public part that it is
	// added to are each rounded to multiples of it. It lies between sigma/2^12 and sigma.
	// Cool-down releases are not on it: a grid would freeze disagreement at its step.
	GridStep float64

	// Probe makes the client ask every neighbor, before its first release, which release of this client it holds. A
	// neighbor that holds a later one than this client knows of ends the run with a [RollbackError]. A simulation does not
	// need it.
	Probe bool
	// Incarnation is, with Probe, a number below 2^48 that no earlier process of this client had, such as a random one. A
	// neighbor's reply to an earlier incarnation may arrive in this one and is out of date.
	Incarnation uint64
	// Epoch counts the devices of this client that were lost for good and replaced by another, at most
	// [MaxTakeovers]: 0 at the first. A neighbor that has heard of a later epoch answers the probe of an earlier one
	// so that it ends with a [RollbackError]. In a private run no release of an epoch other than 0 touches data: the
	// lost device may have made it.
	Epoch uint16
	// Average computes the mean of all releases so far (after a takeover: from State.Recovered on). This is
	// post-processing, with much less noise than the last release.
	Average bool

	// Shrink is the threshold that the model of the last release is shrunk by, for each coordinate and each root of the
	// rounds with data, at least 0: see [Machine.Model].
	Shrink float64

	// Robust, if not 0, is 1 or more: a neighbor moves this client, over the whole run so far, no farther from the median
	// of all neighbors than so many times the median of their distances from it. Where nobody goes that far, it changes
	// no bit. With b of n neighbors that do what they like, 2b < n+1, it bounds what they do by what the honest ones do, and
	// not by a public number; one neighbor alone is not bounded. See sdk/ROBUST.md.
	Robust float64
	// Members, if not 0, is N. With Robust or Quarantine it tells which releases no member's noise explains; see
	// [Outside].
	Members int

	// Quarantine lets the machine drop a neighbor whose release cannot be right, see [Machine.Verdicts].
	Quarantine bool

	// FallbackLoss replaces, in a private run, a loss that could not be had: falling silent would tell the neighbors
	// something about the data. It is a public constant.
	FallbackLoss float64
}

// Learning returns how many releases there are up to the last one with data and the mixing rounds after it:
// K*(1+Mixing), or End*(1+Mixing).
func (c *Config) Learning() int { return c.rounds() * (1 + c.Mixing) }

// Last returns the number of the last release: C more than Learning.
func (c *Config) Last() int { return c.Learning() + c.Cooldown }

// Data returns how many of the first so many releases touch data. In a private run only these have noise and a cost.
func (c *Config) Data(releases int) int { return min(c.rounds(), (releases+c.Mixing)/(1+c.Mixing)) }

// Schedule is a parameter over the rounds: one value for all of them, or one for each.
type Schedule []float64

// At returns the value of round k; rounds past the end have the last one.
func (s Schedule) At(k int) float64 { return s[min(k, len(s)-1)] }

// validate checks that there is one value or one a round, each positive and finite.
func (s Schedule) validate(name string, rounds int) error {
	if len(s) != 1 && len(s) != rounds {
		return fmt.Errorf("admm: %s has %d values, want 1 or one for each of %d rounds", name, len(s), rounds)
	}
	for k, x := range s {
		if err := setting.Step.Check("admm", fmt.Sprintf("%s of round %d", name, k), x); err != nil {
			return err
		}
	}
	return nil
}

// Validate reports every fault of the configuration at once.
func (c Config) Validate() error {
	check := func(field string, r setting.Range, x float64) error { return r.Check("admm", field, x) }
	errs := []error{
		c.Estimator.Validate(), check("Rho", setting.Rho, c.Rho), check("Rounds", setting.Rounds, float64(c.Rounds)),
		check("Cooldown", setting.Cooldown, float64(c.Cooldown)), check("Mixing", setting.Mixing, float64(c.Mixing)),
		check("Tau", setting.Tau, float64(c.Tau)), check("Beta", setting.Step, c.Beta),
		c.Eta.validate("Eta", c.Rounds), c.Mu.validate("Mu", c.Rounds), check("Robust", setting.Robust, c.Robust),
	}
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("admm: "+format, args...))
		}
	}
	for i, j := range c.Neighbors {
		refuse(j < 0 || int64(j) > math.MaxUint32, "neighbor %d, want a client number of 0..2^32-1", j)
		refuse(int64(j) == int64(c.Estimator.Client), "client %d is its own neighbor", j)
		refuse(i > 0 && c.Neighbors[i-1] >= j, "neighbors %v are not in ascending order without repeats", c.Neighbors)
	}
	refuse(c.X0 != nil && len(c.X0) != c.Estimator.Dim, "X0 has length %d, want %d", len(c.X0), c.Estimator.Dim)
	if i := beyond(c.X0, limit); i >= 0 {
		refuse(true, "X0[%d] is %v, want a number of size at most %v", i, c.X0[i], limit)
	}
	refuse(c.End < 0 || c.End > max(0, c.Rounds), "End is %d, want 0, or 1..%d", c.End, c.Rounds)
	refuse(c.Cooldown >= 0 && int64(c.Rounds)*int64(1+c.Mixing) > math.MaxInt32-int64(c.Cooldown),
		"Rounds %d and Cooldown %d, want at most %d releases with Mixing %d", c.Rounds, c.Cooldown, math.MaxInt32, c.Mixing)

	refuse(c.NonPrivate && (c.Privacy != dpmech.Gaussian{} || c.Noise != nil), "NonPrivate together with Privacy or Noise: choose one")
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
	refuse(!(c.Shrink >= 0 && c.Shrink <= limit), "Shrink is %v, want 0..%v", c.Shrink, limit)
	refuse(c.Shrink > 0 && c.NonPrivate, "Shrink is %v in a run without noise", c.Shrink)
	refuse(c.Incarnation >= 1<<48, "Incarnation is %#x, want less than 2^48", c.Incarnation)
	refuse(!zoest.Usable(c.FallbackLoss), "FallbackLoss is %v, want a finite number", c.FallbackLoss)
	return errors.Join(errs...)
}

// onGrid reports whether a release lies on the grid.
func (m *Machine) onGrid(release int) bool { return m.cfg.GridStep != 0 && release <= m.cfg.Learning() }

// limit bounds the size of every coordinate that a client takes in or sends: no run that learns gets anywhere near it,
// and what is computed from one stays finite.
const limit = 1e30

// small reports whether the sum of the squares shows that no number is NaN or as large as 2e18, far below all limits. The
// sum only grows with each square, however it is rounded.
func small(v []float32) bool { return vec.SumSquares(v) <= 1e36 }

// beyond returns the index of the first NaN and of what is larger than most, or -1. It takes a most of 2e18 or more.
func beyond(v []float32, most float32) int {
	if small(v) {
		return -1
	}
	top := math.Float32bits(most)
	for i, x := range v { // one comparison: those of absolute values as numbers and as bits agree, and NaN has higher ones
		if math.Float32bits(x)&^(1<<31) > top {
			return i
		}
	}
	return -1
}
