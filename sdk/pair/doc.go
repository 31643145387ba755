// Package pair makes the noise keys of two members: one key for each release of a run, from a secret that only the two know.
//
// They agree on the secret by X25519 (RFC 7748) and HKDF with SHA-256 (RFC 5869), see [Agree]. Each device makes a fresh key
// pair for each run, offers the public key to its neighbors, who may relay it ([signed.Offer]), and deletes the private key
// after the last release with noise ([Kept]). So a stolen device does not reveal the noise of earlier runs.
package pair
