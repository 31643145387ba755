package setup

import (
	"encoding"
	"errors"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Setting is one setting of a fleet, as flags and help name it. Its range is in package sdk.
type Setting struct {
	Value   any    // points to the value: *int, *uint64, *float64, *bool, *admm.Schedule or text
	Name    string // path in a fleet file: "method.gain"
	Flag    string // name on a command line
	Default string // what plan.Suggest chooses; "chosen" if its choice depends on other settings
	Words   string // purpose; the word in back quotes stands for its value, as in package flag
}

// Settings returns all settings of method, privacy and wire in f that a flag may set, in the order of a fleet file.
func Settings(f *sdk.Fleet) []Setting {
	m, p := &f.Method, &f.Privacy
	return []Setting{
		{Value: &m.Rounds, Name: "method.rounds", Flag: "rounds", Default: "50", Words: "rounds of learning, K"},
		{Value: &m.Mixing, Name: "method.mixing", Flag: "mixing",
			Words: "rounds of consensus after each round of learning, without privacy cost, in which pairwise noise cancels"},
		{Value: &m.Cooldown, Name: "method.cooldown", Flag: "cooldown",
			Words: "rounds of consensus at the end, without privacy cost (30 with noise or with tracking, unless given)"},
		{Value: &m.Tau, Name: "method.tau", Flag: "tau", Default: "3",
			Words: "local steps per round (2 with an estimator other than tracking, unless given)"},
		{Value: &m.Batch, Name: "method.batch", Flag: "batch",
			Words: "queries per local step, at most one for each sample (0 = all samples)"},
		{Value: &m.Rho, Name: "method.rho", Flag: "rho", Default: "1", Words: "penalty parameter"},
		{Value: &m.Gain, Name: "method.gain", Flag: "gain", Default: "0.75",
			Words: "strength of consensus, as a `share` of the limit of stability, " + setting.Gain.String()},
		{Value: &m.Eta, Name: "method.eta", Flag: "eta", Default: "chosen", Words: "step size"},
		{Value: &m.Mu, Name: "method.mu", Flag: "mu", Default: "chosen",
			Words: "smoothing radius: the distance of queries from the model"},
		{Value: &m.Momentum, Name: "method.momentum", Flag: "momentum",
			Words: "`share` of earlier rounds in an update, before clipping, " + setting.Momentum.String() + "; 0.8 or 0.9 for few queries"},
		{Value: &m.Estimator, Name: "method.estimator", Flag: "estimator", Default: "tracking",
			Words: "paper, or tracking (subtracts a linear model of each loss, which the state keeps, up to 64 MiB unless given)"},
		{Value: &m.Directions, Name: "method.directions", Flag: "directions", Default: "walsh",
			Words: "law of the query directions: walsh, or rademacher (with an estimator other than tracking, unless given)"},
		{Value: &m.Seed, Name: "method.seed", Flag: "seed", Default: "1",
			Words: "seed of data split, partition, graph, directions and batches; in a simulation also of the noise"},
		{Value: &m.Shrink, Name: "method.shrink", Flag: "shrink",
			Words: "move each parameter of the final model back to its start, but not beyond, by this many standard `deviations` of the " +
				"mean's noise (0.5 for a linear model of a table whose records are protected, unless given)"},

		{Value: &p.NonPrivate, Name: "privacy.non_private", Flag: "non-private", Words: "no clipping and no noise: what a node sends may reveal its data"},
		{Value: &p.Clip, Name: "privacy.clip", Flag: "clip", Default: "chosen",
			Words: "radius to which each update is clipped, or each record's share of it"},
		{Value: &p.Sigma, Name: "privacy.sigma", Flag: "sigma", Words: "standard deviation of the release noise (in place of a budget)"},
		{Value: &p.Delta, Name: "privacy.delta", Flag: "delta", Default: "1e-05",
			Words: "delta at which epsilon is stated"},
		{Value: &p.EpsilonLimit, Name: "privacy.epsilon_limit", Flag: "epsilon", Default: "8",
			Words: "privacy budget of each client, or each record, for the whole run"},
		{Value: &p.Accounting, Name: "privacy.accounting", Flag: "accounting", Default: "gdp",
			Words: "what epsilon means: gdp (exact), zcdp or paper"},
		{Value: &p.Unit, Name: "privacy.unit", Flag: "unit", Default: "client",
			Words: "what is protected: client (each whole data set: a phone, a sensor) or record (a hospital's patients)"},
		{Value: &p.Places, Name: "privacy.places", Flag: "places",
			Words: "with record-level privacy: the number of adjacent samples that hold the records of one person"},
		{Value: &p.PairSigma, Name: "privacy.pair_sigma", Flag: "pair-sigma", Default: "chosen",
			Words: "standard deviation of pairwise noise, with sigma and colluders: sigma times a power of two"},
		{Value: &p.Colluders, Name: "privacy.colluders", Flag: "colluders",
			Words: "share noise that cancels in the mean: the budget then holds against anyone who sees all releases and colludes " +
				"with any `c` members. c may also be a share such as 1/3 or half, or auto: as many as add at most a tenth to the " +
				"mean's noise (default no noise is shared)"},
		{Value: &p.Absent, Name: "privacy.absent", Flag: "absent",
			Words: "with colluders: how many members may `vanish` while the others still share noise that cancels (0 = a member that " +
				"loses a neighbor shares no more noise; 0 with partners) (default 1 where that adds less than 3 % of noise, else 0)"},
		{Value: &p.Partners, Name: "privacy.partners", Flag: "partners",
			Words: "with colluders: how many `members` each member shares noise with, neighbors or not (0 = only " +
				"with its neighbors) (default chosen)"},
		{Value: &p.LimitAll, Name: "privacy.epsilon_limit_all", Flag: "limit-all",
			Words: "with colluders: limit of epsilon against all other members together (default no limit)"},

		{Value: &f.Wire.GridBits, Name: "wire.grid_bits", Flag: "grid-bits",
			Words: "with noise: send releases as short integers, on a grid of noise/2^`W` with W of 2 to 8 (default 4)"},
	}
}

// addTo adds the flag of the setting.
func (s Setting) addTo(c *cli.Cmdline, words string) {
	switch x := s.Value.(type) {
	case *int:
		c.IntVar(x, s.Flag, *x, words)
	case *uint64:
		c.Uint64Var(x, s.Flag, *x, words)
	case *bool:
		c.BoolVar(x, s.Flag, *x, words)
	case *float64:
		c.Float64Var(x, s.Flag, *x, words)
	case *admm.Schedule:
		c.Func(s.Flag, words, func(text string) error {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return errors.New("want a number")
			}
			*x = admm.Schedule{number} // the same in all rounds
			return nil
		})
	case interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}:
		c.TextVar(x, s.Flag, x, words)
	}
}
