// Package signed defines the statements that members of a fleet sign with their keys. A [Statement] is a release, a
// notice of quarantine, or a checkpoint of the lifetime ledger; all kinds have the same layout. At the end of a run a
// neighbor countersigns a member's last release to confirm that it holds this release.
//
// A member proves each claim about another member with a statement that the other member signed, so nobody can invent a
// claim. Each release names its predecessor by hash. Two different releases of one round are evidence of
// equivocation: a second device uses the key, or the device was rolled back.
//
// A signature is Ed25519 (RFC 8032) over a [Scope] and a fixed byte layout; see [Statement.Append]. The scope binds the
// signature to one run, fleet and member. Both ends know the scope, so it is not transmitted.
//
// A statement adds 192 bytes to a frame. On one core of an AMD EPYC, signing took 16 to 31 µs and checking a signature
// 38 to 56 µs, on 24 November 2026.
package signed
