package explain

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// Bar is the cost of releases against one adversary, for display as a bar.
type Bar struct {
	Who     string  `json:"who"` // the adversary, such as "outsiders" or "any 5 other members"
	Epsilon float64 `json:"epsilon"`
	Guess   float64 `json:"guess"` // see [Guess]
}

// Bars returns the costs of [dpmech.Total.Figures] for display, with epsilons at delta.
func Bars(t dpmech.Total, delta float64, acc dpmech.Accounting) (bars []Bar) {
	for i, f := range t.Figures() {
		who := f.Adversary
		switch {
		case i > 0:
			who = "all others"
		case t.Rho < t.All:
			who = short(t.Weakest) + t.Weakest.Provided()
		}
		bars = append(bars, Bar{who, acc.Epsilon(f.Rho, delta), Guess(f.Rho)})
	}
	return bars
}

// short returns a name of the adversary of the lower of two costs.
func short(a dpmech.Adversary) string {
	switch {
	case !a.Shared:
		return dpmech.WeakestNamed
	case a.Colluders == 0:
		return "outsiders"
	case a.Colluders == 1:
		return "any 1 other member"
	}
	return fmt.Sprintf("any %d other members", a.Colluders)
}

// Total returns the costs as one line, such as "epsilon 7.86 with any 1 other member, 67.7 with all". Epsilons have
// three significant digits, rounded up. Outsiders see all releases but do not have any member's knowledge of the noise.
func Total(t dpmech.Total, delta float64, acc dpmech.Accounting) string {
	text := "epsilon " + Epsilon(acc.Epsilon(t.Rho, delta))
	if len(t.Figures()) == 1 {
		return text + " against " + dpmech.Everybody
	}
	with, all := " against ", " with all others"
	if t.Weakest.Colluders > 0 {
		with, all = " with ", " with all"
	}
	return text + with + short(t.Weakest) + ", " + Epsilon(acc.Epsilon(t.All, delta)) + all + t.Weakest.Provided()
}

// Epsilon formats an epsilon with three significant digits, rounded up as in [dpmech.FormatEpsilon].
func Epsilon(epsilon float64) string {
	if !(epsilon > 0) {
		return dpmech.FormatEpsilon(epsilon, 2)
	}
	at := func(x float64) int { return min(max(2-int(math.Floor(math.Log10(x))), 0), 9) }
	text := dpmech.FormatEpsilon(epsilon, at(epsilon))
	if up, err := strconv.ParseFloat(text, 64); err == nil && up > epsilon { // 0.9999 rounds up to 1.00
		text = dpmech.FormatEpsilon(epsilon, at(up))
	}
	return text
}

// Guess returns an upper bound, in [0.5, 1], on the success probability of an adversary who must decide which of two
// equally likely data sets led to releases with a cost of rho. The two data sets are adjacent: they differ in one unit
// that the cost protects.
//
// The bound is Phi(mu/2) with mu = sqrt(2 rho): the trade-off function of the Gaussian mechanism is at least that of
// N(0, 1) against N(mu, 1), whose best test has error probabilities of Phi(-mu/2) of either kind (Dong, Roth and Su,
// "Gaussian differential privacy", 2.3). The bound depends on neither delta nor epsilon.
func Guess(rho float64) float64 { return 1 - math.Erfc(math.Sqrt(rho)/2)/2 }

// Times converts a probability to the number of times in 100, rounded up to a whole number.
func Times(p float64) int { return int(math.Ceil(float64(100*p) - 1e-9)) }

// Words explains in plain sentences what the cost t means for one unit of a member's data.
func Words(t dpmech.Total, unit dpmech.Unit) string {
	which, cases := "which of two data sets this member has", "the two"
	if unit != dpmech.Client {
		given := unit.String()
		if unit == dpmech.Record {
			given += ", such as a patient's,"
		}
		which = fmt.Sprintf("whether a given %s was in the data of this member", given)
		cases = fmt.Sprintf("the two cases, with the %s or with another in its place,", unit.Kind())
	}
	text := fmt.Sprintf("anyone who tries to tell %s is right at most", which)
	for i, bar := range Bars(t, 0.5, dpmech.GDP) { // the guesses do not depend on delta
		times := []string{" %d times in 100 (%s)", ", %d (%s)"}[i]
		text += fmt.Sprintf(times, Times(bar.Guess), bar.Who)
	}
	return fmt.Sprintf("%s; guessing is right 50 times. This assumes that all other data are known and that %s are equally likely",
		text, cases)
}
