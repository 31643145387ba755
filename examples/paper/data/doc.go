// Package data prepares the four learning tasks of the paper's experiments: training samples, test samples, and their
// preprocessing. Everything is a function of the files and the seed.
package data
