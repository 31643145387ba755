package sdk

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// slowLevels is the number of members of a dense graph from which on the noise that is left to outsiders is not computed,
// which takes seconds: what is left to one member is a bound of it.
const slowLevels = 512

// Levels returns what is left of the noise that members share: to outsiders, to one other member, a few,
// which are Colluders if that is more than one, half and all others, and to as many as may be all those that share noise with some
// member. [dpmech.CurveOf] makes epsilons of it. The figures are lower bounds with the same bits on every processor, those of [Privacy.Effective], and as the
// fleet states it for Colluders. Without shared noise there are none. It fails if the fleet is not valid.
func (f *Fleet) Levels() ([]dpmech.Level, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	return f.Privacy.levels(p.noise)
}

// levels is [Fleet.Levels] for the graph of who shares noise with whom.
func (p Privacy) levels(g *graph.Graph) ([]dpmech.Level, error) {
	if p.PairSigma == 0 {
		return nil, nil
	}
	others := g.N() - 1
	bare := others // so many colluders may leave a member no shared noise
	for i := range g.N() {
		bare = min(bare, len(g.Neighbors(i)))
	}
	dense := bare < others && others >= slowLevels && len(g.Edges()) > 16*others
	bare = max(0, bare-p.Absent)
	some := []int{0, 1, int(math.Sqrt(float64(bare))), others / 2, bare / 2, p.Colluders, bare, others}
	if others/2 < bare {
		some[4] = 0
	}
	if p.Colluders > 1 { // these are the few
		some[2] = 0
	}
	slices.Sort(some)
	var levels []dpmech.Level
	for _, c := range slices.Compact(some) {
		switch {
		case c > others || c > bare && c < others && c != p.Colluders || c == 0 && dense && p.Colluders > 0:
			continue
		case c == p.Colluders:
			levels = append(levels, dpmech.Level{Colluders: c, Effective: p.EffectiveSigma})
			continue
		}
		at := p
		at.Colluders = c
		left, err := at.Effective(g)
		if err != nil {
			return nil, err
		}
		if c > p.Colluders { // by Rayleigh's law; a bound may be above the one of fewer colluders
			left = min(left, p.EffectiveSigma)
		}
		levels = append(levels, dpmech.Level{Colluders: c, Effective: left})
	}
	for i := len(levels) - 2; i >= 0; i-- {
		levels[i].Effective = max(levels[i].Effective, levels[i+1].Effective)
	}
	return levels, nil
}

// Curve returns what releases of the run cost by the number of members who work together. levels are those of
// [Fleet.Levels].
func (p Privacy) Curve(spent dpmech.Total, levels []dpmech.Level) dpmech.Curve {
	return dpmech.CurveOf(spent, p.Shared(), levels, p.Delta, p.Accounting)
}

// Curve returns what all rounds of a private run cost by the number of members who work together. It fails if the fleet is
// not valid.
func (f *Fleet) Curve() (dpmech.Curve, error) {
	levels, err := f.Levels()
	if err != nil {
		return dpmech.Curve{}, err
	}
	return f.Privacy.Curve(f.Total(f.Method.Rounds), levels), nil
}
