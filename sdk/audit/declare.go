package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
)

// DeclareSpent returns the declaration that the earlier runs on a data set are those in the given certificates, and
// further runs whose cost is at most the estimate; nil means that there are none. A certificate states all runs of one
// ledger, so of several certificates of one ledger the one with most lines counts. The caller checks the certificates
// and their signatures.
func DeclareSpent(certificates []*certificate.Certificate, estimate *dpmech.Limit) (certificate.Declaration, error) {
	newest := map[string]certificate.EarlierLedger{}
	put := func(e certificate.EarlierLedger) error {
		known, there := newest[e.Ledger.ID]
		if there && known.Ledger.Seq == e.Ledger.Seq && known.Ledger.Hash != e.Ledger.Hash {
			return fmt.Errorf("audit: declaration: two certificates state different lines 1..%d of ledger %s: the ledger was set "+
				"back and then continued, so add the cost of the lines that are missing as an estimate", e.Ledger.Seq, e.Ledger.ID)
		}
		if !there || known.Ledger.Seq < e.Ledger.Seq {
			newest[e.Ledger.ID] = e
		}
		return nil
	}
	for _, c := range certificates {
		if c.Lifetime == nil || c.Simulated {
			return certificate.Declaration{}, fmt.Errorf("audit: declaration: the certificate of run %q of member %q does not say what its data "+
				"has spent: the run was simulated or had no ledger; give an estimate", c.Run, c.Member)
		}
		life := c.Lifetime
		own := certificate.Lifetime{Runs: life.Runs, Declared: certificate.Declaration{Estimate: life.Declared.Estimate}}
		for _, e := range append([]certificate.EarlierLedger{{Ledger: life.Ledger, Amount: amount(own.Total(), life.Unit)}}, life.Declared.Ledgers...) {
			if err := put(e); err != nil {
				return certificate.Declaration{}, err
			}
		}
	}
	d := certificate.Declaration{Estimate: estimate}
	for _, e := range newest {
		d.Ledgers = append(d.Ledgers, e)
	}
	slices.SortFunc(d.Ledgers, func(a, b certificate.EarlierLedger) int { return cmp.Compare(a.Ledger.ID, b.Ledger.ID) })
	return d, d.Validate()
}

// amount returns the JSON form of t, where u is the unit that the cost protects.
func amount(t dpmech.Total, u dpmech.Unit) certificate.Amount {
	a := certificate.Amount{Rho: t.Rho, All: t.All, Unit: u}
	if w := t.Weakest; w.Shared {
		a.Against = &dpmech.Adversary{Colluders: w.Colluders, Absent: w.Absent}
	}
	return a
}
