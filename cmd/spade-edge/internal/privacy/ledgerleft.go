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
	Figures []FigureLeft `json:"figures,omitempty"`
	Rounds  *int         `json:"rounds,omitempty"` // of learning that are left at a fleet's settings
	Run     string       `json:"run,omitempty"`    // of that fleet
	Made    int          `json:"made,omitempty"`   // rounds of that run that the ledger counts

	Text string `json:"-"`
}

// FigureLeft is what a ledger leaves against an adversary.
type FigureLeft struct {
	Adversary string  `json:"adversary"`
	Rho       float64 `json:"rho"`     // zCDP
	Epsilon   float64 `json:"epsilon"` // that a further run may have, by the limit's delta and accounting
}

// LeftOf returns what is left. f may be nil.
func LeftOf(life *dpmech.Lifetime, f *sdk.Fleet) *LedgerLeft {
	l := &LedgerLeft{Text: "as much as you like: the ledger has no limit"}
	left := life.Limit.Left(life.Total()) // infinite without a limit
	if limit := life.Limit; limit != nil {
		for _, figure := range left.Figures() {
			epsilon := limit.Accounting.Epsilon(figure.Rho, limit.Delta)
			l.Figures = append(l.Figures, FigureLeft{figure.Adversary, figure.Rho, epsilon})
		}
		l.Text = fmt.Sprintf("%s, at delta %v (%v)", cli.FiguresText(left, limit.Unit.Each(), limit.Delta, limit.Accounting), limit.Delta,
			limit.Accounting)
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
		g := dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma, Shared: p.Shared(), Unit: p.Unit}
		rounds := sort.Search(math.MaxInt32, func(n int) bool {
			t := g.Total(n + 1)
			return t.Rho > left.Rho || t.All > left.All || max(p.Unit, life.Unit()) > life.Limit.Unit
		})
		l.Rounds = &rounds
		l.Text += fmt.Sprintf("; %d rounds at the settings of run %q", rounds, f.Run)
	}
	return l
}
