package privacy

import (
	"fmt"
	"math"
	"sort"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
)

// ledgerLeft is the remaining budget of a ledger. A ledger without a limit has only Text.
type ledgerLeft struct {
	Figures []figureLeft `json:"figures,omitempty"`
	Rounds  *int         `json:"rounds,omitempty"` // learning rounds left at a fleet's settings
	Runs    *int         `json:"runs,omitempty"`   // further runs like Like, once a run of the fleet that has begun is over
	Like    string       `json:"like,omitempty"`   // the fleet's run or, without a fleet, the last run in the ledger

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
	private, made, begun := f != nil && !f.Privacy.NonPrivate, 0, ""
	for _, r := range life.Runs {
		if private && r.Run == f.Run && r.Fleet == fmt.Sprintf("%x", f.Hash()) {
			made += r.Spends.Rounds()
			begun = fmt.Sprintf("; run %q has made %d of its %d rounds", f.Run, made, f.Method.Rounds)
		}
	}
	limit := life.Limit
	if limit == nil {
		return &ledgerLeft{Text: "as much as you like: the ledger has no limit" + begun}
	}
	left := budget.Left(limit, life.Total())
	l := &ledgerLeft{Text: fmt.Sprintf("%s, at delta %v (%v)%s", cli.CostText(left, limit.Delta, limit.Accounting, life.Unit), limit.Delta,
		limit.Accounting, begun)}
	for _, figure := range left.Figures() {
		l.Figures = append(l.Figures, figureLeft{figure.Adversary, figure.Rho, limit.Accounting.Epsilon(figure.Rho, limit.Delta)})
	}
	var each, rest dpmech.Total // of a further run, and of what a run that has begun still plans
	switch n := len(life.Runs); {
	case private:
		if l.Like, each = f.Run, f.Total(f.Method.Rounds); made > 0 {
			rest = f.Total(f.Method.Rounds - made)
		}
		g := f.Privacy.Gaussian()
		rounds := most(func(n int) bool { return life.Unit.Counts(g.Unit) && within(g.Total(n), left) })
		l.Rounds = &rounds
		if l.Text += fmt.Sprintf("; %d rounds at the settings of run %q", rounds, f.Run); rounds == 0 {
			return l
		}
	case n > 0:
		l.Like, each = life.Runs[n-1].Run, life.Runs[n-1].Total()
	default:
		return l
	}
	const margin = 1 + 1e-12 // for rounding
	runs := most(func(n int) bool {
		times := float64(n) * margin
		return within(dpmech.Total{Rho: rest.Rho + float64(times*each.Rho), All: rest.All + float64(times*each.All)}, left)
	})
	name := "runs"
	if runs == 1 {
		name = "run"
	}
	l.Runs = &runs
	if l.Text += fmt.Sprintf("; %d more %s like %q", runs, name, l.Like); life.Declared.Ends != "" {
		l.Text += ", until " + life.Declared.Ends
	}
	return l
}

// most returns the largest number, of those that fits accepts, below which fits accepts all.
func most(fits func(n int) bool) int {
	return sort.Search(math.MaxInt32, func(n int) bool { return !fits(n + 1) })
}

func within(cost, left dpmech.Total) bool { return cost.Rho <= left.Rho && cost.All <= left.All }
