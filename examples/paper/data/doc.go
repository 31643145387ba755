// Package data prepares the four learning tasks of the paper's experiments: training samples, test samples, and their
// preprocessing. The results depend only on the files and the seed.
package data
