package sdk

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Privacy describes the noise that protects the members' data.
type Privacy struct {
	NonPrivate bool    `json:"non_private"` // no clipping and no noise: a member's messages may reveal its data
	Clip       float64 `json:"clip"`        // R, the radius to which each round's update is clipped
	Sigma      float64 `json:"sigma"`       // standard deviation of the local noise in each coordinate of a release
	Delta      float64 `json:"delta"`       // in (0, 1); epsilon is stated at this delta

	EpsilonLimit float64           `json:"epsilon_limit"` // limit of the run at Delta; releases beyond it are refused; 0: no limit
	Accounting   dpmech.Accounting `json:"accounting"`

	Unit dpmech.Unit `json:"unit,omitempty"` // what the noise protects; dpmech.Record needs Fleet.Records; Clip then applies to one record's share
	// Places, if more than 1, makes the protected unit a person with this many consecutive samples (r_max), one per
	// record. A sample without a record must have a constant loss, such as 0. Fleet.Records then counts persons.
	Places int `json:"places,omitempty"`
	// Person names the column, or another rule, by which the rows of a person are known; with Places only.
	Person string `json:"person,omitempty"`

	// PairSigma, if not 0, is the standard deviation of pairwise noise: Sigma times a power of two. The two ends of
	// every edge, or every pair of Partners, share this noise, which cancels in the mean of all members. EffectiveSigma
	// is the noise that remains against an adversary that sees all releases and knows what any group of size Colluders
	// knows; see [dpmech.Shared]. EpsilonLimit limits the cost against this adversary, and LimitAll, if not 0, limits
	// the cost against all other members together. The noise of the remaining members cancels even if up to Absent
	// members vanish; this requires as much noise as Absent additional colluders would. A member that loses more than
	// Absent neighbors adds only local noise, and the noise that those neighbors shared with it stays in the mean.
	PairSigma      float64 `json:"pair_sigma,omitempty"`
	EffectiveSigma float64 `json:"effective_sigma,omitempty"`
	Colluders      int     `json:"colluders,omitempty"`
	Absent         int     `json:"absent,omitempty"`
	// Partners, if not 0, is the number of members with which each member shares pairwise noise, neighbors or not. The
	// pairs form a regular graph derived from Method.Seed. Noise shared with a partner stays in the mean if the partner
	// vanishes, so privacy stays as well, and Absent must be 0.
	Partners int     `json:"partners,omitempty"`
	LimitAll float64 `json:"epsilon_limit_all,omitempty"`
}

// Gaussian returns the clip and noise of each release that uses data.
func (p Privacy) Gaussian() dpmech.Gaussian {
	return dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma, Unit: p.Protects(), Shared: dpmech.Shared{Sigma: p.PairSigma,
		Effective: p.EffectiveSigma, Colluders: p.Colluders, Absent: p.Absent, Partners: p.Partners}}
}

// Limit returns what a member may spend in one run; nil means no limit.
func (p Privacy) Limit() *dpmech.Limit {
	if p.EpsilonLimit == 0 {
		return nil
	}
	return &dpmech.Limit{Epsilon: p.EpsilonLimit, Delta: p.Delta, Accounting: p.Accounting, EpsilonAll: p.LimitAll}
}

// Protects returns the unit that each release protects: Unit or, with Places, [dpmech.Person].
func (p Privacy) Protects() dpmech.Unit {
	if p.Unit == dpmech.Record && p.Places > 1 {
		return dpmech.Person(p.Places, p.Person)
	}
	return p.Unit
}

// checkSamples returns an error if a member's number of samples differs from the number that a valid fleet states.
func (f *Fleet) checkSamples(member, samples int) error {
	if f.Privacy.Unit != dpmech.Record {
		return nil
	}
	units, places := f.Records[member], max(1, f.Privacy.Places)
	if samples == units*places {
		return nil
	}
	if samples%places != 0 {
		return &setting.FieldError{Package: "sdk", Field: "Samples", Found: fmt.Sprint(samples), Want: fmt.Sprintf("%d, %d places for each "+
			"of the %d persons of %q", units*places, places, units, f.Members[member])}
	}
	unit := "records"
	if places > 1 {
		unit = "persons"
	}
	return fmt.Errorf("sdk: the data of %q has %d %s, the fleet says %d: this number is public and fixed during a run, so even invalid rows "+
		"must not be removed; restore them, with blank cells for a person who withdraws, or let the next run have another number (command fleet next)",
		f.Members[member], samples/places, unit, units)
}

// affordable returns an error if the rounds cost more than the run may spend. It is called before the first release.
func (p *Plan) affordable() error {
	f := p.fleet
	l, g := f.Privacy.Limit(), f.Privacy.Gaussian()
	if f.Privacy.NonPrivate || l == nil {
		return nil
	}
	if most, err := dpmech.MaxRounds(g, l.Epsilon, l.Delta, l.Accounting); err != nil || most < f.Method.Rounds {
		return errors.Join(err, fmt.Errorf("sdk: fleet: %d rounds: %w: the epsilon limit of %v (%v accounting at "+
			"delta %v) covers only %d rounds",
			f.Method.Rounds, dpmech.ErrBudget, l.Epsilon, l.Accounting, l.Delta, most))
	}
	if all := l.Accounting.Epsilon(f.Total(f.Method.Rounds).All, l.Delta); l.EpsilonAll > 0 && all > l.EpsilonAll {
		return fmt.Errorf("sdk: fleet: %d rounds: %w: the epsilon of these rounds against all other members together "+
			"is %s (%v accounting at delta %v), want at most %v",
			f.Method.Rounds, dpmech.ErrBudget, dpmech.FormatEpsilon(all, 4), l.Accounting, l.Delta, l.EpsilonAll)
	}
	return nil
}
