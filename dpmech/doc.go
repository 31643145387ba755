// Package dpmech is the privacy mechanism: what is done to a client's update before anything leaves the device, and
// what that costs.
//
// Unit of privacy. Two inputs are adjacent when one client's whole data set is replaced by any other, of whatever size;
// everything the client ever sends is covered (Theorem 1 of the SPADE-DFL paper). What leaves a device is a function of
// its releases, so a release is the only thing that spends. A clipped update lies in a ball of radius R, hence two of
// them are at most 2R apart: a release with noise sigma costs 2R^2/sigma^2 in the currency of zero-concentrated
// differential privacy (zCDP), and costs add up over rounds.
//
// Exactness. Numbers in floating point leak through their last bits (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). A [Mechanism] therefore works in integers on a grid of step gamma =
// sigma/2^M: the update is clipped on the grid with an exact integer norm, and the noise is round(2^M*Z) with Z drawn
// exactly from the standard normal law: by rejection from a table of cells, with integers alone, where a comparison
// that 64 digits do not decide gets more digits. Since a grid point q is an integer, q + round(Y) = round(q + Y): the
// result is a function of the ideal Gaussian mechanism's output, and its guarantee holds for the bytes as they stand.
// PROOF.md, beside this file, is the whole argument.
//
// Accounting. One spend (see [Rho]), three ways to state epsilon at a given delta, or delta at a given epsilon:
// [Paper], [ZCDP] and [GDP]; all are upper bounds, rounded up, and GDP is the tightest. [SigmaFor] and [MaxRounds]
// answer the inverse questions: how much noise, and how many releases, for a budget. Timing is outside the guarantee;
// built with the tag isochronous, the sampler's own time says nothing about the noise (see [Sampler]).
//
// Budgets. A [Filter] counts the releases of one run and refuses the one that would exceed its limit, a [Ledger] those
// of all runs on one data set, and a [Certificate] says what it came to. The ledger also knows which of them may have
// been sent, so that a crash does not make anything be released twice: [CheckKept].
package dpmech
