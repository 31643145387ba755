package plan

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// Limits for the choice of partners by [Suggest].
const (
	everybody  = 128  // largest fleet in which each member shares noise with all others
	spare      = 12   // number of partners in addition to twice the colluders and absent members
	nearlyAll  = 0.7  // above this share of all other members, choose all of them as partners
	worthwhile = 0.9  // choose partners if the noise with them is below this share of the noise without them
	oneMore    = 0.03 // plan for one absent member if that raises the noise by less than this share
)

// pairUp chooses which members share noise. If only neighbors in the communication graph share noise, this noise
// protects a member little when most of its neighbors may collude. In a random graph of partners nearly all of the
// noise remains if each node has slightly more than twice as many partners as there are colluders and absent members;
// see sdk/DEFAULTS.md.
func (k *Known) pairUp(p *sdk.Privacy) (err error) {
	if k.Graph == nil {
		return nil
	}
	if k.mayPair() {
		n, far := k.Graph.N(), *p
		if far.Partners = 2*min(p.Colluders+p.Absent, n) + spare; n <= everybody || float64(far.Partners) > nearlyAll*float64(n-1) {
			far.Partners = n - 1
		}
		near, errNear := k.unit(*p)
		with, errFar := k.unit(far)
		if err := cmp.Or(errNear, errFar); err != nil {
			return err
		}
		if with < worthwhile*near {
			*p = far
			p.Absent = 0 // the noise of partners stays in their releases, whoever vanishes
		}
	}
	if err := k.spareOne(p); err != nil {
		return err
	}
	k.noise, err = k.Graph.Partners(p.Partners, k.Method.Seed)
	return err
}

// spareOne plans for one absent member where that costs little: after the loss of a member, its neighbors could otherwise
// share no more noise. It does nothing if the setting is fixed, or if members share noise with partners.
func (k *Known) spareOne(p *sdk.Privacy) error {
	if p.Partners > 0 || p.Absent > 0 || p.Sigma > 0 || slices.Contains(k.Fixed, "privacy.absent") {
		return nil
	}
	one := *p
	one.Absent = 1
	none, errNone := k.unit(*p)
	with, errOne := k.unit(one)
	if with < worthwhile && with < (1+oneMore)*none { // pairwise noise remains, and the local noise grows little
		p.Absent = 1
	}
	return cmp.Or(errNone, errOne)
}

// Effective returns the largest valid Privacy.EffectiveSigma for a graph of pairwise noise.
func Effective(p sdk.Privacy, noise *graph.Graph) (float64, error) {
	c, err := noise.Conductance(p.PairSigma/p.Sigma, p.Colluders+p.Absent)
	return max(p.Sigma, p.Sigma*math.Sqrt(c.Least)*(1-1e-12)), err
}

// mayPair reports whether [Suggest] may choose partners, which requires that the settings leave the choice open and
// that the graph has a suitable size.
func (k *Known) mayPair() bool {
	return k.Graph != nil && k.Privacy.Partners == 0 && !slices.Contains(k.Fixed, "privacy.partners") && k.Privacy.Sigma == 0 &&
		k.Graph.N() > 3 && k.Graph.N() <= graph.MaxPartnered
}

// unit returns the local sigma that yields an effective sigma of 1 if the function share chooses the ratio of pairwise
// to local noise.
func (k *Known) unit(p sdk.Privacy) (float64, error) {
	noise, err := k.Graph.Partners(p.Partners, k.Method.Seed)
	if err == nil {
		p.Sigma = 1
		err = share(&p, noise)
	}
	return p.Sigma, err
}

// MostColluders returns the largest number of colluders that a run tolerates at little cost: with the same guarantee,
// the noise in the members' mean is at most a tenth above the noise for one colluder, and every member shares noise
// with more members than may collude or be absent. The result depends on Graph, Method.Seed, Privacy.Absent and
// Privacy.Partners. MostColluders fails if even one colluder is too many.
func MostColluders(k Known) (int, error) {
	p := sdk.Privacy{Absent: k.Privacy.Absent, Partners: k.Privacy.Partners, Colluders: 1}
	choices := []int{p.Partners}
	if k.mayPair() {
		choices = append(choices, k.Graph.N()-1)
	}
	one := math.Inf(1) // the least noise with one colluder
	for _, p.Partners = range choices {
		sigma, err := k.unit(p)
		if err != nil {
			return 0, err
		}
		one = min(one, sigma)
	}
	most := 0
	for _, p.Partners = range choices {
		noise, err := k.Graph.Partners(p.Partners, k.Method.Seed)
		if err != nil {
			return 0, err
		}
		least := noise.N()
		for i := range noise.N() {
			least = min(least, len(noise.Neighbors(i)))
		}
		most = max(most, 1+sort.Search(max(0, least-p.Absent-2), func(more int) bool {
			p.Colluders = 2 + more
			sigma, err := k.unit(p)
			return err != nil || sigma > mostShare*one
		}))
	}
	return most, nil
}
