package sdk

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// slowLevels is a limit: with this many other members or more, levels omits the case of no colluders in a dense graph,
// because this case would take seconds to compute.
const slowLevels = 512

// Levels returns lower bounds on the effective sigma by number of colluders; nil without pairwise noise.
func (f *Fleet) Levels() ([]dpmech.Level, error) {
	p, err := f.plan()
	if err != nil {
		return nil, err
	}
	return f.Privacy.levels(p.noise)
}

// levels implements [Fleet.Levels] for the graph g of pairwise noise. Let bare be the smallest number of colluders that
// may leave a member without pairwise noise. levels covers these numbers of colluders: 0; 1; Colluders or, if that is
// at most 1, sqrt(bare); half of the other members or, if that exceeds bare, bare/2; bare; and all other members.
func (p Privacy) levels(g *graph.Graph) ([]dpmech.Level, error) {
	if p.PairSigma == 0 {
		return nil, nil
	}
	others := g.N() - 1
	bare := others // the least number of colluders that may leave a member without pairwise noise
	for i := range g.N() {
		bare = min(bare, len(g.Neighbors(i)))
	}
	dense := bare < others && others >= slowLevels && len(g.Edges()) > 16*others
	bare = max(0, bare-p.Absent)
	some := []int{0, 1, int(math.Sqrt(float64(bare))), others / 2, bare / 2, p.Colluders, bare, others}
	if others/2 < bare {
		some[4] = 0
	}
	if p.Colluders > 1 { // Colluders replaces the default for the small number
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
		if c > p.Colluders { // more colluders cannot leave more noise (Rayleigh's law), but computed bounds may rise
			left = min(left, p.EffectiveSigma)
		}
		levels = append(levels, dpmech.Level{Colluders: c, Effective: left})
	}
	for i := len(levels) - 2; i >= 0; i-- {
		levels[i].Effective = max(levels[i].Effective, levels[i+1].Effective)
	}
	return levels, nil
}

// Curve returns the cost of releases by number of colluders; see [Fleet.Levels].
func (p Privacy) Curve(spent dpmech.Total, levels []dpmech.Level) dpmech.Curve {
	return dpmech.CurveOf(spent, p.Gaussian().Shared, levels, p.Delta, p.Accounting)
}
