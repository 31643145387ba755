package sdk

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/settings"
)

// Privacy describes the noise that protects the members' data.
type Privacy struct {
	NonPrivate bool    `json:"non_private"` // no clipping and no noise: a member's messages may reveal its data
	Clip       float64 `json:"clip"`        // R, the radius to which each round's update is clipped
	Sigma      float64 `json:"sigma"`       // standard deviation of the local noise in each coordinate of a release
	Delta      float64 `json:"delta"`       // in (0, 1); epsilon is stated at this delta

	EpsilonLimit float64           `json:"epsilon_limit"` // limit of the run at Delta; releases beyond it are refused; 0: no limit
	Accounting   dpmech.Accounting `json:"accounting"`

	Unit Unit `json:"unit,omitempty"` // UnitRecord needs Fleet.Records; Clip then applies to one record's share
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

// Conductance returns [graph.Graph.Conductance] after Colluders+Absent members are removed. ratio is PairSigma/Sigma,
// in (0, 4096].
func (p Privacy) Conductance(g *graph.Graph, ratio float64) (graph.Conductance, error) {
	n := g.N()
	return g.Conductance(ratio, min(p.Colluders, n)+min(p.Absent, n))
}

// Effective returns the largest valid EffectiveSigma for a noise graph.
func (p Privacy) Effective(g *graph.Graph) (float64, error) {
	c, err := p.Conductance(g, p.PairSigma/p.Sigma)
	return max(p.Sigma, p.Sigma*math.Sqrt(c.Least)*(1-1e-12)), err
}

// NoiseGraph returns the noise graph: g or, with Partners, a regular graph.
func (p Privacy) NoiseGraph(g *graph.Graph, seed uint64) (*graph.Graph, error) {
	if p.Partners == 0 {
		return g, nil
	}
	if g.N() > settings.MaxPartnered {
		return nil, fieldError("privacy.partners", p.Partners, "0 in a fleet of more than %d members", settings.MaxPartnered)
	}
	noise, err := graph.Parse("regular:"+strconv.Itoa(p.Partners), g.N(), seed)
	if err != nil {
		return nil, fieldError("privacy.partners", p.Partners, "a regular graph of %d members: %v", g.N(), err)
	}
	return noise, nil
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

// units returns the number of samples that a member must have: with UnitRecord the number that the fleet states,
// otherwise the value of samples.
func (f *Fleet) units(member, samples int) int {
	if f.Privacy.Unit == UnitRecord && member < len(f.Records) {
		return f.Records[member] * max(1, f.Privacy.Places)
	}
	return samples
}

// Protects returns the unit that each release protects: Unit or, with Places, [dpmech.Person].
func (p Privacy) Protects() Unit {
	if p.Unit == UnitRecord && p.Places > 1 {
		return dpmech.Person(p.Places, p.Person)
	}
	return p.Unit
}

// checkSamples returns an error if a member's number of samples differs from the number that the fleet states.
func (f *Fleet) checkSamples(member, samples int) error {
	if samples == f.units(member, samples) {
		return nil
	}
	units, places := f.Records[member], max(1, f.Privacy.Places)
	if samples%places != 0 {
		return &FieldError{Package: "sdk", Field: "Samples", Found: fmt.Sprint(samples), Want: fmt.Sprintf("%d, %d places for each "+
			"of the %d persons of %q", units*places, places, units, f.Members[member])}
	}
	unit := "records"
	if places > 1 {
		unit = "persons"
	}
	return fmt.Errorf("sdk: the data of %q has %d %s, the fleet says %d: this number is public and fixed during a run, so even invalid rows "+
		"must not be removed; restore them, with blank cells for who withdraws, or let the next run have another number (fleet next -records)",
		f.Members[member], samples/places, unit, units)
}

func (f *Fleet) checkPrivacy(errs *faults) {
	pr, w := f.Privacy, f.wire()
	errs.refuse(pr.NonPrivate && (pr != Privacy{NonPrivate: true}), "privacy.non_private", true,
		"false, or no other privacy setting (the settings are %+v)", pr)
	errs.refuse(pr == Privacy{}, "privacy", struct{}{}, "clip, sigma and delta, or non_private")
	errs.refuse(pr.LimitAll != 0 && !(pr.EpsilonLimit > 0 && pr.LimitAll >= pr.EpsilonLimit), "privacy.epsilon_limit_all",
		pr.LimitAll, "0 (no limit), or a value of at least epsilon_limit (%v); epsilon_limit must then be above 0",
		pr.EpsilonLimit)
	if pr.PairSigma == 0 {
		const want = "0, because pair_sigma is 0 and members share no noise"
		errs.refuse(pr.EffectiveSigma != 0, "privacy.effective_sigma", pr.EffectiveSigma, want)
		errs.refuse(pr.Colluders != 0, "privacy.colluders", pr.Colluders, want)
		errs.refuse(pr.Absent != 0, "privacy.absent", pr.Absent, want)
		errs.refuse(pr.Partners != 0, "privacy.partners", pr.Partners, want)
		errs.refuse(pr.LimitAll != 0, "privacy.epsilon_limit_all", pr.LimitAll, want)
	}
	errs.refuse(pr.Partners != 0 && pr.Absent != 0, "privacy.absent", pr.Absent,
		"0, because members share noise with partners, which stays in their releases even if the partners vanish")
	errs.refuse(w.GridBits != 0 && pr.NonPrivate, "wire.grid_bits", w.GridBits,
		"0: a fleet that is not private has no noise that would hide the rounding")
}

// checkPairKeys checks the one-time keys of pairwise noise.
func (f *Fleet) checkPairKeys(errs *faults) {
	if f.PairKeys == nil {
		return
	}
	errs.refuse(f.Privacy.PairSigma == 0, "members.pair_key", keysOf(len(f.PairKeys)), "none, because pair_sigma is 0 and members share no noise")
	errs.refuse(len(f.PairKeys) != len(f.Members), "members.pair_key", keysOf(len(f.PairKeys)), "one key of each of the %d members", len(f.Members))
	owner := map[pair.Public]int{}
	for i, key := range f.PairKeys {
		field := fmt.Sprintf("members[%d].pair_key", i)
		if err := key.Check(); err != nil {
			errs.refuse(true, field, key.String(), "a public key of X25519, but this one %v", err)
		}
		first, taken := owner[key]
		errs.refuse(taken, field, key.String(), "a key of its own, but that of members[%d] is the same", first)
		owner[key] = i
	}
}

// checkShared returns an error if the graph of pairwise noise does not yield the configured effective sigma.
func (f *Fleet) checkShared(g *graph.Graph) error {
	p := f.Privacy
	least := p.Gaussian()
	least.Shared.Effective = least.Sigma
	if least.Validate() != nil { // the machine reports the error
		return nil
	}
	c, err := p.Conductance(g, p.PairSigma/p.Sigma)
	if err != nil {
		return fmt.Errorf("sdk: fleet: %w", err)
	}
	if most := p.Sigma * math.Sqrt(c.Least); !(p.EffectiveSigma >= p.Sigma && p.EffectiveSigma <= most) {
		why := "this is a lower bound, because the exact value takes too long"
		if c.Exact {
			var without []string
			for _, v := range c.Without {
				without = append(without, f.Members[v])
			}
			why = fmt.Sprintf("the worst case is %q if %q collude or vanish", f.Members[c.Node], without)
		}
		return fieldError("privacy.effective_sigma", p.EffectiveSigma,
			"at least sigma (%v), and at most %v, the noise that remains against %v; %s", p.Sigma, most, p.Gaussian().Shared.Adversary(), why)
	}
	return nil
}

// affordable returns an error if the rounds cost more than the run may spend. It is called before the first release.
func (f *Fleet) affordable() error {
	l, g := f.Privacy.Limit(), f.Privacy.Gaussian()
	if f.Privacy.NonPrivate || l == nil || g.Validate() != nil { // the machine reports an invalid g
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
