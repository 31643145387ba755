//go:build !race

package dpmech

const raceDetector = false
