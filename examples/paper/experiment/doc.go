// Package experiment runs the paper's comparisons. It lists the cells of each table, searches for the parameters of
// every method in the same way, and performs the runs. It stores each result immediately, so that an interrupted
// computation can continue.
package experiment
