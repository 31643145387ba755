// Package rng generates random numbers by address. A seed and an [Address] (purpose, client, round, step and component)
// identify a stream of draws that can be repeated at any time and in any order. There is no state to save, and parts of
// a program that use different addresses never share a draw.
//
// The generator is Philox4x32-10, described by Salmon, Moraes, Dror and Shaw in "Parallel random numbers: as easy as 1,
// 2, 3" (SC 2011) and checked against the authors' known-answer vectors. It is not a cipher: do not use it for noise
// that protects data, except in a simulation that is declared as such.
package rng
