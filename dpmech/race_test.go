//go:build race

package dpmech

// raceDetector slows everything down by a factor of ten or more, so statistics use fewer draws.
const raceDetector = true
