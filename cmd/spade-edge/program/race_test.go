//go:build race

package program

// raceDetector is true if the race detector is on. Statistical tests are then skipped, because the race detector makes
// them more than ten times slower.
const raceDetector = true
