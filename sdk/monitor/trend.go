package monitor

import (
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/losses"
)

// Trend states whether the losses of the node's queries are still falling, and what further rounds would cost. Like
// [Local], it is shown on loopback only, because the losses come from the data. The costs alone are public: they follow
// from the fleet file.
type Trend struct {
	Covered bool `json:"covered_by_privacy"` // false: the losses and decisions based on them are not covered
	losses.Trend
	More    int   `json:"more_rounds"`       // number of additional rounds considered: half of the run's rounds
	Planned Value `json:"epsilon_planned"`   // epsilon of all planned rounds; unknown without privacy
	Longer  Value `json:"epsilon_with_more"` // epsilon if More rounds follow, at the same noise; else unknown
}

// NewTrend returns a trend in the form of [Status]; nil if t is nil. If the run ends early, f.Method must already have
// the reduced number of rounds.
func NewTrend(f *sdk.Fleet, t *losses.Trend) *Trend {
	if t == nil {
		return nil
	}
	out := &Trend{Trend: *t, More: max(1, f.Method.Rounds/2), Planned: Unknown(), Longer: Unknown()}
	if p := f.Privacy; !p.NonPrivate {
		longer := *f
		longer.Method.Rounds += out.More
		out.Planned = Value(p.Accounting.Epsilon(f.Rho(), p.Delta))
		out.Longer = Value(p.Accounting.Epsilon(longer.Rho(), p.Delta))
	}
	return out
}
