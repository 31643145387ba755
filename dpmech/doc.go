// Package dpmech is the privacy mechanism: what is done to a client's update before anything leaves the device, and what
// that costs.
//
// Unit of privacy. Two inputs are adjacent when one client's whole data set is replaced by another of the same size;
// everything the client ever sends is covered (Theorem 1 of the SPADE-DFL paper). What leaves a device is a function of its
// releases, so a release is the only thing that spends. A clipped update lies in a ball of radius R, hence two of
// them are at most 2R apart: a release with noise sigma costs 2R^2/sigma^2 in the currency of zero-concentrated
// differential privacy (zCDP), and costs add up over rounds.
//
// Exactness. Numbers in floating point leak through their last bits (Mironov, "On significance of the least significant
// bits for differential privacy", CCS 2012). A [Mechanism] therefore works in integers on a grid of step
// gamma = sigma/2^M: the update is clipped on the grid with an exact integer norm, and the noise is round(2^M*Z) with Z drawn
// exactly from the standard normal law by Karney's algorithm, which uses comparisons of random digits only. Since a
// grid point q is an integer, q + round(Y) = round(q + Y): the result is a function of the ideal Gaussian mechanism's output,
// and its guarantee holds for the bytes as they stand.
//
// Accounting. One spend, three ways to state epsilon at a given delta: [Paper], [ZCDP] and [GDP]; all are upper bounds,
// GDP is the tightest. Timing is outside the guarantee.
//
// Keeping count. A [Filter] counts the releases of one run and refuses the one that its limit does not cover; a [Ledger], a
// file beside the data, does so for all runs on one data set. A [Certificate] says what both have counted, in figures that anybody
// can compute again.
package dpmech
