package settings

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Setting describes one setting of an sdk.Fleet, for all code that reads, checks, documents or sets it.
type Setting struct {
	Name    string        // path in a fleet file: "method.gain"
	Flag    string        // name on a command line; empty if the value follows from other settings
	Range   setting.Range // range of a number
	Names   []string      // names of the values, if the setting is a choice
	Default string        // what plan.Suggest chooses; "chosen" if its choice depends on other settings
	Words   string        // purpose; the word in back quotes stands for its value, as in package flag
}

// In returns a pointer to the value of the setting in fleet, which must be an *sdk.Fleet. The value is an int, uint64,
// float64, bool, [admm.Schedule] or text.
func (s Setting) In(fleet any) any {
	at := reflect.ValueOf(fleet)
	for part := range strings.SplitSeq(s.Name, ".") {
		of := at.Elem()
		at = reflect.Value{}
		for i := range of.NumField() {
			if tag, _, _ := strings.Cut(of.Type().Field(i).Tag.Get("json"), ","); tag == part {
				at = of.Field(i).Addr()
			}
		}
	}
	return at.Interface()
}

// MaxPartnered is the maximum number of members of a fleet with partners: no useful bound on the remaining noise is
// known for larger fleets.
const MaxPartnered = 1024

// Ranges of privacy settings. Package dpmech also limits sigma relative to the clip.
var (
	noise   = setting.Range{Max: math.MaxFloat32, OpenMin: true}
	unset   = setting.Range{Max: math.MaxFloat32, OpenMin: true, Zero: "no noise is shared"}
	epsilon = setting.Range{Max: 1e6, OpenMin: true, Zero: "no limit"}
)

// All returns all method, privacy and wire settings, in the order of a fleet file. The caller must not modify the list.
func All() []Setting { return all }

