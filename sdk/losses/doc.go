// Package losses reports whether the losses of a node's own queries are still falling. [Curve.Add] takes the losses of
// a round, [Curve.Close] ends the round, and [Curve.Trend] compares the last rounds. The result must stay on the device.
package losses
