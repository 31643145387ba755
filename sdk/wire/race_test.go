//go:build race

package wire

// raceDetector says whether the test runs with the race detector, which makes sync.Pool forget at random.
const raceDetector = true
