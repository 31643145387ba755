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
	few, half := p.Colluders, bare/2
	if few <= 1 {
		few = int(math.Sqrt(float64(bare)))
	}
	if others/2 < bare {
		half = others / 2
	}
	some := []int{0, 1, few, half, p.Colluders, bare, others}
	slices.Sort(some)
	var levels []dpmech.Level
	for _, c := range slices.Compact(some) {
		if c > others || c > bare && c < others && c != p.Colluders || c == 0 && dense && p.Colluders > 0 {
			continue
		}
		left := p.EffectiveSigma
		if c != p.Colluders {
			at := p
			at.Colluders = c
			var err error
			if left, err = at.Effective(g); err != nil {
				return nil, err
			}
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
