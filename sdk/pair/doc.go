// Package pair makes the noise keys of two members: from a secret that only the two of them know, one key for each
// release of a run.
//
// The two agree on the secret by X25519 (RFC 7748) and HKDF with SHA-256 (RFC 5869), see [Agree]. Each device makes a
// fresh key pair for each run, offers the public half to its neighbors, who may pass it on ([signed.Offer]), and forgets the private one
// after the last release with noise ([Kept]). So whoever gets hold of a device later cannot compute the noise of earlier runs.
package pair
