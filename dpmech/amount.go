package dpmech

import "errors"

// Amount is the JSON form of a [Total].
type Amount struct {
	Rho float64 `json:"rho"`     // zCDP against the weakest adversary that the runs name
	All float64 `json:"rho_all"` // zCDP against all other members together
	// Against describes the adversary for Rho. It is nil without pairwise noise or if the adversary is unknown.
	Against *Colluders `json:"against,omitempty"`
	Unit    Unit       `json:"unit,omitzero"` // what the cost protects
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
	return errors.Join(append(f, a.Unit.Validate())...)
}
