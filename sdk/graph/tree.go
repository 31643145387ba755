package graph

import "slices"

const treeWork = 5e8 // edges that the trees of all nodes together may look at

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
