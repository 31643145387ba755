package admm

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Config configures one client's machine. All fields except Noise and PairKey are public. Package sdk makes the Config of
// a fleet's member (Plan.Machine). [New] does not check the ranges of values, which package setting has.
type Config struct {
	Estimator zoest.Config // d, m_i, b_i, the directions and their seed, and the client's number i
	Neighbors []int        // N_i: the neighbors' numbers, ascending; empty for N = 1
	X0        []float32    // x_0, the same for all clients, length d; nil means zeros; copied

	Rounds   int // K, at least 1
	Mixing   int // consensus rounds after each of the K rounds; 0 or more
	Cooldown int // C, additional consensus rounds at the end; 0 or more
	Tau      int // tau_i, local steps per round, at least 1

	Rho  float64  // penalty parameter, > 0
	Beta float64  // weight of the penalty in a local step, > 0; stable if tau*beta*eta*mu*rho*lambda_N < 8/3
	Eta  Schedule // step size eta_k, > 0
	Mu   Schedule // smoothing radius mu_k, > 0

	NonPrivate bool            // no clipping and no noise; Privacy must be the zero value
	Privacy    dpmech.Gaussian // R and sigma of every round with data
	Records    Records         // the public numbers of records, if Privacy protects each record; otherwise zero
	Noise      io.Reader       // uniform random bytes for the release noise; nil if and only if NonPrivate
	// PairKey returns the key of the noise that this client shares with a neighbor in a release; see [dpmech.Pair]. Of
	// the two clients, the one with the lower number adds the noise, and the other subtracts it. PairKey is nil if and
	// only if Privacy has no pairwise noise.
	PairKey func(peer, release int) [32]byte
	// Partners, if not nil, lists the clients with which this client shares noise, in ascending order. They replace the
	// neighbors for this purpose: a partner need not be a neighbor, and a dropped edge does not end the sharing.
	Partners []int

	// GridStep, if not 0, is the step of a grid to which the noised update and the public part of each private release
	// are rounded. It is between sigma/2^12 and sigma. Cool-down releases are not rounded, because rounding would keep
	// models that differ by about one step from approaching each other.
	GridStep float64

	// Probe makes the client, before its first release, ask every neighbor for the number of the last release of this
	// client that the neighbor holds. If a neighbor holds a later release than this client knows of, the machine ends
	// with an error; see [Machine.Ahead]. Simulations do not need Probe.
	Probe       bool
	Incarnation uint64    // with Probe: below 2^48, new in each process; the machine ignores replies to another incarnation
	Consensus   Consensus // the steps of mixing and cool-down; may be nil if there are none

	Members int // N, for the public bound that clips every release, see [Config.Impossible]; 0: unknown
}

// Learning returns the number of the last release before the cool-down: K*(1+Mixing).
func (c *Config) Learning() int { return c.Rounds * (1 + c.Mixing) }

// Last returns the number of the last release: Learning() + C.
func (c *Config) Last() int { return c.Learning() + c.Cooldown }

// mixes reports whether the run has rounds without data.
func (c *Config) mixes() bool { return c.Mixing > 0 || c.Cooldown > 0 }

// Data returns how many of the releases numbered 1 to n use data, where n is the argument. In a private run only the
// releases with data have noise and a cost.
func (c *Config) Data(releases int) int {
	if c.Mixing > 0 {
		releases = (releases + c.Mixing) / (1 + c.Mixing)
	}
	return min(c.Rounds, releases)
}

// Schedule holds the values of a parameter: one value for all rounds, or one value per round.
type Schedule []float64

// At returns the value for round k. Rounds past the end of s use its last value.
func (s Schedule) At(k int) float64 { return s[min(k, len(s)-1)] }

// Check returns a [setting.FieldError] if the length of s is neither 1 nor rounds. Otherwise it returns a joined error
// with one [setting.FieldError] for each value out of range. Errors name the schedule by pkg and field.
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

// UnmarshalJSON accepts one number for all rounds, or an array with one number per round.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	*s = Schedule{}
	list := strings.TrimSuffix(strings.TrimPrefix(string(text), "["), "]")
	if strings.TrimSpace(list) == "" {
		return nil
	}
	for _, number := range strings.Split(list, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			return errors.New("eta and mu must each be a number, or an array with one number per round")
		}
		*s = append(*s, x)
	}
	return nil
}

// check returns errors that name the fields with which a machine would panic, never end, or protect something other than
// Privacy says.
func (c *Config) check() error {
	var errs []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("admm: "+format, args...))
		}
	}
	refuse(c.Rounds < 1 || c.Tau < 1, "Rounds is %d and Tau is %d, want at least 1 for each", c.Rounds, c.Tau)
	refuse(len(c.Eta) == 0 || len(c.Mu) == 0, "Eta has %d values and Mu %d, want at least one of each", len(c.Eta), len(c.Mu))
	refuse(c.X0 != nil && len(c.X0) != c.Estimator.Dim, "X0 has length %d, want %d", len(c.X0), c.Estimator.Dim)
	refuse(c.NonPrivate && (c.Privacy != dpmech.Gaussian{} || c.Noise != nil || c.GridStep != 0), "NonPrivate is true, but Privacy, Noise or "+
		"GridStep is set")
	refuse(!c.NonPrivate && c.Noise == nil, "Noise is nil, want a source of random bytes unless NonPrivate is true")
	refuse((c.Privacy.Shared != dpmech.Shared{}) != (c.PairKey != nil), "only one of PairKey and Privacy.Shared is set, want both or neither")
	each := c.Privacy.Unit != dpmech.Client
	refuse(c.Estimator.Records != each || (c.Records != Records{}) != each, "Estimator.Records is %v and Records is %+v, want both set if and "+
		"only if the privacy guarantee is for each record or person, and it is %v", c.Estimator.Records, c.Records, c.Privacy.Unit.Each())
	places := max(1, c.Records.Places)
	refuse(c.Estimator.Samples%places != 0, "Samples is %d, want a multiple of Records.Places (%d)", c.Estimator.Samples, places)
	refuse(c.Consensus == nil && c.mixes() && len(c.Neighbors) > 0,
		"Consensus is nil, but Mixing is %d and Cooldown is %d, want a schedule of their steps", c.Mixing, c.Cooldown)
	return errors.Join(errs...)
}

// onGrid reports whether a release is on the grid, so that its messages have Grid and no Vector.
func (c *Config) onGrid(release int) bool { return c.GridStep != 0 && release <= c.Learning() }

// limit is the largest absolute value of a coordinate that a machine sends or accepts. It keeps results finite.
const limit = 1e30

// small is a fast check of v. If it returns true, no number in v is NaN or as large as 2e18, which is far below all
// limits. If it returns false, v may still be within the limits.
func small(v []float32) bool { return vec.SumSquares(v) <= 1e36 }

// beyond returns the index of the first number in v that is NaN or whose absolute value exceeds the bound (most), or -1
// if there is no such number. The bound must be at least 2e18.
func beyond(v []float32, most float32) int {
	if small(v) {
		return -1
	}
	top := math.Float32bits(most)
	for i, x := range v { // the bits of absolute values sort like the numbers, and NaN sorts last
		if math.Float32bits(x)&^(1<<31) > top {
			return i
		}
	}
	return -1
}
