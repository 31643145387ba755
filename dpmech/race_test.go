//go:build race

package dpmech

// raceDetector makes everything ten times slower and more: statistics are cut short under it.
const raceDetector = true
