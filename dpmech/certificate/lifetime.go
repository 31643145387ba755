package certificate

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
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

// Head identifies a state of an append-only ledger.
type Head struct {
	ID   string `json:"id"`   // random, 32 hexadecimal digits
	Seq  int    `json:"seq"`  // number of reservations
	Hash string `json:"hash"` // SHA-256, 64 hexadecimal digits
}

// Validate returns an error that names each field whose value is impossible in a ledger.
func (h Head) Validate() error {
	f := faults.List{validHex("ledger id", h.ID, 16), validHex("ledger hash", h.Hash, sha256.Size)}
	f.Want(h.Seq >= 0, "ledger seq is %d, want 0 or more", h.Seq)
	return errors.Join(f...)
}

// RunSpend has the releases of one run on a data set, and their cost.
type RunSpend struct {
	RunID
	Rho    float64       `json:"rho"` // zCDP, rounded up: see [Total]
	Spends dpmech.Spends `json:"releases"`
}

// Total returns the cost of the releases.
func (r RunSpend) Total() dpmech.Total { return r.Spends.Total() }

// Lifetime has the releases of all runs on one data set, and their cost.
type Lifetime struct {
	Dataset string        `json:"dataset"`
	Created string        `json:"created"` // when the ledger was created, by the clock of the device
	Ledger  Head          `json:"ledger"`  // the state of the ledger at the time of this summary
	Unit    dpmech.Unit   `json:"unit"`    // what Cost protects: the unit of all runs, except those that protect each client
	Limit   *dpmech.Limit `json:"limit"`   // the budget of all runs together; nil: unlimited
	// Declared is what the owner declared about earlier runs. Cost includes it.
	Declared Declaration `json:"declared"`
	Runs     []RunSpend  `json:"runs"`
	Cost
}

// Total returns the cost of all runs and the declared cost.
func (life *Lifetime) Total() dpmech.Total {
	sum := life.Declared.Total()
	for _, r := range life.Runs {
		sum = sum.Plus(r.Total())
	}
	return sum
}

// Rounds returns the number of a run's counted releases.
func (life *Lifetime) Rounds(id RunID) int { return life.spends(id).Rounds() }

func (life *Lifetime) run(id RunID) *RunSpend {
	for i := range life.Runs {
		if life.Runs[i].RunID == id {
			return &life.Runs[i]
		}
	}
	return nil
}

func (life *Lifetime) spends(id RunID) dpmech.Spends {
	return cmp.Or(life.run(id), &RunSpend{}).Spends
}

// verify reports each field of the lifetime in a certificate that is inconsistent with the other fields or with the
// certificate c.
func (life *Lifetime) verify(c *Certificate) error {
	f := faults.List{validName("data set", life.Dataset), validTime("created", life.Created)}
	f.At("ledger", life.Ledger.Validate())
	f.At("unit", life.Unit.Validate())
	f.At("declared", errors.Join(life.Declared.Validate(), life.Declared.suits(life.Unit)))
	for _, e := range life.Declared.Ledgers {
		f.Want(e.Ledger.ID != life.Ledger.ID, "declared: ledger %s is this ledger itself", e.Ledger.ID)
	}
	rounds := int64(0)
	seen := map[RunID]bool{}
	for i, r := range life.Runs {
		where := fmt.Sprintf("runs[%d]", i)
		f.At(where, r.validate())
		f.Want(!seen[r.RunID], "%s: %s is given twice", where, r.text())
		seen[r.RunID] = true
		if err := r.Spends.Validate(); err != nil {
			f.At(where, err)
			continue
		}
		unit, rho := r.Spends.Unit(), r.Total().Rho
		f.Want(life.Unit.Counts(unit), "%s: the releases protect each %v, want %v or client", where, unit, life.Unit)
		f.Want(r.Rho == rho, "%s: rho is stated as %v, want %v", where, r.Rho, rho)
		if r.RunID == c.RunID {
			unmade, err := unmadeOf(c.Spends, r.Spends)
			f.At(where, err)
			f.Want(err != nil || unmade == c.ReservedUnmade, "%s: the ledger has %d releases of this run, want %d (the releases "+
				"in the certificate) plus %d (reserved_unmade)", where, r.Spends.Rounds(), c.Spends.Rounds(), c.ReservedUnmade)
		}
		rounds += int64(r.Spends.Rounds())
	}
	f.Want(seen[c.RunID] || c.Rounds <= 0 && c.ReservedUnmade <= 0, "this run is not in the ledger")
	f.Want(life.Delta == c.Delta, "delta is %v, want %v as for this run", life.Delta, c.Delta)
	if err := errors.Join(f...); err != nil {
		return err
	}
	f.Want(int64(life.Ledger.Seq) == rounds, "ledger: seq is %d, want %d, the number of entries", life.Ledger.Seq, rounds)
	return errors.Join(append(f, life.Cost.verify(life.Total()), life.Cost.withinLimit(life.Limit.Lifelong()))...)
}
