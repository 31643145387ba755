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

	weakest adversary
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
	if t.weakest.shared {
		named.Adversary = t.weakest.String()
	}
	return []Figure{named, {AllOthers, t.All}}
}

// plus returns the sum of t and u, rounded up.
func (t Total) plus(u Total) Total {
	return Total{Rho: sumUp(t.Rho, u.Rho), All: sumUp(t.All, u.All), weakest: t.weakest.or(u.weakest)}
}

// Total returns the cost of n releases with the parameters g.
func (g Gaussian) Total(n int) Total {
	return Total{Rho: times(n, g.Rho()), All: times(n, g.RhoAll()), weakest: g.Shared.adversary()}
}

// adversary describes an adversary who sees all releases and has the knowledge of a number of members (colluders). The
// zero value is [Everybody].
type adversary struct {
	shared            bool // the releases have pairwise noise
	colluders, absent int  // see [Shared]
}

// or returns the adversary to whom the sum of two costs applies. This adversary has the smaller of the two numbers of
// colluders, and the smaller nonzero number of absent members.
func (a adversary) or(b adversary) adversary {
	switch {
	case !a.shared:
		return b
	case !b.shared:
		return a
	}
	a.colluders = min(a.colluders, b.colluders)
	if a.absent == 0 || b.absent > 0 && b.absent < a.absent {
		a.absent = b.absent
	}
	return a
}

func (a adversary) String() string {
	if !a.shared {
		return Everybody
	}
	text := fmt.Sprintf("whoever sees all releases, together with any %d members", a.colluders)
	switch a.colluders {
	case 0:
		text = "whoever sees all releases and is no member"
	case 1:
		text = "whoever sees all releases, together with any one member"
	}
	return text + vanishing(a.absent)
}

// vanishing returns a phrase with the condition that at most the given number of members drop out, or "" if absent is
// 0.
func vanishing(absent int) string {
	switch absent {
	case 0:
		return ""
	case 1:
		return ", if at most one member vanishes"
	}
	return fmt.Sprintf(", if at most %d members vanish", absent)
}
