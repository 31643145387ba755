// Package pair derives the keys of pairwise noise: one key for each pair of members and each release.
//
// Two members agree on a secret by X25519 (RFC 7748) and HKDF with SHA-256 (RFC 5869); see [Agree]. Each device makes a
// fresh key pair for each run and sends the public key to its neighbors, which may relay it ([signed.Offer]). The
// device deletes its private key after the last release with noise ([Kept]), so a stolen device does not reveal the
// noise of earlier runs.
package pair
