package certificate

import (
	"errors"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// Amount is the JSON form of a [dpmech.Total].
type Amount struct {
	Rho float64 `json:"rho"`     // zCDP against the weakest adversary that the runs name
	All float64 `json:"rho_all"` // zCDP against all other members together
	// Against describes the adversary for Rho. It is nil without pairwise noise or if the adversary is unknown.
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
