// Package dpmech implements the privacy mechanism: it clips an update, adds noise before anything leaves the device,
// and computes the privacy cost. It is pure arithmetic, without files or clocks.
//
// A [Mechanism] makes releases. [Spends.With] counts the releases of one run and refuses a release that would exceed the
// run's limit. After a crash, [CheckResume] decides whether a node that continues could repeat a release. Package
// certificate adds up the cost of all runs on one data set, and has the texts.
//
// Unit of privacy. Two inputs are adjacent if they differ in the data set of one client, which may be replaced with any
// other data set of any size. The guarantee covers everything that the client ever sends (Theorem 1 of the SPADE-DFL
// paper): everything is a function of its releases, so only releases have a cost. The distance between two clipped
// updates is at most 2R, so a release with noise sigma costs 2R^2/sigma^2 in zero-concentrated differential privacy
// (zCDP). Costs add up over rounds.
//
// Exactness. Floating-point numbers leak information through their last bits (Mironov, "On significance of the least
// significant bits for differential privacy", CCS 2012). A Mechanism therefore clips and draws in integers, on a grid
// with step sigma/2^M: the result is a function of the output of the ideal Gaussian mechanism, as PROOF.md shows.
//
// Accounting. [Paper], [ZCDP] and [GDP] convert a cost (see [Gaussian.Rho]) to epsilon at a given delta. [MaxRounds]
// returns the number of releases that a budget covers, and package budget the noise for a number of releases. The guarantee
// does not cover when a release is sent; the time to draw its noise reveals nothing (PROOF.md, part 2).
package dpmech
