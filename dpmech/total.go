package dpmech

// Total is what releases cost in zCDP, rounded up: against the adversary that a fleet names, and against all other
// members together. The two are the same where no noise is shared.
type Total struct {
	Rho float64 // outsiders, and any Shared.Colluders of the members together
	All float64 // all other members together
}

// plus returns the cost of both, rounded up.
func (t Total) plus(u Total) Total { return Total{sumUp(t.Rho, u.Rho), sumUp(t.All, u.All)} }

// Total returns what n releases with the parameters of g cost.
func (g Gaussian) Total(n int) Total { return Total{times(n, g.Rho()), times(n, g.RhoAll())} }
