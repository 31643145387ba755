//go:build race

package program

// raceDetector makes everything ten times slower and more: statistics are left out under it.
const raceDetector = true
