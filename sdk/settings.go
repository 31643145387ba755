package sdk

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Range is what a number may be.
type Range = setting.Range

// FieldError reports one wrong value, for [errors.As]. Field is its path in a fleet file, as in [Setting].Name.
type FieldError = setting.FieldError

// Setting describes one setting of a [Fleet]. What reads, checks, documents or completes a setting takes it from here.
type Setting struct {
	Name    string   // its path in a fleet file: "method.gain"
	Flag    string   // what a command line calls it; empty if it follows from others
	Range   Range    // of a number
	Names   []string // of its values, if it is a choice
	Default string   // what plan.Suggest takes if it is open; "chosen" if it follows from others
	// Words say what it is for. The word in back quotes stands for its value, as in package flag.
	Words string
}

// In returns the setting's place in a fleet: a pointer to an int, uint64, float64, bool, [admm.Schedule] or text.
func (s Setting) In(f *Fleet) any {
	part, name, _ := strings.Cut(s.Name, ".")
	fields := reflect.ValueOf(map[string]any{"method": &f.Method, "privacy": &f.Privacy, "wire": &f.Wire}[part]).Elem()
	for i := range fields.NumField() {
		if tag, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return fields.Field(i).Addr().Interface()
		}
	}
	panic("sdk: no setting is called " + s.Name)
}

// Ranges of what protects data. Package dpmech bounds sigma by the clip.
var (
	noise   = Range{Max: math.MaxFloat32, OpenMin: true}
	unset   = Range{Max: math.MaxFloat32, OpenMin: true, Zero: "no noise is shared"}
	epsilon = Range{Max: 1e6, OpenMin: true, Zero: "no limit"}
	records = Range{Min: 1, Max: setting.Batch.Max, Whole: true} // of a member
)

// Settings returns all settings of method, privacy and wire, in their order in a fleet file. Do not change the list.
func Settings() []Setting { return settings }

