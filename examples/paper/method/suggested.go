package method

import (
	"context"
	"errors"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Suggested is SPADE-DFL with the settings that [plan.Suggest] derives from public numbers. Its runs equal the runs of
// "spade-edge simulate" with only the flags for graph, rounds, epsilon and delta. There is nothing to search, and a run
// queries as many losses as these settings need, regardless of w.Queries.
type Suggested struct {
	Colluders int // if positive, noise is pairwise, and w.Privacy also holds against this many colluders
}

// Name implements [Method].
func (m Suggested) Name() string {
	if m.Colluders > 0 {
		return "SPADE-DFL with colluders " + strconv.Itoa(m.Colluders)
	}
	return "SPADE-DFL"
}

// Space implements [Method].
func (Suggested) Space(*World) []Param { return nil }

// Queries returns the number of losses that the run queries per sample and round.
func (m Suggested) Queries(w *World) (int, error) {
	f, err := m.fleet(w)
	if err != nil || f.Method.Estimator == zoest.Tracking {
		return f.Method.Tau, err
	}
	return f.Method.Tau + 1, nil // one more query per sample, to fill the table
}

func (m Suggested) fleet(w *World) (f sdk.Fleet, err error) {
	if err := w.checkEither(true); err != nil {
		return f, err
	}
	f = sdk.Fleet{Run: "simulate", Dim: w.Dim, X0: w.X0}
	known := plan.Known{Dim: w.Dim, Open: true, Columns: w.Columns, Method: sdk.Method{Rounds: w.Rounds, Seed: w.Seed},
		Privacy: sdk.Privacy{NonPrivate: w.Privacy == nil}}
	for i, c := range w.Clients {
		f.Members, known.Samples = append(f.Members, "node-"+strconv.Itoa(i)), append(known.Samples, c.Samples)
	}
	for _, e := range w.Graph.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	if p := w.Privacy; p != nil {
		known.Privacy.EpsilonLimit, known.Privacy.Delta = p.Epsilon, p.Delta
		if m.Colluders > 0 {
			known.Graph, known.Privacy.Colluders = w.Graph, m.Colluders
		}
	}
	if w.records() {
		known.Privacy.Unit, f.Records = dpmech.Record, known.Samples
	}
	f.Method, f.Privacy, err = plan.Suggest(known)
	return f, err
}

// Run implements [Method].
func (m Suggested) Run(ctx context.Context, w *World, s Setting,
	each func(round int, models [][]float32) error) (Spent, error) {
	f, err := m.fleet(w)
	if err = errors.Join(err, s.check(m.Name(), nil)); err != nil {
		return Spent{}, err
	}
	samples := make([]int, len(w.Clients))
	for i, c := range w.Clients {
		samples[i] = c.Samples
	}
	network, err := w.network(&f, samples, func(int, *sim.Client) {})
	if err != nil {
		return Spent{}, err
	}
	err = network.Run(ctx, func(round int) error {
		models := network.Models()
		for i, x := range models {
			models[i] = f.Model(x, round)
		}
		return each(round, models)
	})
	if err != nil {
		return Spent{}, err
	}
	spent := Spent{Scalars: 2 * int64(len(f.Edges)) * int64(w.Dim) * int64(f.Method.Last())}
	spent.Queries, _ = network.Queries()
	return spent, nil
}
