// Package wire encodes messages of package admm as frames ([Codec]), a node's state for the disk ([Snapshot]), and the
// [Hello] that opens a connection. FORMAT.md describes every field and byte.
//
// Each of the three is one map in deterministic CBOR (RFC 8949, section 4.2.1) whose keys are small integers. Vectors
// are byte strings. Frames compress these strings if that makes them shorter. Byte planes shorten noisy floats by a
// factor of 1.15 to 1.2. A release on a grid is Rice coded. The code is at most 3 % longer than the entropy from
// dimension 10,000 on, and at most 6 % longer from dimension 300 on or if the grid is as coarse as the noise.
//
// The encoding depends on the message alone. Decoding trusts nothing: the dimension is known in advance and bounds
// every length before an allocation. Decoding rejects bytes that an encoder of this package would not write, except
// that a block may have a form that is not the shortest.
package wire
