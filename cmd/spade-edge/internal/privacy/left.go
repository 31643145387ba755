package privacy

import (
	"fmt"
	"math"
	"sort"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
)

// ledgerLeft is the remaining budget of a ledger. Figures is empty if the ledger has no limit.
type ledgerLeft struct {
	Figures []figureLeft `json:"figures,omitempty"`
	Rounds  *int         `json:"rounds,omitempty"` // learning rounds left at a fleet's settings
	Run     string       `json:"run,omitempty"`
	Made    int          `json:"made,omitempty"` // learning rounds of Run that the ledger counts
	Runs    *int         `json:"runs,omitempty"` // further runs like Like, after that run
	Like    string       `json:"like,omitempty"` // the fleet's run or, without a fleet, the last run in the ledger

	Text string `json:"-"`
}

// figureLeft is the remaining budget of a ledger against one adversary.
type figureLeft struct {
	Adversary string  `json:"adversary"`
	Rho       float64 `json:"rho"`     // zCDP
	Epsilon   float64 `json:"epsilon"` // for a further run, by the limit's delta and accounting
}

// leftOf returns the remaining budget of a ledger with the contents life. If f is not nil, the result also has the
// number of rounds of f that this budget allows.
func leftOf(life *certificate.Lifetime, f *sdk.Fleet) *ledgerLeft {
	l := &ledgerLeft{Text: "as much as you like: the ledger has no limit"}
	left := life.Limit.Left(life.Total()) // infinite without a limit
	if limit := life.Limit; limit != nil {
		for _, figure := range left.Figures() {
			epsilon := limit.Accounting.Epsilon(figure.Rho, limit.Delta)
			l.Figures = append(l.Figures, figureLeft{figure.Adversary, figure.Rho, epsilon})
		}
		cost := cli.CostText(left, limit.Delta, limit.Accounting, life.Unit)
		l.Text = fmt.Sprintf("%s, at delta %v (%v)", cost, limit.Delta, limit.Accounting)
	}
	if f == nil || f.Privacy.NonPrivate {
		if n := len(life.Runs); n > 0 {
			l.runs(life, life.Runs[n-1].Run, left, life.Runs[n-1].Total(), dpmech.Total{})
		}
		return l
	}
	for _, r := range life.Runs {
		if r.Run == f.Run && r.Fleet == fmt.Sprintf("%x", f.Hash()) {
			l.Made += r.Spends.Rounds()
		}
	}
	if l.Run = f.Run; l.Made > 0 {
		l.Text += fmt.Sprintf("; run %q has made %d of its %d rounds", f.Run, l.Made, f.Method.Rounds)
	}
	if g := f.Privacy.Gaussian(); life.Limit != nil {
		rounds := most(func(n int) bool { return life.Unit.Counts(g.Unit) && within(g.Total(n), left) })
		l.Rounds = &rounds
		l.Text += fmt.Sprintf("; %d rounds at the settings of run %q", rounds, f.Run)
		if rounds == 0 {
			return l
		}
		rest := dpmech.Total{}
		if l.Made > 0 {
			rest = f.Total(f.Method.Rounds - l.Made)
		}
		l.runs(life, f.Run, left, f.Total(f.Method.Rounds), rest)
	}
	return l
}

// runs adds how many further runs with the cost each fit into what is left, once a run has spent the rest that it plans.
func (l *ledgerLeft) runs(life *certificate.Lifetime, like string, left, each, rest dpmech.Total) {
	if life.Limit == nil {
		return
	}
	const margin = 1 + 1e-12 // for rounding
	runs := most(func(n int) bool {
		times := float64(n) * margin
		return within(dpmech.Total{Rho: rest.Rho + times*each.Rho, All: rest.All + times*each.All}, left)
	})
	l.Runs, l.Like = &runs, like
	name := "runs"
	if runs == 1 {
		name = "run"
	}
	l.Text += fmt.Sprintf("; %d more %s like %q", runs, name, like)
	if day := life.Declared.Ends; day != "" {
		l.Text += ", until " + day
	}
}

// most returns the largest number, of those that fits accepts, below which fits accepts all.
func most(fits func(n int) bool) int {
	return sort.Search(math.MaxInt32, func(n int) bool { return !fits(n + 1) })
}

func within(cost, left dpmech.Total) bool { return cost.Rho <= left.Rho && cost.All <= left.All }
