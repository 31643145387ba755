// Package rng generates random numbers by address. A seed and an [Address] (purpose, client, round, step and component)
// identify a stream of draws that can be repeated at any time and in any order: there is no state to save, and parts of
// a program with different addresses never share a draw.
//
// The generator is Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011), checked against the authors' known-answer vectors. It is not a cipher: noise that protects data must not come
// from here, except in a declared simulation.
package rng
