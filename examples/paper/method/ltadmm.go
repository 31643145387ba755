package method

import (
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// ltadmm is the network side of LT-ADMM by Ren, Bastianello, Johansson and Parisini, "Communication-efficient
// stochastic distributed learning", IEEE TAC 71(9), 2026 (arXiv 2501.13516), Algorithm 1. In round k, client i computes
//
//	phi^0   = x_i,k
//	phi^t+1 = phi^t - gamma g_i(phi^t) - beta (rho |N_i| x_i,k - sum_j z_ij,k),   t = 0, ..., tau-1
//	x_i,k+1 = phi^tau
//	sends z_ij,k - 2 rho x_i,k+1 to each neighbor j, and
//	z_ij,k+1 = (z_ij,k - (z_ji,k - 2 rho x_j,k+1)) / 2
//
// The correction is constant within the round, as in the LT_ADMM class of decent-bench, the library of the authors'
// group (relaxation 1/2). z_ij starts at x_i,0; the authors also use rho x_i,0, which is the same for rho = 1.
//
// Only the product of beta and rho matters: with z in units of rho, rho disappears from the last line and remains in
// the second line as beta*rho. Therefore rho is 1 here, and the search varies the gain tau*beta*lambda_max(L) as a
// share of 8/3, above which disagreement grows. This covers exactly the useful settings of beta and rho.
type ltadmm struct {
	g       *graph.Graph
	beta    float32
	x       [][]float32
	z       [][][]float32 // z[i][k] is z_ij for i's k-th neighbor j
	next    [][][]float32
	reverse [][]int // reverse[i][k] is the index of i among the neighbors of i's k-th neighbor
}

func newLTADMM(w *World, tau int, share float64) *ltadmm {
	n := len(w.Clients)
	a := &ltadmm{
		g:       w.Graph,
		beta:    float32(w.Graph.Gain(share, 1) / float64(tau)),
		x:       w.replicas(n),
		z:       make([][][]float32, n),
		next:    make([][][]float32, n),
		reverse: make([][]int, n),
	}
	place := make([]int, n)
	for i := range n {
		degree := len(w.Graph.Neighbors(i))
		a.z[i] = w.replicas(degree)
		a.next[i] = vectors(degree, w.Dim)
		a.reverse[i] = make([]int, degree)
		for k, j := range w.Graph.Neighbors(i) {
			// The outer loop visits the neighbors i of j in ascending order, which is also their order in j's list.
			a.reverse[i][k] = place[j]
			place[j]++
		}
	}
	return a
}

// penalty stores in p the vector |N_i| x_i - sum_j z_ij, with z in units of rho.
func (a *ltadmm) penalty(p []float32, i int) {
	clear(p)
	for k := range a.z[i] {
		vec.Axpy(p, 1, a.x[i])
		vec.Axpy(p, -1, a.z[i][k])
	}
}

// step makes one local step of phi, along the gradient estimate g and the penalty p.
func (a *ltadmm) step(phi []float32, gamma float32, g, p []float32) {
	vec.Axpy(phi, -gamma, g)
	vec.Axpy(phi, -a.beta, p)
}

// exchange sends the messages on all edges and updates all z. It returns the count of numbers sent.
func (a *ltadmm) exchange() int64 {
	var sent int64
	for i := range a.z {
		for k, j := range a.g.Neighbors(i) {
			mine, theirs, next := a.z[i][k], a.z[j][a.reverse[i][k]], a.next[i][k]
			for c, x := range a.x[j] {
				message := theirs[c] - float32(2*x)
				next[c] = (mine[c] - message) / 2
			}
			sent += int64(len(next))
		}
	}
	a.z, a.next = a.next, a.z
	return sent
}
