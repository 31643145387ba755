package dpmech

import "fmt"

const (
	// Everybody is the name of the adversary of a cost that holds against any set of colluders.
	Everybody = "everybody else together"
	// AllOthers is the name of the stronger of the two adversaries considered for releases with pairwise noise: all
	// other members, who together know all of this noise.
	AllOthers = "all other members together"
	// WeakestNamed is the name of the weaker of the two adversaries of a [Total] that does not record which adversaries
	// its runs name.
	WeakestNamed = "the weakest adversary that a run names"
)

// Total is the zCDP cost of releases, rounded up, against two adversaries. Without pairwise noise, the two costs are
// equal. The totals of several runs can be added; the sum applies to the weakest of the adversaries that the runs name.
type Total struct {
	Rho float64 // against outsiders with at most Shared.Colluders members (the least number of all releases)
	All float64 // against all other members together

	Weakest Adversary // whom Rho is against, of all runs
}

// Figure is a cost together with the adversary against which it holds.
type Figure struct {
	Adversary string  // a name for display
	Rho       float64 // zCDP, rounded up
}

// Figures returns the costs with their adversaries. If both costs are equal, it returns one figure, against
// [Everybody]; otherwise it returns two figures, the second of which is against [AllOthers].
func (t Total) Figures() []Figure {
	if t.Rho == t.All {
		return []Figure{{Everybody, t.All}}
	}
	named := Figure{WeakestNamed, t.Rho}
	if t.Weakest.Shared {
		named.Adversary = t.Weakest.String()
	}
	return []Figure{named, {AllOthers, t.All}}
}

// Plus returns the sum of t and u, rounded up.
func (t Total) Plus(u Total) Total {
	return Total{Rho: sumUp(t.Rho, u.Rho), All: sumUp(t.All, u.All), Weakest: t.Weakest.or(u.Weakest)}
}

// Total returns the cost of n releases with the parameters g.
func (g Gaussian) Total(n int) Total {
	return Total{Rho: times(n, g.Rho()), All: times(n, g.RhoAll()), Weakest: g.Shared.Adversary()}
}

// Adversary describes an adversary who sees all releases and has the knowledge of a number of members (Colluders). The
// zero value is [Everybody].
type Adversary struct {
	Shared    bool `json:"-"` // the releases have pairwise noise; see the type Shared for both numbers
	Colluders int  `json:"colluders"`
	Absent    int  `json:"absent,omitempty"`
}

// or returns the adversary to whom the sum of two costs applies. This adversary has the smaller of the two numbers of
// colluders, and the smaller nonzero number of absent members.
func (a Adversary) or(b Adversary) Adversary {
	switch {
	case !a.Shared:
		return b
	case !b.Shared:
		return a
	}
	a.Colluders = min(a.Colluders, b.Colluders)
	if a.Absent == 0 || b.Absent > 0 && b.Absent < a.Absent {
		a.Absent = b.Absent
	}
	return a
}

// String returns a name of the adversary for display.
func (a Adversary) String() string {
	if !a.Shared {
		return Everybody
	}
	text := fmt.Sprintf("whoever sees all releases, together with any %d members", a.Colluders)
	switch a.Colluders {
	case 0:
		text = "whoever sees all releases and is no member"
	case 1:
		text = "whoever sees all releases, together with any one member"
	}
	return text + a.Provided()
}

// Provided returns a phrase with the condition that at most Absent members drop out, or "" if it is 0.
func (a Adversary) Provided() string {
	switch a.Absent {
	case 0:
		return ""
	case 1:
		return ", if at most one member vanishes"
	}
	return fmt.Sprintf(", if at most %d members vanish", a.Absent)
}
