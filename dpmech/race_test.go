//go:build race

package dpmech

// raceDetector reports whether the race detector is on. The race detector slows everything down by a factor of ten or
// more, so statistical tests use fewer draws.
const raceDetector = true
