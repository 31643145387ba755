//go:build race

package dpmech

// raceDetector reports whether the race detector is on. It slows everything down by a factor of ten or more, so
// statistics use fewer draws.
const raceDetector = true
