package plan

import (
	"slices"
	"sort"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/settings"
)

// Numbers of partners that [Suggest] chooses.
const (
	everybody  = 128 // largest fleet in which each member shares noise with all others
	spare      = 12  // partners beyond twice the number that may collude or be absent
	nearlyAll  = 0.7 // if partners are this share of all others, choose all others
	worthwhile = 0.9 // largest acceptable noise with partners, relative to that without
)

// pairUp chooses which members share noise. If most neighbors of a member may collude, little pairwise noise protects
// it on the communication graph. A random graph whose nodes have a few more than twice as many edges as may be lost
// keeps nearly all of that noise, and its proven bound is tight; see sdk/DEFAULTS.md.
func (k *Known) pairUp(p *sdk.Privacy) (err error) {
	if k.Graph == nil {
		return nil
	}
	if !k.mayPair() {
		k.noise, err = p.NoiseGraph(k.Graph, k.Method.Seed)
		return err
	}
	n, far := k.Graph.N(), *p
	if far.Partners = 2*min(p.Colluders+p.Absent, n) + spare; n <= everybody || float64(far.Partners) > nearlyAll*float64(n-1) {
		far.Partners = n - 1
	}
	near, err := k.unit(*p)
	if err != nil {
		return err
	}
	with, err := k.unit(far)
	if err == nil && with < worthwhile*near {
		*p = far
	}
	if err == nil {
		k.noise, err = p.NoiseGraph(k.Graph, k.Method.Seed)
	}
	return err
}

// mayPair reports whether the choice of partners is open and partners are possible.
func (k *Known) mayPair() bool {
	return k.Graph != nil && k.Privacy.Partners == 0 && !slices.Contains(k.Fixed, "privacy.partners") && k.Privacy.Sigma == 0 &&
		k.Graph.N() > 3 && k.Graph.N() <= settings.MaxPartnered
}

// unit returns the local noise of members whose effective sigma is 1.
func (k *Known) unit(p sdk.Privacy) (float64, error) {
	noise, err := p.NoiseGraph(k.Graph, k.Method.Seed)
	if err == nil {
		p.Sigma = 1
		err = share(&p, noise)
	}
	return p.Sigma, err
}

// MostColluders returns the largest number of colluders that costs little: for the same guarantee, the noise in the
// members' mean is at most a tenth above that for one colluder, and every member shares noise with at least one more
// than may collude or be absent. The result depends on Graph, Method.Seed, and Absent and Partners of Privacy. It fails
// if one colluder is too many.
func MostColluders(k Known) (int, error) {
	p := sdk.Privacy{Absent: k.Privacy.Absent, Partners: k.Privacy.Partners, Colluders: 1}
	one, err := k.unit(p)
	most := one
	if err == nil && k.mayPair() {
		p.Partners = k.Graph.N() - 1
		with, wrong := k.unit(p)
		most, err = min(one, with), wrong
	}
	if err != nil {
		return 0, err
	}
	search := func(partners int) (int, error) { // among graphs with that many partners
		p.Partners = partners
		noise, err := p.NoiseGraph(k.Graph, k.Method.Seed)
		if err != nil {
			return 0, err
		}
		least := noise.N()
		for i := range noise.N() {
			least = min(least, len(noise.Neighbors(i)))
		}
		return 1 + sort.Search(max(0, least-p.Absent-2), func(more int) bool {
			p.Colluders = 2 + more
			sigma, err := k.unit(p)
			return err != nil || sigma > mostShare*most
		}), nil
	}
	n, err := search(k.Privacy.Partners)
	if err == nil && k.mayPair() {
		all, wrong := search(k.Graph.N() - 1)
		n, err = max(n, all), wrong
	}
	return n, err
}
