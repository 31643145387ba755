package plan

import (
	"slices"
	"sort"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/settings"
)

// Numbers of partners that [Suggest] chooses.
const (
	everybody  = 128 // members of a fleet in which each shares noise with all others
	spare      = 12  // partners beside twice as many as may collude or be absent
	nearlyAll  = 0.7 // share of all others from which on it is all of them
	worthwhile = 0.9 // the most noise with partners, of that without
)

// pairUp chooses who shares noise with whom. Where most neighbors of a member may collude, little noise is left on the graph of
// who talks to whom. On a random graph with a few more than twice as many edges at each member as may be lost, nearly all is
// left, and the bound that proves it is close; see sdk/DEFAULTS.md.
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

// mayPair reports whether it is open with whom members share noise, and partners are possible.
func (k *Known) mayPair() bool {
	return k.Graph != nil && k.Privacy.Partners == 0 && !slices.Contains(k.Fixed, "privacy.partners") && k.Privacy.Sigma == 0 &&
		k.Graph.N() > 3 && k.Graph.N() <= settings.MaxPartnered
}

// unit returns the own noise of members whose effective sigma is 1.
func (k *Known) unit(p sdk.Privacy) (float64, error) {
	noise, err := p.NoiseGraph(k.Graph, k.Method.Seed)
	if err == nil {
		p.Sigma = 1
		err = share(&p, noise)
	}
	return p.Sigma, err
}

// MostColluders returns the largest number of colluders that costs little: for the same claim the noise in the mean of all
// members is at most a tenth more than with one colluder, and every member shares noise with one more than may collude or be
// absent. It depends on Graph and Method.Seed, and on Absent and Partners of Privacy. It fails if not even one is possible.
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
	search := func(partners int) (int, error) { // among graphs with so many
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
