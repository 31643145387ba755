// Package experiment runs the paper's comparisons: it knows which cells a table has, searches for the parameters of
// every method in the same way, does the runs, and keeps each as soon as it is over, so that a computation that was
// stopped goes on where it was.
package experiment
