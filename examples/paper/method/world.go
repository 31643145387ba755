package method

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Bounds that keep every product of counts within an int of 32 bits.
const (
	maxSamples = 1 << 24
	maxRounds  = 1 << 20
	maxWhole   = 1 << 10 // largest value of a whole parameter, such as the local steps of a round
)

// check reports all errors in w at once. It refuses record-level privacy, which most methods cannot provide. If network
// is true, it requires a graph, for methods in which clients communicate directly.
func (w *World) check(network bool) error {
	err := w.checkEither(network)
	if w.records() {
		err = errors.Join(err, errors.New("method: Privacy.Unit is record, want client: the method does not clip each record's contribution"))
	}
	return err
}

func (w *World) records() bool { return w.Privacy != nil && w.Privacy.Unit == dpmech.Record }

// checkEither is like check, but accepts record-level privacy.
func (w *World) checkEither(network bool) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("method: "+format, args...)) }
	if len(w.Clients) == 0 {
		fault("Clients is empty, want at least one client")
	}
	for i, c := range w.Clients {
		if c.Oracle == nil {
			fault("Clients[%d].Oracle is nil", i)
		}
		if c.Samples < 1 || c.Samples > maxSamples {
			fault("Clients[%d].Samples is %d, want 1..%d", i, c.Samples, maxSamples)
		}
	}
	if w.Dim < 1 {
		fault("Dim is %d, want at least 1", w.Dim)
	}
	if w.X0 != nil && len(w.X0) != w.Dim {
		fault("X0 has %d numbers, want nil or Dim = %d", len(w.X0), w.Dim)
	}
	if w.Rounds < 1 || w.Rounds > maxRounds {
		fault("Rounds is %d, want 1..%d", w.Rounds, maxRounds)
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

func (w *World) replicas(n int) [][]float32 {
	all := make([]float32, n*w.Dim)
	x := make([][]float32, n)
	for i := range x {
		x[i] = all[i*w.Dim : (i+1)*w.Dim : (i+1)*w.Dim]
		copy(x[i], w.X0)
	}
	return x
}

// allowance returns the number of losses that a client may be asked for in a round. Call it only if Queries is
// positive.
func (w *World) allowance(client int) int {
	// A budget of 1.1 with 10 samples allows 11 losses, although the float64 product is slightly smaller.
	m := float64(w.Clients[client].Samples)
	return int(min(math.Floor(float64(w.Queries*m)+float64(1e-9*m)), 1<<30))
}

// overBudget returns the error for a round that would ask a client for the given number of losses, which exceeds its
// budget.
func (w *World) overBudget(client, losses int) error {
	return fmt.Errorf("method: a round needs at least %d losses, but client %d with %d samples may query only %d "+
		"losses (Queries is %v)", losses, client, w.Clients[client].Samples, w.allowance(client), w.Queries)
}

// pairs returns the number of two-point estimates that each client makes in each of the given number of local steps: as
// many as the budget allows or, without a limit, one per sample. It fails if a client cannot afford one estimate per
// step.
func (w *World) pairs(steps int) ([]int, error) {
	n := make([]int, len(w.Clients))
	for i, c := range w.Clients {
		n[i] = c.Samples
		if w.Queries == 0 {
			continue
		}
		if n[i] = w.allowance(i) / (2 * steps); n[i] < 1 {
			return nil, w.overBudget(i, 2*steps)
		}
	}
	return n, nil
}

// affordable returns the largest number of items, from 1 to limit, that every client can afford if each item costs
// price losses.
func (w *World) affordable(limit, price int) float64 {
	if w.Queries > 0 {
		for i := range w.Clients {
			limit = min(limit, w.allowance(i)/price)
		}
	}
	return float64(max(limit, 1))
}

// samples divides a client's two-point estimates in one step among samples. The parameter pairs is the number of
// estimates. The results are the number of samples and the number of directions per sample, which is at most dirs. At
// record-level privacy, however, every step uses every record once, so that all records cost the same, and the budget
// alone determines the number of directions.
func (w *World) samples(client, pairs, dirs int) (n, each int, err error) {
	switch m := w.Clients[client].Samples; {
	case w.records() && pairs < m:
		return 0, 0, w.overBudget(client, 2*m)
	case w.records():
		return m, pairs / m, nil
	case w.Queries == 0:
		return pairs, dirs, nil
	}
	dirs = min(dirs, pairs)
	return pairs / dirs, dirs, nil
}

// dirs returns the parameter "dirs" with its search range. It is the number of directions in the estimate of one
// sample, and matters only if each sample's estimate is clipped.
func (w *World) dirs() []Param {
	if w.Privacy == nil || w.records() {
		return nil
	}
	return []Param{{Name: "dirs", Low: 1, High: w.affordable(min(2*w.Dim, 64), 2), Log: true, Whole: true}}
}

// steps returns the parameter "tau", the number of local steps, with its search range.
func (w *World) steps() Param {
	return Param{Name: "tau", Low: 1, High: w.affordable(20, 2), Log: true, Whole: true}
}

func norm(v []float32) float64 { return math.Sqrt(vec.SumSquares(v)) }
