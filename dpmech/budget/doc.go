// Package budget computes, before a run, what a privacy budget allows: the noise for a number of releases ([SigmaFor]), and
// what earlier releases have left ([Left]). A node, which only checks its limit, does not link this package.
package budget
