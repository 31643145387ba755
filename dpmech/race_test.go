//go:build race

package dpmech

// raceDetector reports whether the race detector is on. If it is on, statistical tests use fewer draws, because the
// race detector slows everything down by a factor of ten or more.
const raceDetector = true
