package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Conductance is what is left of noise that neighbors cancel, in the worst case.
type Conductance struct {
	Least   float64 // of any node's conductance to ground, at least 1; rounded down, never more than the true one
	Node    int     // the node that has it
	Without []int   // the nodes that are taken away then, ascending; the Graph's own, not to be changed
	Exact   bool    // Least is the true one less a share of 2e-9 at most; otherwise it is a lower bound
}

// Limits of Conductance. The work is counted in numbers read, so that every processor stops at the same place.
const (
	maxRatio      = 1 << 12
	maxExactNodes = 1024 // the inverse matrix of so many has 8 MiB
	maxExactGone  = 2
	exactWork     = 1e6 // for each node, twice
	maxKept       = 64  // results
)

// kept holds the latest results by a hash of what they depend on, because a fleet's graph is made anew from the list of
// edges whenever the fleet is checked.
var kept = struct {
	sync.Mutex
	results map[[sha256.Size]byte]Conductance
}{results: map[[sha256.Size]byte]Conductance{}}

// Conductance returns the least conductance from any node to ground when so many colluders are taken away. Every node
// is wired to ground with a conductance of 1, and every edge has ratio^2, with ratio in (0, 4096]. As noise: if
// a node adds noise of variance 1 of its own, and for each neighbor noise of variance ratio^2 that it subtracts, then
// this is the variance of what hides it from somebody who sees all that is sent and knows all that colluders know. A
// result is kept, and so is cheap to ask for again. It has the same bits on every processor.
//
// The result is never more than the true one, for these reasons (Doyle and Snell, "Random walks and electric networks",
// 1984). By Rayleigh's law a conductance only falls when a part of the network is taken away: exactly colluders
// nodes are the worst, and the conductance of a part is a lower bound. By Thomson's principle the energy of any flow of
// one unit from a node to ground is an upper bound of its resistance.
//
// Up to 2 colluders and 1024 nodes, all choices are enumerated, and those that a bound by Thomson's principle rules out
// are left out; the result is Exact unless that takes too much work. Otherwise the result is the bound that a tree has:
// taking c nodes away from it cuts at most c branches at its root off, so the others' conductance is left.
func (g *Graph) Conductance(ratio float64, colluders int) (Conductance, error) {
	if !(ratio > 0 && ratio <= maxRatio) || colluders < 0 {
		return Conductance{}, fmt.Errorf("graph: conductance: found ratio %v and %d colluders, wanted a ratio in (0, %d] "+
			"and 0 colluders or more", ratio, colluders, maxRatio)
	}
	n, least := g.N(), 0
	for i := range n {
		if len(g.Neighbors(i)) < len(g.Neighbors(least)) {
			least = i
		}
	}
	if len(g.Neighbors(least)) <= colluders {
		return Conductance{Least: 1, Node: least, Without: g.Neighbors(least), Exact: true}, nil
	}
	hash := sha256.New()
	var b [16]byte
	put := func(x, y uint64) {
		binary.LittleEndian.PutUint64(b[:8], x)
		binary.LittleEndian.PutUint64(b[8:], y)
		hash.Write(b[:])
	}
	put(math.Float64bits(ratio), uint64(colluders))
	for _, e := range g.Edges() {
		put(uint64(e[0]), uint64(e[1]))
	}
	key := [sha256.Size]byte(hash.Sum(nil))
	kept.Lock() // for as long as it takes, so that members of one process do not all compute the same
	defer kept.Unlock()
	if c, ok := kept.results[key]; ok {
		return c, nil
	}
	w := float64(ratio * ratio)
	var c Conductance
	switch complete := len(g.Neighbors(least)) == n-1; {
	case complete: // the inverse of I + w*L is known: its diagonal is 1/m + (1-1/m)/(1+w*m)
		m := float64(n - colluders)
		c = Conductance{Least: m / (1 + (m-1)/(1+float64(w*m))), Exact: true}
		for v := 1; v <= colluders; v++ {
			c.Without = append(c.Without, v)
		}
		c.Least *= 1 - 1e-12
	case n <= maxExactNodes && colluders <= maxExactGone:
		c = newNetwork(g, w, colluders).search()
	default:
		c.Least = math.Inf(1)
		t := newTree(g, w)
		for i := range n {
			if k := t.bound(i, colluders); k < c.Least {
				c.Least, c.Node = k, i
			}
		}
		c.Without = t.best(c.Node, colluders)
	}
	c.Least = max(1, c.Least)
	slices.Sort(c.Without)
	if len(kept.results) == maxKept {
		clear(kept.results)
	}
	kept.results[key] = c
	return c, nil
}
