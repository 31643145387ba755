package certificate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Composition counts the releases of all runs on one data set. It refuses a release that would exceed the limit for the
// lifetime of the data. It is not safe for concurrent use.
type Composition struct {
	life Lifetime // the counted releases; Ledger, Cost and the Rho of each run are not set
}

// NewComposition returns a composition for a data set that begins with the declared cost. Its figures are for each unit;
// it counts releases that protect this unit, and those that protect each client, and refuses all others with an error
// that wraps [dpmech.ErrUnit]. It keeps limit and declared, which must not be changed. created is the time of its creation
// in RFC 3339 format. With a nil limit, the composition never refuses a release because of its cost. If the declared cost
// exceeds the limit, the error wraps [dpmech.ErrBudget].
func NewComposition(dataset, created string, unit dpmech.Unit, limit *dpmech.Limit, declared Declaration) (*Composition, error) {
	err := errors.Join(validName("data set", dataset), validTime("created", created), unit.Validate(), limit.Validate(),
		declared.Validate(), declared.suits(unit))
	if err != nil {
		return nil, err
	}
	life := Lifetime{Dataset: dataset, Created: created, Unit: unit, Limit: limit.Lifelong(), Declared: declared}
	if err := life.Limit.Allows(dpmech.Total{}, life.Total(), "the declared cost of earlier runs"); err != nil {
		return nil, err
	}
	return &Composition{life}, nil
}

// Check checks whether a release may be made. For each run, the rules are those of [dpmech.Spends.With]. counted reports
// whether the release is already counted; repeating it costs nothing. If the release would exceed the limit, the error
// wraps [dpmech.ErrBudget].
func (c *Composition) Check(id RunID, round int, g dpmech.Gaussian) (counted bool, err error) {
	spends, counted, err := c.with(id, round, g)
	if err != nil || counted {
		return counted, err
	}
	return false, c.allows(id, spends.Total(), fmt.Sprintf("round %d", round))
}

// Add counts a release, even if the total then exceeds the limit, because the release may have been made. It fails if
// the release is already counted or does not follow the earlier releases of its run.
func (c *Composition) Add(id RunID, round int, g dpmech.Gaussian) error {
	spends, counted, err := c.with(id, round, g)
	if counted {
		err = faults.Within(id.text(), fmt.Errorf("round %d is already counted", round))
	}
	if err != nil {
		return err
	}
	if r := c.life.run(id); r != nil {
		r.Spends = spends
	} else {
		c.life.Runs = append(c.life.Runs, RunSpend{RunID: id, Spends: spends})
	}
	return nil
}

// with returns a run's releases with the given one. counted reports whether they had it before.
func (c *Composition) with(id RunID, round int, g dpmech.Gaussian) (spends dpmech.Spends, counted bool, err error) {
	before := c.life.spends(id)
	if before == nil {
		if err := errors.Join(id.validate(), c.fresh(id), c.suits(id, g.Unit)); err != nil {
			return nil, false, err
		}
	}
	spends, err = before.With(round, g, nil)
	if errors.Is(err, dpmech.ErrUnit) { // Within would lose what it wraps
		return nil, false, fmt.Errorf("%w, in %s", err, id.text())
	}
	return spends, err == nil && round <= before.Last(), faults.Within(id.text(), err)
}

// ErrPairKey reports a one-time key that an earlier run used.
var ErrPairKey = errors.New("one key serves one run")

// fresh returns an error if another run used the run's one-time key.
func (c *Composition) fresh(id RunID) error {
	for _, r := range c.life.Runs {
		if id.PairKey != "" && r.PairKey == id.PairKey && r.RunID != id {
			return fmt.Errorf("dpmech: %s: run %q used the one-time key %s already: %w", id.text(), r.Run, id.PairKey, ErrPairKey)
		}
	}
	return nil
}

// suits returns an error unless the composition counts releases that protect the given unit.
func (c *Composition) suits(id RunID, unit dpmech.Unit) error {
	if c.life.Unit.Counts(unit) {
		return nil
	}
	cure := fmt.Sprintf("create another ledger with the unit %q, and declare an estimate of what the runs in this one have cost %s",
		unit, unit.Each())
	if len(c.life.Runs) == 0 {
		cure = fmt.Sprintf("it counts no release yet, so delete it and create it again with the unit %q", unit)
	}
	return fmt.Errorf("dpmech: %s protects each %v, but the ledger of %q has the unit %q: %w; %s", id.text(), unit, c.life.Dataset,
		c.life.Unit, dpmech.ErrUnit, cure)
}

// CheckRun returns an error that wraps [dpmech.ErrBudget] if a whole run of the given number of rounds would exceed the limit.
func (c *Composition) CheckRun(id RunID, rounds int, g dpmech.Gaussian) error {
	whole := dpmech.Spend{First: 1, Rounds: rounds, Gaussian: g}
	if err := whole.Validate(); err != nil {
		return err
	}
	if err := errors.Join(c.fresh(id), c.suits(id, g.Unit)); err != nil {
		return err
	}
	return c.allows(id, whole.Total(), fmt.Sprintf("%d rounds", rounds))
}

// allows returns an error that wraps [dpmech.ErrBudget] if the total would exceed the limit with the given cost in place of
// the cost of the run's counted releases.
func (c *Composition) allows(id RunID, cost dpmech.Total, what string) error {
	after := c.life.Declared.Total()
	for _, r := range c.life.Runs {
		own := r.Total()
		if r.RunID == id {
			own, cost = cost, dpmech.Total{}
		}
		after = after.Plus(own)
	}
	what = fmt.Sprintf("%s of %s in the lifetime of %q", what, id.text(), c.life.Dataset)
	return c.life.Limit.Allows(c.life.Total(), after.Plus(cost), what)
}

// Last returns the highest counted round of a run, or 0 if no round is counted.
func (c *Composition) Last(id RunID) int { return c.life.spends(id).Last() }

// Lifetime returns the releases and the cost of all runs, with epsilons at delta. head is the current state of the
// ledger. The limit and the declaration are those of the composition, and must not be changed.
func (c *Composition) Lifetime(head Head, delta float64) *Lifetime {
	life := c.life
	life.Ledger, life.Runs, life.Cost = head, []RunSpend{}, CostOf(c.life.Total(), delta)
	for _, r := range c.life.Runs {
		life.Runs = append(life.Runs, RunSpend{RunID: r.RunID, Rho: r.Total().Rho, Spends: slices.Clone(r.Spends)})
	}
	return &life
}
