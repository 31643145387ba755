package dpmech

import "fmt"

// Names of adversaries in a [Figure].
const (
	// Everybody is the adversary of a cost that holds whoever colludes.
	Everybody = "everybody else together"
	// AllOthers is the stronger adversary of releases that share noise: the other members know that noise.
	AllOthers = "all other members together"
	// WeakestNamed is the weaker adversary if the runs, and so their adversaries, are not known.
	WeakestNamed = "the weakest adversary that a run names"
)

// Total is the cost of releases in zCDP, rounded up, against two adversaries; without shared noise the costs are equal.
// Totals of several runs add up, against the weakest of their adversaries.
type Total struct {
	Rho float64 // outsiders, with at most as many members as the least Shared.Colluders of all releases
	All float64 // all other members together

	weakest adversary
}

// Figure is a cost and the adversary that it holds against.
type Figure struct {
	Adversary string  // names it for people
	Rho       float64 // zCDP, rounded up
}

// Figures returns each cost with its adversary: one figure against [Everybody] if both costs are equal, otherwise two,
// the second against [AllOthers].
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

// plus returns the cost of both, rounded up.
func (t Total) plus(u Total) Total {
	return Total{Rho: sumUp(t.Rho, u.Rho), All: sumUp(t.All, u.All), weakest: t.weakest.or(u.weakest)}
}

// Total returns the cost of n releases with the parameters g.
func (g Gaussian) Total(n int) Total {
	return Total{Rho: times(n, g.Rho()), All: times(n, g.RhoAll()), weakest: g.Shared.adversary()}
}

// adversary sees all releases and knows what colluders members know. The zero value is everybody else.
type adversary struct {
	shared            bool // the releases share noise
	colluders, absent int  // see [Shared]
}

// or returns the adversary of the sum of two costs: the fewest colluders, and the fewest absent members where these
// count.
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

// vanishing ends a statement that holds only while at most absent members vanish.
func vanishing(absent int) string {
	switch absent {
	case 0:
		return ""
	case 1:
		return ", if at most one member vanishes"
	}
	return fmt.Sprintf(", if at most %d members vanish", absent)
}
