// Package dpmech is the privacy mechanism: what is done to a client's update before anything leaves the device, and
// what that costs. It is arithmetic: it has no file and no clock.
//
// Unit of privacy. Two inputs are adjacent when one client's whole data set is replaced by any other, of whatever size;
// the guarantee covers everything the client ever sends (Theorem 1 of the SPADE-DFL paper). What leaves a device is a
// function of its releases, so only a release spends. A clipped update lies in a ball of radius R, hence two of them
// are at most 2R apart: a release with noise sigma costs 2R^2/sigma^2 in zero-concentrated differential privacy (zCDP),
// and costs add up over rounds.
//
// Exactness. Floating-point numbers leak through their last bits (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). A [Mechanism] therefore clips and draws in integers, on a grid of step
// sigma/2^M: the result is a function of the ideal Gaussian mechanism's output, as PROOF.md shows.
//
// Accounting. One spend, see [Gaussian.Rho], and three ways to state epsilon at a given delta: [Paper], [ZCDP] and
// [GDP]. [SigmaFor] and [MaxRounds] answer how much noise a budget needs, and how many releases it allows. Timing is
// outside the guarantee, see [Sampler].
//
// Budgets. A [Filter] counts the releases of one run and refuses the one that would exceed its limit, a [Composition]
// those of all runs on one data set, and a [Certificate] states the result. [CheckResume] decides after a crash whether
// any release could be made twice. Package state keeps all this in files.
package dpmech
