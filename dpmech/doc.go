// Package dpmech is the privacy mechanism: it clips and adds noise to an update before anything leaves the device, and
// computes what that costs. It is pure arithmetic, without files and clocks.
//
// A [Mechanism] makes releases. A [Filter] counts the releases of one run and refuses the one that would exceed its
// limit. A [Composition] does the same for all runs on one data set, and a [Certificate] states the result.
// [CheckResume] decides after a crash whether a release could be made twice. Package state keeps all this in files.
//
// Unit of privacy. Two inputs are adjacent when any other data set, of any size, replaces one client's whole data set.
// The guarantee covers everything the client ever sends (Theorem 1 of the SPADE-DFL paper). What leaves a device is a
// function of its releases, so only a release spends. A clipped update lies in a ball of radius R, so two of them are
// at most 2R apart: a release with noise sigma costs 2R^2/sigma^2 in zero-concentrated differential privacy (zCDP), and
// costs add up over rounds.
//
// Exactness. Floating-point numbers leak through their last bits (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). A Mechanism therefore clips and draws in integers, on a grid of step
// sigma/2^M: the result is a function of the ideal Gaussian mechanism's output, as PROOF.md shows.
//
// Accounting. One spend, see [Gaussian.Rho], states epsilon at a given delta in three ways: [Paper], [ZCDP] and [GDP].
// [SigmaFor] returns the noise for a budget, [MaxRounds] the number of releases. Timing is outside the guarantee, see
// [Sampler].
package dpmech
