package method

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// check reports every fault of the world at once. A network is asked for only where clients talk to each other.
func (w *World) check(network bool) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("method: "+format, args...)) }
	if len(w.Clients) == 0 {
		fault("Clients is empty, want at least one client")
	}
	for i, c := range w.Clients {
		if c.Oracle == nil || c.Samples < 1 || c.Samples > math.MaxInt32 {
			fault("Clients[%d] has %d samples and the oracle %v, want 1..%d samples and an oracle", i, c.Samples, c.Oracle, math.MaxInt32)
		}
	}
	if w.Dim < 1 {
		fault("Dim is %d, want at least 1", w.Dim)
	}
	if w.X0 != nil && len(w.X0) != w.Dim {
		fault("X0 has %d numbers, want nil or Dim = %d", len(w.X0), w.Dim)
	}
	if w.Rounds < 1 || w.Rounds > math.MaxInt32 {
		fault("Rounds is %d, want 1..%d", w.Rounds, math.MaxInt32)
	}
	if !(w.Queries >= 0) || math.IsInf(w.Queries, 0) {
		fault("Queries is %v, want 0 (no bound) or more", w.Queries)
	}
	switch {
	case !network:
	case w.Graph == nil:
		fault("Graph is nil, want one with a node for each of the %d clients", len(w.Clients))
	case w.Graph.N() != len(w.Clients):
		fault("Graph has %d nodes, want one for each of the %d clients", w.Graph.N(), len(w.Clients))
	}
	return errors.Join(errs...)
}

// replicas returns n copies of the common start.
func (w *World) replicas(n int) [][]float32 {
	all := make([]float32, n*w.Dim)
	x := make([][]float32, n)
	for i := range x {
		x[i] = all[i*w.Dim : (i+1)*w.Dim : (i+1)*w.Dim]
		copy(x[i], w.X0)
	}
	return x
}

// allowance is how many losses a client with m samples may ask for in a round; free is what stands in for it without a bound.
func (w *World) allowance(m int, free int) int {
	if w.Queries == 0 {
		return free
	}
	// A budget such as 1.1 times 10 samples is 11 losses, though the product is a little less.
	n := math.Floor(float64(w.Queries*float64(m)) + float64(1e-9*float64(m)))
	return int(min(n, 1<<40))
}

// overBudget is the refusal of a round that takes more losses than a client may ask for.
func (w *World) overBudget(client, losses int) error {
	m := w.Clients[client].Samples
	return fmt.Errorf("method: a round takes at least %d losses, and client %d with %d samples may ask for %d",
		losses, client, m, w.allowance(m, 0))
}

// pairs returns how many two-point estimates a client can afford in each of its local steps: all that the budget allows, or
// one for every sample if there is no bound. It fails if that is none.
func (w *World) pairs(client, steps int) (int, error) {
	m := w.Clients[client].Samples
	n := w.allowance(m, 2*m*steps) / (2 * steps)
	if n < 1 {
		return 0, w.overBudget(client, 2*steps)
	}
	return n, nil
}

// mostSteps is the largest number of local steps up to limit that every client can afford, at least 1.
func (w *World) mostSteps(limit int) float64 {
	for _, c := range w.Clients {
		limit = min(limit, w.allowance(c.Samples, 2*limit)/2)
	}
	return float64(max(limit, 1))
}

// steps is the range in which the number of local steps is searched.
func (w *World) steps() Param {
	return Param{Name: "tau", Low: 1, High: w.mostSteps(20), Log: true, Whole: true}
}

// norm returns the Euclidean norm.
func norm(v []float32) float64 { return math.Sqrt(vec.SumSquares(v)) }
