//go:build race

package wire

// raceDetector reports whether the test runs with the race detector, which makes sync.Pool drop items at random.
const raceDetector = true
