// Package sweep makes many runs and stores each result in a CSV file as soon as it exists, so that an interrupted
// program can continue.
package sweep
