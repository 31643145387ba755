// Package losses says whether the losses of a node's own queries still fall. [Curve.Add] takes the losses of a round,
// [Curve.Close] ends the round, and [Curve.Trend] compares the last rounds.
//
// The result depends on the data and is for the device alone: see [Trend].
package losses
