package dpmech

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Amount is the JSON form of a [Total].
type Amount struct {
	Rho float64 `json:"rho"`     // zCDP against the weakest adversary that the runs name
	All float64 `json:"rho_all"` // zCDP against all other members together
	// Against describes the adversary for Rho. It is nil without pairwise noise or if the adversary is unknown.
	Against *Colluders `json:"against,omitempty"`
	Unit    Unit       `json:"unit,omitzero"` // what the cost protects, as in [Lifetime.Unit]
}

// Colluders describes an adversary as in [Shared]: Colluders members collude, and Absent members may drop out.
type Colluders struct {
	Colluders int `json:"colluders"`
	Absent    int `json:"absent,omitempty"`
}

// Amount returns the JSON form of t, where u is the unit that the cost protects.
func (t Total) Amount(u Unit) Amount {
	a := Amount{Rho: t.Rho, All: t.All, Unit: u}
	if w := t.weakest; w.shared {
		a.Against = &Colluders{w.colluders, w.absent}
	}
	return a
}

// Total returns the costs as a [Total], without the unit.
func (a Amount) Total() Total {
	t := Total{Rho: a.Rho, All: a.All}
	if a.Against != nil {
		t.weakest = adversary{true, a.Against.Colluders, a.Against.Absent}
	}
	return t
}

func (a Amount) validate() error {
	var f faults
	f.want(a.Rho >= 0 && a.All >= a.Rho && a.All <= maxSpend, "rho is %v and rho_all is %v, want 0 to %v, and rho_all at least rho",
		a.Rho, a.All, float64(maxSpend))
	if a.Against != nil {
		f.want(a.Against.Colluders >= 0 && a.Against.Absent >= 0, "against is %+v, want 0 or more of each", *a.Against)
	}
	return errors.Join(f...)
}

// Checkpoint summarizes a member's lifetime ledger. A member sends its checkpoint to its neighbors when it starts, so
// that a replacement for a lost device can continue to count the member's privacy cost. All numbers are computed from
// fleet files, not from data.
type Checkpoint struct {
	Limit *Limit `json:"limit"` // limit of the ledger; nil: unlimited
	// Elsewhere is the cost of all runs except the run in which the member sends the checkpoint. For a run that is not
	// over, it includes the cost of all planned rounds.
	Elsewhere Amount `json:"elsewhere"`
	Run       Amount `json:"run"` // the cost of all planned rounds of the run in which the member sends the checkpoint
	// From lists the IDs of the lost ledgers whose cost Elsewhere includes: at most the latest four.
	From []string `json:"from,omitempty"`
}

// MaxCheckpoint is the maximum length of [Checkpoint.Encode] in bytes.
const MaxCheckpoint = 512

// Encode returns the checkpoint as one line of JSON.
func (c Checkpoint) Encode() []byte {
	text, _ := json.Marshal(c) // cannot fail: structs of validated numbers
	return text
}

// Whole returns the sum of Elsewhere and Run.
func (c Checkpoint) Whole() Amount {
	return c.Elsewhere.Total().plus(c.Run.Total()).Amount(max(c.Elsewhere.Unit, c.Run.Unit))
}

// ParseCheckpoint parses the output of [Checkpoint.Encode].
func ParseCheckpoint(text []byte) (Checkpoint, error) {
	var c Checkpoint
	if len(text) > MaxCheckpoint {
		return c, fmt.Errorf("dpmech: checkpoint: found %d bytes, want at most %d", len(text), MaxCheckpoint)
	}
	if err := ReadJSON(text, &c); err != nil {
		return c, within("checkpoint", err)
	}
	f := faults{}
	f.at("limit", c.Limit.Validate())
	f.at("elsewhere", c.Elsewhere.validate())
	f.at("run", c.Run.validate())
	for _, id := range c.From {
		f.at("from", validHex("lost ledger", id, 16))
	}
	return c, within("checkpoint", errors.Join(f...))
}

