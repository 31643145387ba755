package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/zoest"
)

// study holds the parameters of the comparison that fewRecords makes.
type study struct {
	network frozen.Network
	dims    []int // lengths of the adapter, whose numbers are coordinates in a random subspace
	each    []int // numbers of digits of one member
	total   int   // queries of each digit in a run
	queries []int // queries of each digit in a round; each must divide total
	scales  []scale
	seeds   int
	clean   int // number of digits on which the frozen network is trained
	held    int // number of digits for evaluation
}

// scale holds factors for two settings from package plan: the smoothing radius, and the step size that plan chooses for
// the scaled radius. Each table cell has its own scale.
type scale struct{ radius, step float64 }

var complete = study{
	network: frozen.Small, dims: []int{64, 128, 256, 512, 1024}, each: []int{20, 60}, total: 96, queries: []int{2, 3, 8, 16, 32},
	seeds: 3, clean: frozen.Clean, held: 2000,
	scales: []scale{{1, 1}, {1, 0.25}, {1, 4}, {0.25, 1}, {0.25, 0.25}, {0.25, 4}, {0.0625, 1}, {0.0625, 4}, {0.0625, 16}},
}

// cell identifies runs that differ only in their seed.
type cell struct {
	dim, each int
	estimator zoest.Kind
	queries   int // number of queries of each digit in a round
}

// fleet returns the fleet for the runs of a cell. With the paper's estimator, a round has one fewer local
// step, because filling the loss table takes one query per digit.
func (s *study) fleet(c cell, to scale, seed uint64) (*sdk.Fleet, error) {
	known := plan.Known{Privacy: sdk.Privacy{NonPrivate: true}, Method: sdk.Method{Rounds: s.total / c.queries, Tau: c.queries,
		Cooldown: 5, Estimator: c.estimator, Directions: zoest.Walsh, Seed: seed}}
	if c.estimator != zoest.Tracking {
		known.Method.Tau--
	}
	f, err := suggested(s.network.Subspace(c.dim), c.each, known)
	if err != nil {
		return nil, err
	}
	known.Method.Mu = admm.Schedule{f.Method.Mu[0] * to.radius}
	if f, err = suggested(s.network.Subspace(c.dim), c.each, known); err != nil {
		return nil, err
	}
	f.Method.Eta[0] *= to.step
	return f, nil
}

// byDefault returns a fleet for which package plan chooses all settings except the number of rounds. The total number
// of queries is the same as in the runs of the cells.
func (s *study) byDefault(dim, each int, seed uint64) (*sdk.Fleet, error) {
	spec := s.network.Subspace(dim)
	return suggested(spec, each, plan.Known{Open: true, Privacy: sdk.Privacy{NonPrivate: true},
		Method: sdk.Method{Rounds: s.total / 3, Seed: seed, Mu: admm.Schedule{spec.Radius()}}})
}

// fewRecords writes a Markdown table of the share of digits that are labeled correctly after a run, by estimator and by
// number of queries per round. All runs make the same total number of queries. The scale of each cell is chosen in runs
// with the smallest number of digits per member, on digits that no run in the table uses.
func fewRecords(data string, s study, out, log io.Writer) error {
	source, err := frozen.Open(s.network, data, s.clean)
	if err != nil {
		return err
	}
	b := &bench{study: s, source: source, log: log, chosen: map[cell]scale{}}
	fmt.Fprint(out, "| numbers | digits | estimator |")
	for _, q := range s.queries {
		fmt.Fprintf(out, " %d |", q)
	}
	fmt.Fprintf(out, " defaults |\n|--:|--:|---|%s--:|\n", strings.Repeat("--:|", len(s.queries)))
	for _, dim := range s.dims {
		for _, each := range s.each {
			for _, estimator := range []zoest.Kind{zoest.Paper, zoest.Tracking} {
				row, err := b.row(dim, each, estimator)
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "| %d | %d | %s |%s\n", dim, each, estimator, row)
			}
		}
	}
	deviation := math.Sqrt(b.variance / float64(b.cells))
	t, err := dealt(source, s.each[0], s.held, 0, false)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nStandard deviation over %d seeds: %.1f points. The frozen network: %.1f %%.\n", s.seeds, 100*deviation,
		100*source.Accuracy(source.Base, t.held))
	return err
}

// bench performs the runs of a study.
type bench struct {
	study
	source   *frozen.Source
	log      io.Writer
	chosen   map[cell]scale
	variance float64 // sum over cells of the variance of accuracy over seeds
	cells    int
}

// row returns the accuracies in one table row, as Markdown cells.
func (b *bench) row(dim, each int, estimator zoest.Kind) (row string, err error) {
	for _, q := range b.queries {
		c := cell{dim, b.each[0], estimator, q}
		to, known := b.chosen[c]
		if !known {
			if to, err = b.choose(c); err != nil {
				return "", err
			}
			b.chosen[c] = to
			fmt.Fprintf(b.log, "%d numbers, %s, %d queries a round: radius times %v, step times %v\n", dim, estimator, q, to.radius, to.step)
		}
		c.each = each
		mean, err := b.mean(each, func(seed uint64) (*sdk.Fleet, error) { return b.fleet(c, to, seed) })
		if err != nil {
			return "", err
		}
		row += fmt.Sprintf(" %.1f |", 100*mean)
	}
	if estimator != zoest.Tracking {
		return row + " |", nil
	}
	mean, err := b.mean(each, func(seed uint64) (*sdk.Fleet, error) { return b.byDefault(dim, each, seed) })
	return row + fmt.Sprintf(" %.1f |", 100*mean), err
}

// choose returns the scale with the best accuracy for a cell, measured on digits that no reported run uses.
func (b *bench) choose(c cell) (best scale, err error) {
	const other = 999
	t, err := dealt(b.source, c.each, b.held, other, true)
	if err != nil {
		return best, err
	}
	most := -1.0
	for _, to := range b.scales {
		f, err := b.fleet(c, to, t.seed)
		if err != nil {
			return best, err
		}
		o, err := t.run(f, b.network.Subspace(c.dim))
		if err != nil {
			return best, err
		}
		if o.accuracy > most {
			best, most = to, o.accuracy
		}
	}
	return best, nil
}

// mean runs a fleet for every seed and returns the mean accuracy.
func (b *bench) mean(each int, fleet func(seed uint64) (*sdk.Fleet, error)) (mean float64, err error) {
	var all []float64
	for seed := range uint64(b.seeds) {
		t, err := dealt(b.source, each, b.held, seed, false)
		if err != nil {
			return 0, err
		}
		f, err := fleet(t.seed)
		if err != nil {
			return 0, err
		}
		o, err := t.run(f, b.network.Subspace(f.Dim))
		if err != nil {
			return 0, err
		}
		all = append(all, o.accuracy)
	}
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		b.variance += (v - mean) * (v - mean) / float64(max(1, len(all)-1))
	}
	b.cells++
	return mean, nil
}