var all = []Setting{
	{Name: "method.rounds", Flag: "rounds", Range: setting.Rounds, Default: "50", Words: "rounds of learning, K"},
	{Name: "method.mixing", Flag: "mixing", Range: setting.Mixing,
		Words: "rounds of consensus after each round of learning, without privacy cost, in which pairwise noise cancels"},
	{Name: "method.cooldown", Flag: "cooldown", Range: setting.Cooldown,
		Words: "rounds of consensus at the end, without privacy cost (30 with noise or with tracking, unless given)"},
	{Name: "method.tau", Flag: "tau", Range: setting.Tau, Default: "3",
		Words: "local steps per round (2 with an estimator other than tracking, unless given)"},
	{Name: "method.batch", Flag: "batch", Range: setting.Batch,
		Words: "queries per local step, at most one for each sample (0 = all samples)"},
	{Name: "method.rho", Flag: "rho", Range: setting.Rho, Default: "1", Words: "penalty parameter"},
	{Name: "method.gain", Flag: "gain", Range: setting.Gain, Default: "0.75",
		Words: "strength of consensus, as a `share` of the limit of stability, " + setting.Gain.String()},
	{Name: "method.eta", Flag: "eta", Range: setting.Step, Default: "chosen", Words: "step size"},
	{Name: "method.mu", Flag: "mu", Range: setting.Step, Default: "chosen",
		Words: "smoothing radius: the distance of queries from the model"},
	{Name: "method.momentum", Flag: "momentum", Range: setting.Momentum,
		Words: "`share` of earlier rounds in an update, before clipping, " + setting.Momentum.String() + "; 0.8 or 0.9 for few queries"},
	{Name: "method.estimator", Flag: "estimator", Names: []string{"paper", "tracking"}, Default: "tracking",
		Words: "paper, or tracking (subtracts a linear model of each loss, which the state keeps, up to 64 MiB unless given)"},
	{Name: "method.directions", Flag: "directions", Names: []string{"rademacher", "walsh"}, Default: "walsh",
		Words: "law of the query directions: walsh, or rademacher (with an estimator other than tracking, unless given)"},
	{Name: "method.seed", Flag: "seed", Default: "1",
		Words: "seed of data split, partition, graph, directions and batches; in a simulation also of the noise"},
	{Name: "method.shrink", Flag: "shrink", Range: setting.Shrink,
		Words: "move each parameter of the final model back to its start, but not beyond, by this many standard `deviations` of the " +
			"mean's noise (0.5 for a linear model of a table whose records are protected, unless given)"},

	{Name: "privacy.non_private", Flag: "non-private", Words: "no clipping and no noise: what a node sends may reveal its data"},
	{Name: "privacy.clip", Flag: "clip", Range: setting.Range{Min: dpmech.MinClip, Max: dpmech.MaxClip}, Default: "chosen",
		Words: "radius to which each update is clipped, or each record's share of it"},
	{Name: "privacy.sigma", Flag: "sigma", Range: noise, Words: "standard deviation of the release noise (in place of a budget)"},
	{Name: "privacy.delta", Flag: "delta", Range: setting.Range{Max: 1, OpenMin: true, OpenMax: true}, Default: "1e-05",
		Words: "delta at which epsilon is stated"},
	{Name: "privacy.epsilon_limit", Flag: "epsilon", Range: epsilon, Default: "8",
		Words: "privacy budget of each client, or each record, for the whole run"},
	{Name: "privacy.accounting", Flag: "accounting", Names: []string{"gdp", "zcdp", "paper"}, Default: "gdp",
		Words: "what epsilon means: gdp (exact), zcdp or paper"},
	{Name: "privacy.unit", Flag: "unit", Names: []string{"client", "record"}, Default: "client",
		Words: "what is protected: client (each whole data set: a phone, a sensor) or record (a hospital's patients)"},
	{Name: "privacy.places", Flag: "places", Range: setting.Range{Min: 2, Max: 1 << 16, Whole: true, Zero: "each record by itself"},
		Words: "with record-level privacy: the number of adjacent samples that hold the records of one `person`"},
	{Name: "privacy.person", Words: "with places: the column that names the person of a row"},
	{Name: "privacy.pair_sigma", Flag: "pair-sigma", Range: unset, Default: "chosen",
		Words: "standard deviation of pairwise noise, with sigma and colluders: sigma times a power of two"},
	{Name: "privacy.effective_sigma", Range: unset, Default: "chosen",
		Words: "noise that remains against anyone who sees all releases and knows what any colluders know"},
	{Name: "privacy.colluders", Flag: "colluders", Range: setting.Range{Max: math.MaxInt32, Whole: true},
		Words: "share noise that cancels in the mean: the budget then holds against anyone who sees all releases and colludes " +
			"with any `c` members. c may also be a share such as 1/3 or half, or auto: as many as add at most a tenth to the " +
			"mean's noise (default no noise is shared)"},
	{Name: "privacy.absent", Flag: "absent", Range: setting.Range{Max: math.MaxInt32, Whole: true},
		Words: "with colluders: how many members may `vanish` while the others still share noise that cancels (0 = a member that " +
			"loses a neighbor shares no more noise; 0 with partners) (default 1 where that adds less than 3 % of noise, else 0)"},
	{Name: "privacy.partners", Flag: "partners", Range: setting.Range{Min: 2, Max: MaxPartnered - 1, Whole: true, Zero: "neighbors share"},
		Words: "with colluders: how many `members` each member shares noise with, neighbors or not (0 = only " +
			"with its neighbors) (default chosen)"},
	{Name: "privacy.epsilon_limit_all", Flag: "limit-all", Range: epsilon,
		Words: "with colluders: limit of epsilon against all other members together (default no limit)"},

	{Name: "wire.grid_bits", Flag: "grid-bits", Range: setting.Range{Min: 2, Max: 8, Whole: true, Zero: "4 with noise"},
		Words: "with noise: send releases as short integers, on a grid of noise/2^`W` with W of 2 to 8 (default 4)"},
}

// Check returns a [setting.FieldError] for each value of the setting that is out of range in fleet, joined into one
// error. It returns nil if all values are in range. rounds is the fleet's number of rounds.
func (s Setting) Check(fleet any, rounds int) error {
	const pkg = "sdk: fleet"
	switch x := s.In(fleet).(type) {
	case *int:
		return s.Range.Check(pkg, s.Name, float64(*x))
	case *float64:
		return s.Range.Check(pkg, s.Name, *x)
	case *admm.Schedule:
		return x.Check(pkg, s.Name, rounds)
	case encoding.TextMarshaler:
		if text, err := x.MarshalText(); err != nil || !slices.Contains(s.Names, string(text)) {
			return &setting.FieldError{Package: pkg, Field: s.Name, Found: fmt.Sprintf("%q", x), Want: setting.Choice{Names: s.Names}.String()}
		}
	}
	return nil
}