// Plan records an open run of the given number of rounds with the parameters g, and returns the checkpoint for the
// member's neighbors. The composition itself counts only releases that were made; the planned cost is included in the
// checkpoints of other runs.
func (c *Composition) Plan(id RunID, rounds int, g Gaussian) Checkpoint {
	c.plans[id] = Spend{1, rounds, g}.Total().Amount(g.Unit)
	check := Checkpoint{Limit: c.life.Limit.clone(), Run: c.plans[id]}
	lost := Lifetime{Inherited: c.life.Inherited}
	elsewhere, unit := lost.Total(), lost.Unit()
	for _, r := range c.life.Runs {
		// If a run's releases cost more than its plan, the run is over or belongs to another process. In this case, use
		// the cost of its releases.
		if cost := r.Total(); r.RunID != id && c.plans[r.RunID].All < cost.All {
			elsewhere, unit = elsewhere.plus(cost), max(unit, unitOf(r.Spends))
		}
	}
	var open []Total // sorted, because the order of a map is random and the rounding of the sum depends on it
	for other, cost := range c.plans {
		if other != id && sumSpends(c.life.spends(other)).All <= cost.All {
			open, unit = append(open, cost.Total()), max(unit, cost.Unit)
		}
	}
	slices.SortFunc(open, func(a, b Total) int { return cmp.Or(cmp.Compare(a.All, b.All), cmp.Compare(a.Rho, b.Rho)) })
	for _, cost := range open {
		elsewhere = elsewhere.plus(cost)
	}
	check.Elsewhere = elsewhere.Amount(unit)
	for _, in := range slices.Backward(c.life.Inherited) {
		if len(check.From) < 4 && !slices.Contains(check.From, in.Ledger) {
			check.From = append(check.From, in.Ledger)
		}
	}
	return check
}

// Inherited is the cost that a lost ledger recorded for the same data, as proved by a neighbor. It is included in all
// totals. If several entries name the same lost ledger, their costs are added.
type Inherited struct {
	Ledger string `json:"lost_ledger"` // its id, 32 hexadecimal digits
	Member string `json:"proved_by"`   // the neighbor that presented the checkpoint
	Limit  *Limit `json:"limit"`       // limit of the lost ledger, which may have spent all of it; nil: unlimited
	Amount
}

func (in Inherited) validate() error {
	f := faults{validHex("lost ledger", in.Ledger, 16), validName("proved_by", in.Member), in.Amount.validate()}
	f.at("limit", in.Limit.Validate())
	return within("inherited", errors.Join(f...))
}

// CheckInherit returns the error that [Composition.Inherit] would return. It counts nothing.
func (c *Composition) CheckInherit(in Inherited) error {
	if err := in.validate(); err != nil {
		return err
	}
	return within("inherited", bounded(c.life.Total().plus(in.Total()).All))
}

// Inherit adds the cost recorded by a lost ledger, even if the total then exceeds the limit, because the releases were
// made.
func (c *Composition) Inherit(in Inherited) error {
	err := c.CheckInherit(in)
	if err == nil {
		c.life.Inherited = append(c.life.Inherited, in)
	}
	return err
}

// Unknown returns the part of a lost ledger's cost that the composition does not yet include.
func (c *Composition) Unknown(lost string, cost Amount) Amount {
	var known Total
	var unit Unit
	for _, in := range c.life.Inherited {
		if in.Ledger == lost {
			known, unit = known.plus(in.Total()), max(unit, in.Unit)
		}
	}
	rho, all := excess(cost.Rho, known.Rho), excess(cost.All, known.All)
	if rho == 0 && all == 0 && cost.Unit <= unit {
		return Amount{}
	}
	return Amount{Rho: rho, All: max(rho, all), Against: cost.Against, Unit: cost.Unit}
}

// excess returns a-b, rounded up, or 0 if b is larger than a.
func excess(a, b float64) float64 {
	switch {
	case a <= b:
		return 0
	case b == 0:
		return a
	}
	return math.Nextafter(a-b, math.Inf(1))
}
