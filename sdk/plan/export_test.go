package plan

import "github.com/spade-dfl/spade-edge/sdk"

// GainAt is what the forecast says of runs with such a signal.
func GainAt(unit sdk.Unit, signal float64) (low, gain, high float64) { return gainsOf(unit).at(signal) }
