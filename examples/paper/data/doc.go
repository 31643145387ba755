// Package data prepares the four learning tasks of the paper's experiments: which samples are learned from, which are
// tested on, and what is done to them first. Everything is a function of the files and of the seed.
package data
