// Package sweep performs many runs and stores each result in a CSV file as soon as it is available, so that an
// interrupted program can continue.
package sweep
