package certificate

import (
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Declaration is the statement with which the owner of a data set begins a new ledger: what earlier runs have spent on
// the same data. The ledger counts it, and each certificate lists it under conditional_on, because nothing proves it.
// Either NeverUsed is true, or at least one of the other fields is set.
type Declaration struct {
	NeverUsed bool            `json:"never_used,omitempty"` // no earlier run used the data
	Ledgers   []EarlierLedger `json:"ledgers,omitempty"`    // of other ledgers, by ascending id; at most MaxEarlierLedgers
	// Estimate is an upper bound on the cost of runs in no other ledger listed here, for the unit of the new ledger.
	Estimate *dpmech.Limit `json:"estimate,omitempty"`
	// Ends is the last day on which a node may start with the new ledger, in UTC, such as "2027-12-31"; "" for no end. Note
	// says who decided about the ledger, and why: at most MaxNote bytes.
	Ends string `json:"ends,omitempty"`
	Note string `json:"note,omitempty"`
}

// MaxNote is the maximum length of the note in a [Declaration], in bytes.
const MaxNote = 300

// EarlierLedger is the cost that another ledger of the same data had counted when it had Ledger.Seq lines, without what
// was declared about further ledgers when it was made.
type EarlierLedger struct {
	Ledger Head `json:"ledger"`
	Amount
}

// Amount is the JSON form of a [dpmech.Total].
type Amount struct {
	Rho float64 `json:"rho"`     // zCDP against the weakest adversary that the runs name
	All float64 `json:"rho_all"` // zCDP against all other members together
	// Against describes the adversary for Rho, with Shared false: see Total. It is nil without pairwise noise or if the
	// adversary is unknown.
	Against *dpmech.Adversary `json:"against,omitempty"`
	Unit    dpmech.Unit       `json:"unit,omitzero"` // what the cost protects
}

// Total returns the costs as a [dpmech.Total], without the unit.
func (a Amount) Total() dpmech.Total {
	t := dpmech.Total{Rho: a.Rho, All: a.All}
	if a.Against != nil {
		t.Weakest = *a.Against
		t.Weakest.Shared = true
	}
	return t
}

func (a Amount) validate() error {
	var f faults.List
	f.Want(a.Rho >= 0 && a.All >= a.Rho && a.All <= dpmech.MaxTotal, "rho is %v and rho_all is %v, want 0 to %v, and rho_all at least rho",
		a.Rho, a.All, float64(dpmech.MaxTotal))
	if a.Against != nil {
		f.Want(a.Against.Colluders >= 0 && a.Against.Absent >= 0, "against is %d colluders and %d absent members, want 0 or more of each",
			a.Against.Colluders, a.Against.Absent)
	}
	return errors.Join(append(f, a.Unit.Validate())...)
}

// MaxEarlierLedgers is the maximum number of ledgers in a [Declaration].
const MaxEarlierLedgers = 8

// Validate returns an error that names each field whose value is out of range.
func (d *Declaration) Validate() error {
	f := faults.List{}
	f.Want(d.NeverUsed != (len(d.Ledgers) > 0 || d.Estimate != nil), "want either never_used, or ledgers or an estimate of what "+
		"earlier runs have spent")
	f.Want(len(d.Ledgers) <= MaxEarlierLedgers, "found %d ledgers, want at most %d: give an estimate of the cost of the oldest",
		len(d.Ledgers), MaxEarlierLedgers)
	for i := range d.Ledgers {
		f.At(fmt.Sprintf("ledgers[%d]", i), errors.Join(d.Ledgers[i].Ledger.Validate(), d.Ledgers[i].Amount.validate()))
		f.Want(i == 0 || d.Ledgers[i-1].Ledger.ID < d.Ledgers[i].Ledger.ID, "ledgers[%d]: want ascending ids", i)
	}
	if d.Estimate != nil {
		_, err := most(d.Estimate)
		f.At("estimate", err)
		f.Want(d.Estimate.EpsilonAll == 0, "estimate: epsilon_all is %v, want 0: an estimate is against all other members", d.Estimate.EpsilonAll)
	}
	if _, err := time.Parse(time.DateOnly, d.Ends); d.Ends != "" {
		f.Want(err == nil, "ends: is %q, want a day such as 2027-12-31", d.Ends)
	}
	if d.Note != "" {
		f.At("note", faults.Text("the note", d.Note, MaxNote))
	}
	return faults.Within("declaration", errors.Join(f...))
}

// most returns the largest cost (zCDP) that the limit allows.
func most(l *dpmech.Limit) (float64, error) { return l.Accounting.MaxRho(l.Epsilon, l.Delta) }

// Total returns the declared cost.
func (d *Declaration) Total() (sum dpmech.Total) {
	for _, e := range d.Ledgers {
		sum = sum.Plus(e.Total())
	}
	if d.Estimate != nil {
		rho, _ := most(d.Estimate) // Validate reports the error
		sum = sum.Plus(dpmech.Total{Rho: rho, All: rho})
	}
	return sum
}

// suits returns an error if the cost of a declared ledger does not count in a ledger for the unit u.
func (d *Declaration) suits(u dpmech.Unit) error {
	for _, e := range d.Ledgers {
		if !u.Counts(e.Unit) {
			return fmt.Errorf("dpmech: declaration: ledger %s has the unit %q, but the new ledger has the unit %q: %w; declare an "+
				"estimate of what the runs in it have cost %s", e.Ledger.ID, e.Unit, u, dpmech.ErrUnit, u.Each())
		}
	}
	return nil
}

// Conditions returns the declaration as sentences, which each certificate lists under conditional_on. unit is that of the
// ledger.
func (d *Declaration) Conditions(unit dpmech.Unit) (list []string) {
	if d.NeverUsed {
		list = append(list, "the owner declares that no earlier run used this data")
	}
	for _, e := range d.Ledgers {
		list = append(list, fmt.Sprintf("the owner declares that ledger %s counts earlier runs on this data: %d releases, rho %.6g%s",
			e.Ledger.ID, e.Ledger.Seq, e.All, e.Unit.Phrase()))
	}
	if d.Estimate != nil {
		list = append(list, fmt.Sprintf("the owner declares that further earlier runs on this data cost at most %v%s", d.Estimate, unit.Phrase()))
	}
	if d.Ends != "" {
		list = append(list, "the owner declares that this data may be used until "+d.Ends)
	}
	if d.Note != "" {
		list = append(list, "the owner's note on this ledger: "+d.Note)
	}
	return list
}
