package plan

import "github.com/spade-dfl/spade-edge/dpmech"

// GainAt returns the gains that the forecast states for runs with the given signal: the 5 % quantile, the median and
// the 95 % quantile.
func GainAt(unit dpmech.Unit, signal float64) (low, gain, high float64) {
	return gainsOf(unit).at(signal)
}
