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
	treeWork      = 5e8
	maxKept       = 64 // results
)

// kept holds the latest results by a hash of what they depend on, because a fleet's graph is made anew from the list of
// edges whenever the fleet is checked.
var kept = struct {
	sync.Mutex
	results map[[sha256.Size]byte]Conductance
}{results: map[[sha256.Size]byte]Conductance{}}

// Conductance returns the least conductance from any node to ground when any colluders of the other nodes are taken away.
// Every node is wired to ground with a conductance of 1, and every edge has ratio^2, with ratio in (0, 4096]. In terms of
// noise: if a node adds noise of variance 1 of its own, and noise of variance ratio^2 that each of its neighbors
// subtracts, then the noise that hides it from whoever knows everything of the colluders and everything that is sent has
// this variance. A result is kept, and so is cheap to ask for again. It has the same bits on every processor.
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
		return Conductance{}, fmt.Errorf("graph: conductance: found ratio %v and %d colluders, wanted a ratio in (0, %d] and "+
			"0 colluders or more", ratio, colluders, maxRatio)
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
		c = g.search(w, colluders)
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

// tree makes spanning trees.
type tree struct {
	*Graph
	w      float64
	work   int // edges that a tree may look at
	seen   []int
	parent []int
	branch []int     // the child of the root above a node
	size   []int     // of the branch below a child of the root
	k      []float64 // conductance from a node to the ground of all below it
	order  []int     // the nodes of the tree, level by level
	sums   []float64 // conductances of the branches, ascending
}

func newTree(g *Graph, w float64) *tree {
	n := g.N()
	return &tree{Graph: g, w: w, work: treeWork / n, seen: make([]int, n), parent: make([]int, n), branch: make([]int, n),
		size: make([]int, n), k: make([]float64, n), order: make([]int, 0, n)}
}

// bound returns a lower bound of the conductance of root when any gone other nodes are taken away, fewer than it has
// neighbors: that of a tree in the graph without the gone best of the branches at its root. Levels are those of a
// breadth-first search; a node joins the smallest branch it can. All operations are on positive numbers, so that the
// rounding error is below 6 units in the last place for each node.
func (t *tree) bound(root, gone int) float64 {
	for _, u := range t.order {
		t.seen[u] = 0
	}
	t.seen[root] = 1 // level plus one
	t.order = append(t.order[:0], root)
	work := t.work
	for level, from := 1, 0; from < len(t.order); level++ {
		to := len(t.order)
		for _, u := range t.order[from:to] {
			if work -= 2 * len(t.Neighbors(u)); work < 0 && u != root { // any part of the tree will do
				break
			}
			for _, v := range t.Neighbors(u) {
				if t.seen[v] == 0 {
					t.seen[v] = level + 1
					t.order = append(t.order, v)
				}
			}
		}
		for _, v := range t.order[to:] {
			if level == 1 {
				t.parent[v], t.branch[v], t.size[v] = root, v, 1
				continue
			}
			best := -1
			for _, u := range t.Neighbors(v) {
				if t.seen[u] == level && (best < 0 || t.size[t.branch[u]] < t.size[t.branch[best]]) {
					best = u
				}
			}
			t.parent[v], t.branch[v] = best, t.branch[best]
			t.size[t.branch[v]]++
		}
		from = to
	}
	for _, u := range t.order {
		t.k[u] = 1
	}
	heads := t.Neighbors(root)
	for x := len(t.order) - 1; x > len(heads); x-- { // those next to the root come right after it
		v := t.order[x]
		t.k[t.parent[v]] += t.through(v)
	}
	t.sums = t.sums[:0]
	for _, v := range heads {
		t.sums = append(t.sums, t.through(v))
	}
	slices.Sort(t.sums)
	sum := 1.0
	for _, k := range t.sums[:len(heads)-gone] {
		sum += k
	}
	return sum * (1 - 1e-9)
}

// best returns the first nodes of the branches that bound leaves out.
func (t *tree) best(root, gone int) (heads []int) {
	t.bound(root, gone)
	least := t.sums[len(t.sums)-gone:]
	for _, equal := range []bool{false, true} {
		for _, v := range t.Neighbors(root) {
			if k := t.through(v); len(heads) < gone && (k == least[0]) == equal && k >= least[0] {
				heads = append(heads, v)
			}
		}
	}
	return heads
}

// through returns the conductance of the edge to v and all below in a row.
func (t *tree) through(v int) float64 { return float64(t.w*t.k[v]) / (t.w + t.k[v]) }
