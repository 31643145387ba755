package dpmech

import (
	"errors"
	"fmt"
)

// Lifetime is what all runs on one data set have spent together.
type Lifetime struct {
	Dataset string     `json:"dataset"`
	Created string     `json:"created"` // when the ledger was made, by the clock of the device
	Ledger  Head       `json:"ledger"`  // the state that this is the sum of
	Limit   *Limit     `json:"limit"`   // what all runs together may spend; nil: not limited
	Runs    []RunSpend `json:"runs"`
	Cost
}

func (b *book) lifetime(delta float64) Lifetime {
	h := b.header
	limit := (&Filter{limit: h.Limit}).Limit() // a copy
	return Lifetime{Dataset: h.Dataset, Created: h.Created, Ledger: b.head(b.seq()), Limit: limit, Runs: b.spends(), Cost: CostOf(b.rho(), delta)}
}

// verify reports every field of a certificate's lifetime that disagrees with the rest.
func (life *Lifetime) verify(c *Certificate) error {
	errs := []error{validName("data set", life.Dataset), validTime("created", life.Created), within("ledger", life.Ledger.validate())}
	var rho float64
	var rounds int64
	seen := map[runKey]bool{}
	for i, r := range life.Runs {
		where := fmt.Sprintf("runs[%d]", i)
		key := runKey{r.Run, r.Fleet, r.Member}
		errs = append(errs, within(where, key.validate()))
		if seen[key] {
			errs = append(errs, within(where, fmt.Errorf("%v is there twice", key)))
		}
		seen[key] = true
		if err := validateSpends(r.Spends); err != nil {
			errs = append(errs, within(where, err))
			continue
		}
		sum := sumSpends(r.Spends)
		if r.Rho != sum {
			errs = append(errs, within(where, fmt.Errorf("rho is stated as %v, and is %v", r.Rho, sum)))
		}
		if key == c.key() {
			errs = append(errs, within(where, c.agrees(r.Spends, sum)))
		}
		rho = sumUp(rho, sum)
		rounds += int64(countRounds(r.Spends))
	}
	if !seen[c.key()] && (c.Rounds > 0 || c.ReservedUnmade > 0) {
		errs = append(errs, errors.New("dpmech: this run is not in the ledger"))
	}
	if life.Delta != c.Delta {
		errs = append(errs, fmt.Errorf("dpmech: delta is %v, and %v for this run", life.Delta, c.Delta))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if int64(life.Ledger.Seq) != rounds {
		errs = append(errs, fmt.Errorf("dpmech: ledger: seq is %d, and the releases are %d", life.Ledger.Seq, rounds))
	}
	return errors.Join(append(errs, life.Cost.verify(rho, c.Version), life.Cost.keeps(life.Limit))...)
}

// run returns what the lifetime has of a run, nil if it has nothing.
func (life *Lifetime) run(key runKey) []Spend {
	for _, r := range life.Runs {
		if key == (runKey{r.Run, r.Fleet, r.Member}) {
			return r.Spends
		}
	}
	return nil
}

// agrees compares the releases of a certificate with what its lifetime has of the run, which costs sum.
func (c *Certificate) agrees(reserved []Spend, sum float64) error {
	if c.Version == 1 {
		if own := sumSpends(c.Spends); sum < own { // NaN if they are not valid
			return fmt.Errorf("this run has rho %v in the ledger, and %v by its own count", sum, own)
		}
		return nil
	}
	unmade, err := unmadeOf(c.Spends, reserved)
	if err == nil && unmade != c.ReservedUnmade {
		err = fmt.Errorf("the ledger has %d releases of this run, and the certificate %d and %d reserved_unmade", countRounds(reserved), countRounds(c.Spends), c.ReservedUnmade)
	}
	return err
}

// unmadeOf compares the releases that a run has made with those that its ledger has reserved, both as a [Filter] counts them, and returns
// how many were reserved and not made. These can only be the rounds right after the last release, with its clip and sigma. Every
// other difference is an error.
func unmadeOf(made, reserved []Spend) (unmade int, err error) {
	for i, r := range reserved {
		switch {
		case i == 0 && len(made) == 0:
			unmade = r.Rounds
		case i >= len(made):
			return 0, fmt.Errorf("the ledger has releases from round %d on, with another clip or sigma or behind a gap, and the certificate none", r.First)
		default:
			m := made[i]
			unmade = r.Rounds - m.Rounds
			if r.gaussian() != m.gaussian() || r.First != m.First || unmade < 0 || unmade > 0 && i < len(made)-1 {
				const text = "%d rounds from %d on with clip %v and sigma %v"
				return 0, fmt.Errorf("releases[%d]: found "+text+", want "+text+" as in the ledger", i, m.Rounds, m.First, m.Clip, m.Sigma, r.Rounds, r.First, r.Clip, r.Sigma)
			}
		}
	}
	if n := len(reserved); len(made) > n {
		return 0, fmt.Errorf("releases[%d]: the ledger has no release from round %d on", n, made[n].First)
	}
	return unmade, nil
}
