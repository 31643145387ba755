//go:build race

package program

// raceDetector skips statistics under the race detector, which makes them more than ten times slower.
const raceDetector = true
