package dpmech

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// RunID identifies a member's participation in a run.
type RunID struct {
	Run    string `json:"run"`
	Fleet  string `json:"fleet"` // SHA-256 of the fleet file, 64 hexadecimal digits
	Member string `json:"member"`
	// PairKey is the text of the member's one-time key of pairwise noise, or "" without one. A Composition refuses a key
	// that an earlier run used.
	PairKey string `json:"pair_key,omitempty"`
}

func (id RunID) text() string { return fmt.Sprintf("run %q of member %q", id.Run, id.Member) }

func (id RunID) validate() error {
	return errors.Join(validName("run", id.Run), validName("member", id.Member), validHex("fleet hash", id.Fleet, sha256.Size),
		id.validKey())
}

func (id RunID) validKey() error {
	if id.PairKey == "" {
		return nil
	}
	return validName("pair key", id.PairKey)
}

// Composition counts the releases of all runs on one data set. It refuses a release that would exceed the limit for the
// lifetime of the data. It is not safe for concurrent use.
type Composition struct {
	life Lifetime // the counted releases; Ledger, Cost and the Rho of each run are not set
}

// NewComposition returns a composition for a data set that begins with the declared cost. Its figures are for each unit;
// it counts releases that protect this unit, and those that protect each client, and refuses all others with an error
// that wraps [ErrUnit]. created is the time of its creation in RFC 3339 format. With a nil limit, the composition never
// refuses a release because of its cost. If the declared cost exceeds the limit, the error wraps [ErrBudget].
func NewComposition(dataset, created string, unit Unit, limit *Limit, declared Declaration) (*Composition, error) {
	err := errors.Join(validName("data set", dataset), validTime("created", created), unit.Validate(), limit.Validate(),
		declared.Validate(), declared.suits(unit))
	if err != nil {
		return nil, err
	}
	life := Lifetime{Dataset: dataset, Created: created, Unit: unit, Limit: limit.lifelong(), Declared: declared.clone()}
	if err := life.Limit.allows(Total{}, life.Total(), "the declared cost of earlier runs"); err != nil {
		return nil, err
	}
	return &Composition{life}, nil
}

// Check checks whether a release may be made. For each run, the rules are those of [Filter.Reserve]. counted reports
// whether the release is already counted; repeating it costs nothing. If the release would exceed the limit, the error
// wraps [ErrBudget].
func (c *Composition) Check(id RunID, round int, g Gaussian) (counted bool, err error) {
	f, counted, err := c.find(id, round, g)
	if err != nil || counted {
		return counted, err
	}
	return false, c.allows(id, f.totalWith(round, g), fmt.Sprintf("round %d", round))
}

// Add counts a release, even if the total then exceeds the limit, because the release may have been made. It fails if
// the release is already counted or does not follow the earlier releases of its run.
func (c *Composition) Add(id RunID, round int, g Gaussian) error {
	f, counted, err := c.find(id, round, g)
	if counted {
		err = within(id.text(), fmt.Errorf("round %d is already counted", round))
	}
	if err != nil {
		return err
	}
	f.add(round, g)
	if r := c.life.run(id); r != nil {
		r.Spends = f.spends
	} else {
		c.life.Runs = append(c.life.Runs, RunSpend{RunID: id, Spends: f.spends})
	}
	return nil
}

