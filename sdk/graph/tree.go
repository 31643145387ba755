package graph

import (
	"math"
	"slices"
)

const treeWork = 5e8 // edges that the trees of all nodes together may read

// treeBound returns a lower bound on the conductance to ground of every node after any k nodes are removed, where k =
// gone is below the least degree. The bound for a node is the conductance of a tree rooted at the node, less the
// conductance of the k branches that conduct best: removing a node cuts off at most one branch, and by Rayleigh's law
// the tree conducts no more than the graph.
//
// A tree grows by levels, and a node joins the smallest branch that it can. All numbers are positive, so the rounding
// error is below 6 units in the last place for each node.
func (g *Graph) treeBound(w float64, gone int) float64 {
	n := g.N()
	level, parent, branch := make([]int, n), make([]int, n), make([]int, n) // levels from 1; 0 outside the tree
	size, k := make([]int, n), make([]float64, n)                           // k: conductance of a branch to ground
	order := make([]int, 0, n)
	least := math.Inf(1)
	for root, heads := range g.neighbors {
		clear(level)
		order = append(order[:0], root)
		level[root] = 1
		work := int(treeWork) / n
		for x := 0; x < len(order); x++ {
			u := order[x]
			if work -= len(g.neighbors[u]); work < 0 && u != root { // any part of the tree suffices
				break
			}
			for _, v := range g.neighbors[u] {
				switch {
				case level[v] == 0:
					level[v], parent[v], branch[v] = level[u]+1, u, branch[u]
					if u == root {
						branch[v], size[v] = v, 0
					}
					size[branch[v]]++
					order = append(order, v)
				case level[v] == level[u]+1 && u != root && size[branch[u]]+1 < size[branch[v]]: // v changes branches
					size[branch[v]]--
					size[branch[u]]++
					parent[v], branch[v] = u, branch[u]
				}
			}
		}
		for _, u := range order {
			k[u] = 1
		}
		for x := len(order) - 1; x > 0; x-- {
			v := order[x]
			k[v] = float64(w*k[v]) / (w + k[v])
			if parent[v] != root {
				k[parent[v]] += k[v]
			}
		}
		through := make([]float64, len(heads))
		for x, v := range heads {
			through[x] = k[v]
		}
		slices.Sort(through)
		sum := 1.0
		for _, c := range through[:len(heads)-gone] {
			sum += c
		}
		least = min(least, sum)
	}
	return least * (1 - 1e-9)
}
