// Package certificate adds up the privacy cost of all runs on one data set, and states it.
//
// A [Composition] counts the releases of all runs and enforces a limit for all of them together. It begins with a
// [Declaration] of what earlier runs have spent. A [Certificate] states the cost of a run and of all runs, so that anyone
// can check the numbers. Package state keeps all of this in files.
package certificate
