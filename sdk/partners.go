package sdk

import (
	"fmt"
	"sort"
	"strconv"

	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// maxPartnered is the largest number of members of whom some share noise that are not neighbors: for more there is no
// useful bound of what is left of it.
const maxPartnered = 1024

// NoiseGraph returns who shares noise with whom: g, the graph of who talks to whom, unless members have Partners. seed is
// Method.Seed.
func (p Privacy) NoiseGraph(g *graph.Graph, seed uint64) (*graph.Graph, error) {
	if p.Partners == 0 {
		return g, nil
	}
	if g.N() > maxPartnered {
		return nil, &FieldError{Package: "sdk: fleet", Field: "privacy.partners", Found: fmt.Sprint(p.Partners),
			Want: fmt.Sprintf("0 in a fleet of more than %d members", maxPartnered)}
	}
	noise, err := graph.Parse("regular:"+strconv.Itoa(p.Partners), g.N(), seed)
	if err != nil {
		return nil, &FieldError{Package: "sdk: fleet", Field: "privacy.partners", Found: fmt.Sprint(p.Partners),
			Want: fmt.Sprintf("a regular graph of %d members: %v", g.N(), err)}
	}
	return noise, nil
}

// Numbers of partners that [Suggest] chooses.
const (
	everybody  = 64  // members of a fleet in which each shares noise with all others
	spare      = 12  // partners beside twice as many as may collude or be absent
	nearlyAll  = 0.7 // share of all others from which on it is all of them
	worthwhile = 0.9 // the most noise with partners, of that without
)

// pairUp chooses who shares noise with whom, if members share any. Where all neighbors of a member may collude, or many of
// them, little noise is left on the graph of who talks to whom. On a random graph with a few more than twice as many edges at
// each member as may be lost, nearly all is, and the bound that proves it is close; see sdk/DEFAULTS.md.
func (k *Known) pairUp(p *Privacy) (err error) {
	open := p.Partners == 0 && p.Sigma == 0
	p.Partners = max(0, p.Partners)
	if k.Graph == nil {
		return nil
	}
	n := k.Graph.N()
	if !open || n < 4 || n > maxPartnered {
		k.noise, err = p.NoiseGraph(k.Graph, k.Method.Seed)
		return err
	}
	near, far := *p, *p
	near.Sigma, far.Sigma = 1, 1
	if far.Partners = 2*min(p.Colluders+p.Absent, n) + spare; n <= everybody || float64(far.Partners) > nearlyAll*float64(n-1) {
		far.Partners = n - 1
	}
	noise, err := far.NoiseGraph(k.Graph, k.Method.Seed)
	if err == nil {
		err = near.share(k.Graph)
	}
	if err == nil {
		err = far.share(noise)
	}
	if err != nil {
		return err
	}
	if k.noise = k.Graph; far.Sigma < worthwhile*near.Sigma {
		p.Partners, k.noise = far.Partners, noise
	}
	return nil
}

// MostColluders returns the largest number of colluders that costs little: the noise that is left in the mean of all members
// is at most a tenth more than with one colluder, for the same claim, and every member keeps a neighbor that does not
// collude if so many members vanish. It depends on the graph alone. The error says that not even one is possible.
func MostColluders(g *graph.Graph, absent int) (int, error) {
	noise := func(c int) (float64, error) {
		p := Privacy{Sigma: 1, Colluders: c, Absent: absent}
		err := p.share(g)
		return p.Sigma, err
	}
	one, err := noise(1)
	if err != nil {
		return 0, err
	}
	least := g.N()
	for i := range g.N() {
		least = min(least, len(g.Neighbors(i)))
	}
	return 1 + sort.Search(max(0, least-absent-2), func(more int) bool {
		sigma, err := noise(2 + more)
		return err != nil || sigma > 1.1*one
	}), nil
}
