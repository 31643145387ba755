package plan

import "github.com/spade-dfl/spade-edge/sdk"

// GainAt returns the forecast for runs with a signal.
func GainAt(unit sdk.Unit, signal float64) (low, gain, high float64) { return gainsOf(unit).at(signal) }