var settings = []Setting{
	{Name: "method.rounds", Flag: "rounds", Range: setting.Rounds, Default: "50", Words: "rounds of learning, K"},
	{Name: "method.mixing", Flag: "mixing", Range: setting.Mixing,
		Words: "rounds of pure consensus after each round of learning, free of privacy cost, in which shared noise cancels"},
	{Name: "method.cooldown", Flag: "cooldown", Range: setting.Cooldown,
		Words: "rounds of pure consensus after them, free of privacy cost (30 with noise or with tracking, unless given)"},
	{Name: "method.tau", Flag: "tau", Range: setting.Tau, Default: "3",
		Words: "local steps a round (2 with an estimator other than tracking, unless given)"},
	{Name: "method.batch", Flag: "batch", Range: setting.Batch,
		Words: "queries a local step; a client with fewer samples asks one for each (0 = all do)"},
	{Name: "method.rho", Flag: "rho", Range: setting.Rho, Default: "1", Words: "penalty parameter"},
	{Name: "method.gain", Flag: "gain", Range: setting.Gain, Default: "0.75",
		Words: "how hard disagreement is corrected, as a `share` of the limit of stability, " + setting.Gain.String()},
	{Name: "method.eta", Flag: "eta", Range: setting.Step, Default: "chosen", Words: "step size"},
	{Name: "method.mu", Flag: "mu", Range: setting.Step, Default: "chosen",
		Words: "smoothing radius: how far from the model the loss is asked for"},
	{Name: "method.momentum", Flag: "momentum", Range: setting.Momentum,
		Words: "`share` of earlier rounds in what a member learns in a round, before it is clipped, " +
			setting.Momentum.String() + "; 0.8 or 0.9 for few queries a round"},
	{Name: "method.estimator", Flag: "estimator", Names: []string{"paper", "centered", "tracking"}, Default: "tracking",
		Words: "paper (one query in so many fills a table); centered: each loss less the last one of its sample; or " +
			"tracking: less a linear model of it, which lasts over rounds, in the state, up to 64 MiB unless given"},
	{Name: "method.directions", Flag: "directions", Names: []string{"rademacher", "walsh"}, Default: "walsh",
		Words: "law of the query directions: walsh (which together cover all axes), or rademacher (with an estimator other " +
			"than tracking, unless given)"},
	{Name: "method.seed", Flag: "seed", Default: "1",
		Words: "of data split, partition, graph, directions and batches; in a simulation also of the noise"},
	{Name: "method.robust", Flag: "robust", Range: setting.Robust,
		Words: "bound what a neighbor can do: it moves a member, over the whole run, no farther from the median of its " +
			"neighbors than so many `times` the median of their distances, such as 1.5, or off (default 1.5 or 2 where " +
			"members have many neighbors and share no noise, else off)"},
	{Name: "method.consensus", Flag: "consensus", Names: consensuses.Names,
		Words: "how mixing and cool-down bring members together: admm (the steps of the method) or chebyshev (in far fewer " +
			"rounds) (default chebyshev with noise, unless robust is on or payload message is given)"},
	{Name: "method.shrink", Flag: "shrink", Range: setting.Shrink,
		Words: "with noise: move each parameter of the final model back to its start by so many standard `deviations` of the " +
			"mean's noise, but not beyond (0.5 for a linear model of a table whose records are protected, unless given)"},

	{Name: "privacy.non_private", Flag: "non-private",
		Words: "no clipping and no noise: what a node sends may reveal its data"},
	{Name: "privacy.clip", Flag: "clip", Range: Range{Min: dpmech.MinClip, Max: dpmech.MaxClip}, Default: "chosen",
		Words: "radius to which each round's update is clipped, or each record's share of it"},
	{Name: "privacy.sigma", Flag: "sigma", Range: noise,
		Words: "standard deviation of the release noise (in place of a budget)"},
	{Name: "privacy.delta", Flag: "delta", Range: Range{Max: 1, OpenMin: true, OpenMax: true}, Default: "1e-05",
		Words: "at which epsilon is stated"},
	{Name: "privacy.epsilon_limit", Flag: "epsilon", Range: epsilon, Default: "8",
		Words: "privacy budget of each client, or each record, for the whole run"},
	{Name: "privacy.accounting", Flag: "accounting", Names: []string{"gdp", "zcdp", "paper"}, Default: "gdp",
		Words: "what epsilon means: gdp (exact), zcdp or paper"},
	{Name: "privacy.unit", Flag: "unit", Names: []string{"client", "record"}, Default: "client",
		Words: "what is protected: client (the whole data set of each: a phone, a sensor) or record (each record of each: a " +
			"hospital's patients)"},
	{Name: "privacy.places", Flag: "places", Range: Range{Min: 2, Max: 1 << 16, Whole: true, Zero: "each record by itself"},
		Words: "with unit record: how many records of one `person` are protected together, next to each other in the oracle's samples"},
	{Name: "privacy.pair_sigma", Flag: "pair-sigma", Range: unset, Default: "chosen",
		Words: "standard deviation of what two neighbors share, with sigma and colluders: sigma times a power of two"},
	{Name: "privacy.effective_sigma", Range: unset, Default: "chosen",
		Words: "what is left of all noise to whoever sees all releases and knows what any colluders know"},
	{Name: "privacy.colluders", Flag: "colluders", Range: Range{Max: math.MaxInt32, Whole: true},
		Words: "share noise with neighbors that cancels in the mean: the budget then holds against whoever sees all " +
			"releases, together with any `c` members; on a command line also a share of them, such as 1/3 or half, or auto, " +
			"as many as add at most a tenth to the noise of the mean (default no noise is shared)"},
	{Name: "privacy.absent", Flag: "absent", Range: Range{Max: math.MaxInt32, Whole: true},
		Words: "with colluders: how many members may `vanish` before the run ends, so that the budget still holds and what " +
			"the others share still cancels (0 = whoever has lost a neighbor shares no more)"},
	{Name: "privacy.partners", Flag: "partners", Range: Range{Min: 2, Max: MaxPartnered - 1, Whole: true, Zero: "neighbors share"},
		Words: "with colluders: with how many `members` each shares noise, neighbors or not; their keys travel over neighbors, who " +
			"cannot use them (0 = with its neighbors) (default chosen)"},
	{Name: "privacy.epsilon_limit_all", Flag: "limit-all", Range: epsilon,
		Words: "with colluders: the most that epsilon may be against all other members together (default no limit)"},

	{Name: "wire.payload", Flag: "payload", Names: payloads.Names[1:],
		Words: "what crosses the wire: message (the paper's, one for each neighbor) or release (one for all; same " +
			"results) (default release, or message in a run that is not private)"},
	{Name: "wire.grid_bits", Flag: "grid-bits", Range: Range{Min: 2, Max: 8, Whole: true, Zero: "no grid"},
		Words: "put releases on a grid of noise/2^`W`, W of 2 to 8, so that they are short integers (default 4 with " +
			"noise, unless the payload is given)"},
}

// Check returns a [FieldError] for every value of the setting in a fleet that is out of range, joined.
func (s Setting) Check(f *Fleet) error {
	const pkg = "sdk: fleet"
	switch x := s.In(f).(type) {
	case *int:
		return s.Range.Check(pkg, s.Name, float64(*x))
	case *float64:
		return s.Range.Check(pkg, s.Name, *x)
	case *admm.Schedule:
		return x.Check(pkg, s.Name, f.Method.Rounds)
	case encoding.TextMarshaler:
		if _, err := x.MarshalText(); err != nil {
			return &FieldError{Package: pkg, Field: s.Name, Found: fmt.Sprintf("%q", x), Want: setting.Choice{Names: s.Names}.String()}
		}
	}
	return nil
}
