// Package sweep does many runs and keeps what comes of them in a CSV file as soon as it is there, so that a program
// that was stopped goes on where it was.
package sweep