// find returns a filter with a run's counted releases and without a limit. counted reports whether the release of the
// given round is already among them. err is not nil if the filter refuses the release.
func (c *Composition) find(id RunID, round int, g Gaussian) (f Filter, counted bool, err error) {
	f.spends = c.life.spends(id)
	if f.spends == nil {
		if err := errors.Join(id.validate(), c.fresh(id), c.suits(id, g.Unit)); err != nil {
			return f, false, err
		}
	}
	counted, err = f.check(round, g)
	return f, counted, within(id.text(), err)
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
func (c *Composition) suits(id RunID, unit Unit) error {
	if c.life.Unit.Counts(unit) {
		return nil
	}
	cure := fmt.Sprintf("create another ledger with the unit %q, and declare an estimate of what the runs in this one have cost %s",
		unit, unit.Each())
	if len(c.life.Runs) == 0 {
		cure = fmt.Sprintf("it counts no release yet, so delete it and create it again with the unit %q", unit)
	}
	return fmt.Errorf("dpmech: %s protects each %v, but the ledger of %q has the unit %q: %w; %s", id.text(), unit, c.life.Dataset,
		c.life.Unit, ErrUnit, cure)
}

// CheckRun returns an error that wraps [ErrBudget] if a whole run of the given number of rounds would exceed the limit.
func (c *Composition) CheckRun(id RunID, rounds int, g Gaussian) error {
	whole := Spend{1, rounds, g}
	if err := whole.validate(); err != nil {
		return err
	}
	if err := errors.Join(c.fresh(id), c.suits(id, g.Unit)); err != nil {
		return err
	}
	return c.allows(id, whole.Total(), fmt.Sprintf("%d rounds", rounds))
}

// allows returns an error that wraps [ErrBudget] if the total would exceed the limit with the given cost in place of
// the cost of the run's counted releases.
func (c *Composition) allows(id RunID, cost Total, what string) error {
	after := c.life.Declared.Total()
	for _, r := range c.life.Runs {
		own := r.Total()
		if r.RunID == id {
			own, cost = cost, Total{}
		}
		after = after.plus(own)
	}
	what = fmt.Sprintf("%s of %s in the lifetime of %q", what, id.text(), c.life.Dataset)
	return c.life.Limit.allows(c.life.Total(), after.plus(cost), what)
}

// Last returns the highest counted round of a run, or 0 if no round is counted.
func (c *Composition) Last(id RunID) int {
	f := Filter{spends: c.life.spends(id)}
	return f.Last()
}

// Lifetime returns the releases and the cost of all runs, with epsilons at delta. head is the current state of the
// ledger.
func (c *Composition) Lifetime(head Head, delta float64) *Lifetime {
	life := c.life
	life.Ledger, life.Limit, life.Declared = head, c.life.Limit.clone(), c.life.Declared.clone()
	life.Runs, life.Cost = []RunSpend{}, CostOf(c.life.Total(), delta)
	for _, r := range c.life.Runs {
		life.Runs = append(life.Runs, RunSpend{RunID: r.RunID, Rho: r.Total().Rho, Spends: slices.Clone(r.Spends)})
	}
	return &life
}

// Head identifies a state of an append-only ledger.
type Head struct {
	ID   string `json:"id"`   // random, 32 hexadecimal digits
	Seq  int    `json:"seq"`  // number of reservations
	Hash string `json:"hash"` // SHA-256, 64 hexadecimal digits
}

// Validate returns an error that names each field whose value is impossible in a ledger.
func (h Head) Validate() error {
	f := faults{validHex("ledger id", h.ID, 16), validHex("ledger hash", h.Hash, sha256.Size)}
	f.want(h.Seq >= 0, "ledger seq is %d, want 0 or more", h.Seq)
	return errors.Join(f...)
}

// RunSpend has the releases of one run on a data set, and their cost.
type RunSpend struct {
	RunID
	Rho    float64 `json:"rho"` // zCDP, rounded up: see [Total]
	Spends []Spend `json:"releases"`
}

// Total returns the cost of the releases.
func (r RunSpend) Total() Total { return sumSpends(r.Spends) }

// Lifetime has the releases of all runs on one data set, and their cost.
type Lifetime struct {
	Dataset string `json:"dataset"`
	Created string `json:"created"` // when the ledger was created, by the clock of the device
	Ledger  Head   `json:"ledger"`  // the state of the ledger at the time of this summary
	Unit    Unit   `json:"unit"`    // what Cost protects: the unit of all runs, except those that protect each client
	Limit   *Limit `json:"limit"`   // the budget of all runs together; nil: unlimited
	// Declared is what the owner declared about earlier runs. Cost includes it.
	Declared Declaration `json:"declared"`
	Runs     []RunSpend  `json:"runs"`
	Cost
}

// Total returns the cost of all runs and the declared cost.
func (life *Lifetime) Total() Total {
	sum := life.Declared.Total()
	for _, r := range life.Runs {
		sum = sum.plus(r.Total())
	}
	return sum
}

// Rounds returns the number of a run's counted releases.
func (life *Lifetime) Rounds(id RunID) int { return countRounds(life.spends(id)) }

func (life *Lifetime) run(id RunID) *RunSpend {
	for i := range life.Runs {
		if life.Runs[i].RunID == id {
			return &life.Runs[i]
		}
	}
	return nil
}

func (life *Lifetime) spends(id RunID) []Spend { return cmp.Or(life.run(id), &RunSpend{}).Spends }

// verify reports each field of the lifetime in a certificate that is inconsistent with the other fields or with the
// certificate c.
func (life *Lifetime) verify(c *Certificate) error {
	f := faults{validName("data set", life.Dataset), validTime("created", life.Created)}
	f.at("ledger", life.Ledger.Validate())
	f.at("unit", life.Unit.Validate())
	f.at("declared", errors.Join(life.Declared.Validate(), life.Declared.suits(life.Unit)))
	for _, e := range life.Declared.Ledgers {
		f.want(e.Ledger.ID != life.Ledger.ID, "declared: ledger %s is this ledger itself", e.Ledger.ID)
	}
	rounds := int64(0)
	seen := map[RunID]bool{}
	for i, r := range life.Runs {
		where := fmt.Sprintf("runs[%d]", i)
		f.at(where, r.validate())
		f.want(!seen[r.RunID], "%s: %s is given twice", where, r.text())
		seen[r.RunID] = true
		if err := validateSpends(r.Spends); err != nil {
			f.at(where, err)
			continue
		}
		unit, rho := unitOf(r.Spends), r.Total().Rho
		f.want(life.Unit.Counts(unit), "%s: the releases protect each %v, want %v or client", where, unit, life.Unit)
		f.want(r.Rho == rho, "%s: rho is stated as %v, want %v", where, r.Rho, rho)
		if r.RunID == c.RunID {
			unmade, err := unmadeOf(c.Spends, r.Spends)
			f.at(where, err)
			f.want(err != nil || unmade == c.ReservedUnmade, "%s: the ledger has %d releases of this run, want %d (the releases "+
				"in the certificate) plus %d (reserved_unmade)", where, countRounds(r.Spends), countRounds(c.Spends), c.ReservedUnmade)
		}
		rounds += int64(countRounds(r.Spends))
	}
	f.want(seen[c.RunID] || c.Rounds <= 0 && c.ReservedUnmade <= 0, "this run is not in the ledger")
	f.want(life.Delta == c.Delta, "delta is %v, want %v as for this run", life.Delta, c.Delta)
	if err := errors.Join(f...); err != nil {
		return err
	}
	f.want(int64(life.Ledger.Seq) == rounds, "ledger: seq is %d, want %d, the number of entries", life.Ledger.Seq, rounds)
	return errors.Join(append(f, life.Cost.verify(life.Total()), life.Cost.withinLimit(life.Limit.lifelong()))...)
}
