// Package pair derives the keys of pairwise noise: one key for each pair of members and each release.
//
// Two members share a secret without exchanging a message: the fleet file lists a one-time public key of each member
// for the run ([Public]), and each member combines its own private half with the other member's public half by X25519
// (RFC 7748) and HKDF with SHA-256 (RFC 5869); see [Agree]. A device uses a key for one run only, and deletes the
// private half after the last release with noise ([Keys]), so that a stolen device does not reveal the noise of
// finished runs.
package pair
