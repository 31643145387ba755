package privacy

import (
	"encoding/hex"
	"fmt"
	"math"
	"sort"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

// LedgerLeft is what a ledger leaves to further releases, and its JSON. Without a limit that is not said.
type LedgerLeft struct {
	Name    string   `json:"name,omitempty"`
	Rho     *float64 `json:"rho,omitempty"`     // zCDP
	Epsilon *float64 `json:"epsilon,omitempty"` // that a further run may have, by the limit's delta and accounting
	RhoAll  *float64 `json:"rho_against_all,omitempty"`
	Rounds  *int     `json:"rounds,omitempty"` // of learning that are left at a fleet's settings
	Run     string   `json:"run,omitempty"`    // of that fleet
	Made    int      `json:"made,omitempty"`   // rounds of that run that the ledger counts

	Text string
}

// LeftOf returns what is left. f may be nil.
func LeftOf(life *dpmech.Lifetime, name string, f *sdk.Fleet) *LedgerLeft {
	l := &LedgerLeft{Name: name, Text: "as much as you like: the ledger has no limit"}
	left := dpmech.Total{Rho: math.Inf(1), All: math.Inf(1)}
	if limit := life.Limit; limit != nil {
		spent := life.Cost.Total()
		remains := func(limit, delta, spent float64, acc dpmech.Accounting) float64 {
			most, _ := acc.MaxRho(limit, delta) // a ledger's limit is valid
			if spent > 0 {
				most -= float64(1e-12 * most) // sums are rounded up
			}
			return max(0, most-spent)
		}
		left.Rho = remains(limit.Epsilon, limit.Delta, spent.Rho, limit.Accounting)
		epsilon := limit.Accounting.Epsilon(left.Rho, limit.Delta)
		l.Rho, l.Epsilon = &left.Rho, &epsilon
		l.Text = fmt.Sprintf("epsilon %s at delta %v (%v), rho %.6g", cli.EpsilonText(epsilon), limit.Delta, limit.Accounting,
			left.Rho)
		if limit.EpsilonAll > 0 {
			left.All = remains(limit.EpsilonAll, limit.Delta, spent.All, limit.Accounting)
			l.RhoAll = &left.All
			l.Text += fmt.Sprintf("; epsilon %s %s", cli.EpsilonText(limit.Accounting.Epsilon(left.All, limit.Delta)), cli.AgainstAll)
		}
	}
	if f == nil || f.Privacy.NonPrivate {
		return l
	}
	hash := f.Hash()
	for _, r := range life.Runs {
		if r.Run == f.Run && r.Fleet == hex.EncodeToString(hash[:]) {
			for _, s := range r.Spends {
				l.Made += s.Rounds
			}
		}
	}
	if l.Run = f.Run; l.Made > 0 {
		l.Text += fmt.Sprintf("; run %q has %d of its %d rounds in it", f.Run, l.Made, f.Method.Rounds)
	}
	if p := f.Privacy; life.Limit != nil {
		g := dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma, Shared: p.Shared()}
		rounds := sort.Search(math.MaxInt32, func(n int) bool {
			t := g.Total(n + 1)
			return t.Rho > left.Rho || t.All > left.All
		})
		l.Rounds = &rounds
		l.Text += fmt.Sprintf("; %d rounds at the settings of run %q", rounds, f.Run)
	}
	return l
}
