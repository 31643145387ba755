// Package rng gives random numbers by address. A draw is named by a seed and an [Address] (what it is for, which
// client, round, step and component) and can be had again at any time, in any order, without state: there is nothing to
// save, and two parts of a program that name different addresses never share a draw.
//
// The generator is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011), checked against the authors' known-answer vectors. It is no cipher: noise that protects data must
// not come from here, except in a simulation that says so.
package rng
