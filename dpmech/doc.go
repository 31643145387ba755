// Package dpmech is the privacy mechanism: it clips an update, adds noise before anything leaves the device, and
// computes the privacy cost. It is pure arithmetic, without files or clocks.
//
// A [Mechanism] makes releases. A [Filter] counts the releases of one run and refuses a release that would exceed the
// run's limit. A [Composition] does the same for all runs on one data set, and a [Certificate] states the result.
// [CheckResume] decides after a crash whether continuing could repeat a release. Package state stores all of this in
// files.
//
// Unit of privacy. Two inputs are adjacent if they differ in one client's data set, which may be replaced as a whole by
// any data set of any size. The guarantee covers everything the client ever sends (Theorem 1 of the SPADE-DFL paper):
// all of it is a function of its releases, so only releases cost. Two clipped updates are at most 2R apart: a release
// with noise sigma costs 2R^2/sigma^2 in zero-concentrated differential privacy (zCDP), and costs add up over rounds.
//
// Exactness. Floating-point numbers leak through their last bits (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). A Mechanism therefore clips and draws in integers, on a grid of step
// sigma/2^M: the result is a function of the ideal Gaussian mechanism's output, as PROOF.md shows.
//
// Accounting. [Paper], [ZCDP] and [GDP] convert a spend (see [Gaussian.Rho]) to epsilon at a given delta. [SigmaFor]
// returns the noise for a budget, [MaxRounds] the number of releases. The guarantee does not cover timing, see
// [Sampler].
package dpmech
